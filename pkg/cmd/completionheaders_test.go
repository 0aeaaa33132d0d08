package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// metadataOf makes a list of as many objects, each with what surrounds a name. The
// first one is dispatched.
func metadataOf(n int) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "12", Continue: "more"}}
	for i := range n {
		item := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("job-%05d", i), Namespace: "team", UID: "1", Generation: 3, CreationTimestamp: metav1.Now(),
			Labels:        map[string]string{"team": "research"},
			Annotations:   map[string]string{"example.com/long": strings.Repeat("x", 100)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
		}}
		if i == 0 {
			item.Annotations[delegation.MirrorAnnotation] = "c/n/job-00000/u"
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// protobufOf encodes a list as an API server does.
func protobufOf(tb testing.TB, list *metav1.PartialObjectMetadataList) []byte {
	tb.Helper()
	raw, err := list.Marshal()
	assert.NilError(tb, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Raw: raw, ContentType: "x"}
	envelope, err := unknown.Marshal()
	assert.NilError(tb, err)
	return append([]byte(protobufMagic), envelope...)
}

func TestReadHeaders(t *testing.T) {
	const n = 1000
	list := metadataOf(n)
	text, err := json.Marshal(list)
	assert.NilError(t, err)
	for name, body := range map[string][]byte{"protobuf": protobufOf(t, list), "JSON": text} {
		t.Run(name, func(t *testing.T) {
			var got []header
			visit := func(h header) bool { got = append(got, h); return true }
			// In pieces, as a network delivers.
			assert.NilError(t, readHeaders(iotest.HalfReader(bytes.NewReader(body)), visit))
			assert.Equal(t, len(got), n)
			assert.Equal(t, got[0].annotations[delegation.MirrorAnnotation], "c/n/job-00000/u")
			assert.Equal(t, got[n-1].name, "job-00999")
			assert.Equal(t, len(delegationMarks(got[1])), 0)

			got = nil
			assert.NilError(t, readHeaders(bytes.NewReader(body), func(h header) bool { got = append(got, h); return len(got) < 3 }))
			assert.Equal(t, len(got), 3)
		})
	}
}

// delegationMarks are the annotations of a header that are marks.
func delegationMarks(h header) []string {
	var marks []string
	for key := range h.annotations {
		if delegation.IsMark(key) {
			marks = append(marks, key)
		}
	}
	return marks
}

// TestReadHeadersCutOff: what came before the end of the connection is there.
func TestReadHeadersCutOff(t *testing.T) {
	body := protobufOf(t, metadataOf(10))
	for _, at := range []int{0, 3, 5, 40, len(body) / 2, len(body) - 30} {
		var got []string
		_ = readHeaders(bytes.NewReader(body[:at]), func(h header) bool { got = append(got, h.name); return true })
		assert.Assert(t, len(got) < 10)
		assert.Assert(t, slices.IsSorted(got))
		if at > len(body)/2 {
			assert.Assert(t, len(got) > 5)
		}
	}
}

// FuzzReadHeaders: no answer of a server makes it panic, or take up the memory that
// a length in it claims.
func FuzzReadHeaders(f *testing.F) {
	f.Add(protobufOf(f, metadataOf(2)))
	f.Add([]byte(protobufMagic + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\xff\xff\xff\x7f"))
	f.Add([]byte(`{"items":[{"metadata":{"name":"a"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		err := readHeaders(bytes.NewReader(body), func(h header) bool {
			assert.Assert(t, len(h.name) <= len(body))
			return true
		})
		if len(body) == 0 {
			assert.Assert(t, err != nil)
		}
	})
}
