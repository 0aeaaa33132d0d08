package delegation

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestPlaceOn checks that only a UID that the mark and the cluster both have decides.
func TestPlaceOn(t *testing.T) {
	inML := func(uid, namespaceUID string) Cluster {
		return Cluster{UID: uid, Namespaces: map[string]string{"ml": namespaceUID, "other": "o"}}
	}
	for _, tt := range []struct {
		mark    string
		cluster Cluster
		want    Sameness
	}{
		{"u", Cluster{UID: "u"}, CertainlySame},
		{"u", Cluster{UID: "v"}, CertainlyOther},
		{"u", Cluster{}, PerhapsSame},
		{"u+n", inML("", "n"), CertainlySame},
		{"u+n", inML("u", "m"), CertainlySame},
		{"u+n", inML("v", "n"), CertainlyOther},
		// The namespace may have been created again.
		{"u+n", inML("", "m"), PerhapsSame},
		{"u+n", inML("", ""), PerhapsSame},
		{"u+o", inML("", "n"), PerhapsSame},
		{"unknown+n", inML("", "n"), CertainlySame},
		{"unknown+n", inML("u", "n"), CertainlySame},
		{"unknown+n", inML("u", "m"), PerhapsSame},
		{"unknown", inML("u", "n"), PerhapsSame},
		{"unknown", Cluster{}, PerhapsSame},
		// An older version wrote this, from server and certificate authority.
		{"unknown-fingerprint", Cluster{UID: "u"}, PerhapsSame},
	} {
		place, ok := ParsePlace(tt.mark + "/ml/train/x")
		assert.Assert(t, ok, tt.mark)
		assert.Equal(t, place.On(tt.cluster), tt.want, "%s on %+v", tt.mark, tt.cluster)
	}
}

// TestParsePlace checks places with and without each part of the identity.
func TestParsePlace(t *testing.T) {
	for text, c := range map[string]Cluster{
		"unknown/ml/train/x":   {},
		"u/ml/train/x":         {UID: "u"},
		"u+n/ml/train/x":       {UID: "u", Namespaces: map[string]string{"ml": "n"}},
		"unknown+n/ml/train/x": {Namespaces: map[string]string{"ml": "n"}},
	} {
		place := c.Place("ml", "train", "x")
		assert.Equal(t, place.String(), text)
		assert.Equal(t, MarksOf(nil, map[string]string{MirrorAnnotation: text}).Mirror, place)
	}
	for _, text := range []string{"u+/ml/train/x", "+n/ml/train/x", "u+n+m/ml/train/x", "u+$(n)/ml/train/x", "u+n/ml/train"} {
		assert.Equal(t, MarksOf(nil, map[string]string{MirrorAnnotation: text}).BadMirror, text)
	}
}

// TestTargetIn checks that a target with a UID, which no dispatch writes, names nothing.
func TestTargetIn(t *testing.T) {
	for text, want := range map[string]Place{
		"u/ml/train": {ClusterUID: "u", Namespace: "ml", Name: "train"}, "u/ml/train/x": {}, "nonsense": {},
	} {
		assert.Equal(t, TargetIn(map[string]string{TargetAnnotation: text}), want, text)
	}
	assert.Assert(t, TargetIn(nil).IsZero())
}

// TestClusterCompare compares two current identities, so different UIDs of one namespace prove
// two clusters.
func TestClusterCompare(t *testing.T) {
	in := func(uid, ml string) Cluster { return Cluster{UID: uid, Namespaces: map[string]string{"ml": ml}} }
	assert.Equal(t, in("u", "n").Compare(in("u", "m")), CertainlySame)
	for range 20 {
		// A namespace was created again between the two readings.
		a, b := Cluster{Namespaces: map[string]string{"a": "1", "b": "2"}}, Cluster{Namespaces: map[string]string{"a": "1", "b": "3"}}
		assert.Equal(t, a.Compare(b), CertainlySame)
	}
	assert.Equal(t, in("u", "n").Compare(in("v", "n")), CertainlyOther)
	assert.Equal(t, in("u", "n").Compare(in("", "n")), CertainlySame)
	assert.Equal(t, in("u", "n").Compare(in("", "m")), CertainlyOther)
	assert.Equal(t, in("u", "").Compare(in("", "")), PerhapsSame)
	var unknown, otherUnknown Cluster
	assert.Equal(t, unknown.Compare(otherUnknown), PerhapsSame)
}
