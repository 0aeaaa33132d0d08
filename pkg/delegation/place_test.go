package delegation

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestPlaceOn: two clusters that are not known are never the same, nor are one that is
// known and one that is not; they may be, and that is all.
func TestPlaceOn(t *testing.T) {
	for _, tt := range []struct {
		mark    string
		cluster Cluster
		want    Sameness
	}{
		{"u", Cluster{UID: "u"}, CertainlySame},
		{"u", Cluster{UID: "v"}, CertainlyOther},
		{"u", Cluster{}, PerhapsSame},
		{"u", Cluster{Stamp: "s"}, PerhapsSame},
		{"unknown", Cluster{UID: "u"}, PerhapsSame},
		{"unknown", Cluster{}, PerhapsSame},
		{"unknown-s", Cluster{Stamp: "s"}, CertainlySame},
		{"unknown-s", Cluster{UID: "u", Stamp: "s"}, CertainlySame},
		{"unknown-s", Cluster{Stamp: "t"}, PerhapsSame},
		{"unknown-s", Cluster{}, PerhapsSame},
		{"unknown-", Cluster{}, PerhapsSame},
		{"", Cluster{}, PerhapsSame},
	} {
		assert.Equal(t, Place{ClusterUID: tt.mark}.On(tt.cluster), tt.want, "%s on %+v", tt.mark, tt.cluster)
	}
	for _, c := range []Cluster{{}, {Stamp: "s"}, {UID: "u", Stamp: "s"}} {
		place := Place{ClusterUID: c.String(), Namespace: "ml", Name: "train", UID: "x"}
		assert.Equal(t, MarksOf(nil, map[string]string{MirrorAnnotation: place.String()}).Mirror, place, "it is read as it was written")
	}
}
