package read

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// encode makes the response of an API server out of a list.
func encode(tb testing.TB, list *batchv1.JobList) []byte {
	tb.Helper()
	list.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("JobList"))
	var body bytes.Buffer
	assert.NilError(tb, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &body))
	list.TypeMeta = metav1.TypeMeta{}
	return body.Bytes()
}

// randomList makes Jobs in which anything at all may be set.
func randomList(seed int64) *batchv1.JobList {
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs)
	list := &batchv1.JobList{}
	for range 3 {
		var job batchv1.Job
		f.Fill(&job)
		list.Items = append(list.Items, job)
	}
	f.Fill(&list.ListMeta)
	return list
}

// TestDecodeJobs: what is cut out of the encoded list is what drop takes from
// the decoded one, and nothing else is touched.
func TestDecodeJobs(t *testing.T) {
	for seed := range int64(200) {
		body := encode(t, randomList(seed))
		want, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		assert.NilError(t, err)
		list, ok := want.(*batchv1.JobList)
		assert.Assert(t, ok)
		list.TypeMeta = metav1.TypeMeta{}
		for i := range list.Items {
			drop(&list.Items[i])
		}

		got := &batchv1.JobList{}
		assert.NilError(t, decodeJobs(body, got))
		assert.Assert(t, equality.Semantic.DeepEqual(got, list), "seed %d", seed)
		assert.Assert(t, len(got.Items) == 3)
	}
}

func TestDecodeJobsOfSomethingElse(t *testing.T) {
	for _, body := range []string{"", `{"kind":"JobList"}`, "k8s"} {
		err := decodeJobs([]byte(body), &batchv1.JobList{})
		assert.Assert(t, errors.Is(err, errNotProtobuf), "%q: %v", body, err)
	}
	whole := encode(t, randomList(1))
	err := decodeJobs(whole[:len(whole)/2], &batchv1.JobList{})
	assert.ErrorContains(t, err, "malformed protobuf")
}

// FuzzDecodeJobs: whatever comes, decoding does not panic; and where the library
// decodes it too, both come to the same.
func FuzzDecodeJobs(f *testing.F) {
	for seed := range int64(5) {
		f.Add(encode(f, randomList(seed)))
	}
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, want := &batchv1.JobList{}, &batchv1.JobList{}
		if decodeJobs(body, got) != nil {
			return
		}
		var unknown runtime.Unknown
		if unknown.Unmarshal(body[len(protobufPrefix):]) != nil || want.Unmarshal(unknown.Raw) != nil {
			return
		}
		for i := range want.Items {
			drop(&want.Items[i])
		}
		assert.Assert(t, equality.Semantic.DeepEqual(got, want))
	})
}
