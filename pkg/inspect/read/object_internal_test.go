package read

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// fixtures returns objects of all kinds in all their states, as JSON, by file name.
func fixtures(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../delegation/testdata/kinds/*/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 100, "there are only %d", len(files))
	all := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		all[name], err = yaml.YAMLToJSON(text)
		assert.NilError(t, err, name)
	}
	return all
}

// kindOf returns the row of an object's kind, or a row like that of a discovered kind.
func kindOf(o *unstructured.Unstructured) delegation.Kind {
	if kind, known := delegation.KindOf(o.GroupVersionKind()); known {
		return kind
	}
	return delegation.DiscoveredKind(o.GroupVersionKind(), "", nil, []string{"spec", "managedBy"})
}

// TestSlimmerLosesNothing checks that the decoded fields are all that the model needs: the whole
// object gives the same result, for every kind and state.
func TestSlimmerLosesNothing(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		kind := kindOf(whole)
		if kind.IsJob() {
			// Jobs are decoded with their own type: see TestJobsReadAsAnyKind.
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := readObject(&kind, whole, whole.Object)

			slim := &slimObject{}
			assert.NilError(t, apijson.Unmarshal(text, slim))
			got, err := newSlimmer(&kind).read(slim)
			assert.NilError(t, err)

			for _, claimed := range []bool{false, true} {
				assert.DeepEqual(t, printed(t, got.settle(claimed)), printed(t, want.settle(claimed)))
			}
			assert.Equal(t, got.needsClaim(), want.needsClaim())
			assert.Assert(t, got.job.KindRow != nil && got.job.Marks != nil && got.job.StatusWrittenAt.Equal(want.job.StatusWrittenAt))
			assert.DeepEqual(t, unprinted(got.job), unprinted(want.job))
		})
	}
}

// TestJobsReadAsAnyKind checks that a Job has the same state when it is read like any other kind.
func TestJobsReadAsAnyKind(t *testing.T) {
	for name, text := range fixtures(t) {
		whole := &unstructured.Unstructured{}
		assert.NilError(t, whole.UnmarshalJSON(text))
		if kind := kindOf(whole); kind.IsJob() {
			t.Run(name, func(t *testing.T) {
				job, err := typedJob(whole.Object)
				assert.NilError(t, err)
				typed, generic := readJob(&kind, job), readObject(&kind, whole, whole.Object)
				// Jobs have one version only. What Jobs require of nodes is read from their own type only.
				generic.job.WrittenAs = nil
				generic.job.NodeSelector, generic.job.HasNodeAffinity = nodesOf(t, whole)
				assert.DeepEqual(t, unprinted(typed.job), unprinted(generic.job))
				a, b := typed.settle(false), generic.settle(false)
				assert.Equal(t, a.Status, b.Status)
				assert.DeepEqual(t, a.Since, b.Since)
				assert.DeepEqual(t, a.FinishedTime, b.FinishedTime)
			})
		}
	}
}

// nodesOf returns what the Pods of a Job require of nodes.
func nodesOf(t *testing.T, o *unstructured.Unstructured) (selector string, hasAffinity bool) {
	t.Helper()
	labels, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "spec", "nodeSelector")
	assert.NilError(t, err)
	required, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	assert.NilError(t, err)
	return k8slabels.Set(labels).String(), len(required) > 0
}

// printed returns the fields of a Job that scripts may rely on.
func printed(t *testing.T, j inspect.Job) string {
	t.Helper()
	text, err := json.MarshalIndent(j, "", "  ")
	assert.NilError(t, err)
	return string(text)
}

// unprinted returns the fields of a Job that only rules use.
func unprinted(j inspect.Job) inspect.Job {
	return inspect.Job{
		Marks: j.Marks, Generation: j.Generation, DeletedAt: j.DeletedAt, Finalizers: j.Finalizers, TTL: j.TTL,
		StatusWriters: j.StatusWriters, SpecWrittenAt: j.SpecWrittenAt, Controller: j.Controller,
		WrittenAs: j.WrittenAs, PodValue: j.PodValue, NodeSelector: j.NodeSelector, HasNodeAffinity: j.HasNodeAffinity, Requests: j.Requests,
	}
}

// encode returns a list as an API server would send it.
func encode(tb testing.TB, list *batchv1.JobList) []byte {
	tb.Helper()
	list.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("JobList"))
	var body bytes.Buffer
	assert.NilError(tb, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &body))
	list.TypeMeta = metav1.TypeMeta{}
	return body.Bytes()
}

// randomList returns Jobs with random values in all fields.
func randomList(seed int64) *batchv1.JobList {
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs)
	list := &batchv1.JobList{}
	for range 3 {
		var job batchv1.Job
		f.Fill(&job)
		if seed%2 == 0 {
			// Its requests are read.
			job.Spec.ManagedBy = new(string(delegation.MultiKueue))
		}
		list.Items = append(list.Items, job)
	}
	f.Fill(&list.ListMeta)
	return list
}

// TestDecodeJobs checks that decoding cuts exactly the fields out of an encoded list that drop
// removes from the decoded one.
func TestDecodeJobs(t *testing.T) {
	for seed := range int64(200) {
		body := encode(t, randomList(seed))
		want, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		assert.NilError(t, err)
		list, ok := want.(*batchv1.JobList)
		assert.Assert(t, ok)
		list.TypeMeta = metav1.TypeMeta{}
		// Keep one label of the first Job, if it has any.
		wanted := slices.Sorted(maps.Keys(list.Items[0].Labels))
		wanted = wanted[:min(len(wanted), 1)]
		for i := range list.Items {
			drop(&list.Items[i], wanted)
		}
		assert.Equal(t, len(list.Items[0].Labels), len(wanted), "seed %d", seed)

		got := &batchv1.JobList{}
		assert.NilError(t, decodeJobs(body, got, wanted...))
		assert.Assert(t, equality.Semantic.DeepEqual(got, list), "seed %d", seed)
		assert.Assert(t, len(got.Items) == 3)
	}
}

func TestDecodeJobsOfSomethingElse(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "k8s": "", "k8s\x00": "malformed protobuf: unexpected EOF",
		`{"kind":"JobList"}`: "apiVersion",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too busy"}`: "too busy",
		`{"kind":"Pod","apiVersion":"v1"}`:                                            "sent a *v1.Pod instead of a list of Jobs",
		"k8s\x00\x0a\x08\x0a\x02v1\x12\x02ab":                                         "sent a ab instead of a list of Jobs",
		// The announced length of the list is larger than the answer.
		"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\x7f\x0a\xff\xff\xff\xff\x7f": "unexpected EOF",
	} {
		err := decodeJobs([]byte(body), &batchv1.JobList{})
		assert.ErrorContains(t, err, want, "%q", body)
	}
	whole := encode(t, randomList(1))
	for length := range len(whole) {
		// Two unneeded fields follow the list.
		if length < len(whole)-4 {
			assert.Assert(t, decodeJobs(whole[:length], &batchv1.JobList{}) != nil, "the first %d of %d bytes", length, len(whole))
		}
	}
}

// decodeJobs decodes an answer as from a server.
func decodeJobs(body []byte, into *batchv1.JobList, labels ...string) error {
	page, err := newJobPage(io.NopCloser(bytes.NewReader(body)), labels)
	if err != nil {
		return err
	}
	into.ListMeta = page.ListMeta
	return page.each(func(job *batchv1.Job) { into.Items = append(into.Items, *job) })
}

// FuzzDecodeJobs checks that decoding never panics, and that it gives the same as the library if
// that can decode the input too.
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
			drop(&want.Items[i], nil)
		}
		assert.Assert(t, equality.Semantic.DeepEqual(got, want))
	})
}
