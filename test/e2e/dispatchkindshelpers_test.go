package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// servesKinds has clusters serve parts of the kinds until the test ends.
func servesKinds(t *testing.T, cluster string, parts ...kinds.Part) {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, kinds.Remove(context.Background(), config, parts...)) })
	assert.NilError(t, kinds.Install(t.Context(), config, parts...))
}

// like is an object of a kind on one of the clusters of a dispatch.
type like struct {
	t        *testing.T
	kind     delegation.Kind
	ns, name string
}

// newLike creates an origin of a kind, delegated to an owner, in a namespace that both clusters
// have. spec is YAML.
func newLike(t *testing.T, kind, ns, name string, owner delegation.Owner, spec string) *like {
	t.Helper()
	k, known := delegation.KindNamed(kind)
	assert.Assert(t, known)
	namespaces(t, ns)
	o := &unstructured.Unstructured{Object: map[string]any{}}
	var content map[string]any
	assert.NilError(t, yaml.Unmarshal([]byte(spec), &content))
	o.Object["spec"] = content
	o.SetGroupVersionKind(k.GroupVersionKind())
	o.SetName(name)
	if owner != "" {
		assert.NilError(t, unstructured.SetNestedField(o.Object, string(owner), k.ManagedBy...))
	}
	l := &like{t, k, ns, name}
	_, err := l.on(management).Create(t.Context(), o, metav1.CreateOptions{})
	assert.NilError(t, err)
	return l
}

// jobSet creates a JobSet of two Pods that is delegated to dispatch.
func jobSet(t *testing.T, ns, name string) *like {
	t.Helper()
	return newLike(t, "jobset", ns, name, delegation.Dispatch, `
suspend: false
replicatedJobs:
- name: workers
  replicas: 1
  template: {spec: {parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1}]}}}}`)
}

func (l *like) on(cluster string) dynamic.ResourceInterface {
	return dynamicClient(l.t, cluster).Resource(l.kind.Resource).Namespace(l.ns)
}

// get returns the object on a cluster, nil if it does not exist.
func (l *like) get(cluster string) *unstructured.Unstructured {
	l.t.Helper()
	o, err := l.on(cluster).Get(context.Background(), l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.NilError(l.t, err)
	return o
}

// patch changes the object on a cluster, with a merge patch in YAML.
func (l *like) patch(cluster, patch string, subresources ...string) {
	l.t.Helper()
	text, err := yaml.YAMLToJSON([]byte(patch))
	assert.NilError(l.t, err)
	_, err = l.on(cluster).Patch(l.t.Context(), l.name, types.MergePatchType, text, metav1.PatchOptions{}, subresources...)
	assert.NilError(l.t, err)
}

// reports writes the status of the mirror, in YAML, as its controller would.
func (l *like) reports(status string) {
	l.t.Helper()
	l.patch(worker1, `{status: `+status+`}`, "status")
}

// eventually waits until the object on a cluster meets a condition. It is nil if it does not exist.
func (l *like) eventually(cluster string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	l.t.Helper()
	var o *unstructured.Unstructured
	err := poll.Until(l.t.Context(), poll.Limit, func(context.Context) (bool, error) {
		o = l.get(cluster)
		return is(o), nil
	})
	if err != nil {
		text, _ := json.MarshalIndent(o, "", " ")
		l.t.Fatalf("%s %s/%s on %s did not reach the expected state: %s", l.kind, l.ns, l.name, cluster, text)
	}
	return o
}

// hasStatus waits until the origin has exactly this status, in YAML.
func (l *like) hasStatus(status string) {
	l.t.Helper()
	text, err := yaml.YAMLToJSON([]byte(status))
	assert.NilError(l.t, err)
	l.eventually(management, func(o *unstructured.Unstructured) bool {
		got, err := json.Marshal(o.Object["status"])
		return err == nil && bytes.Equal(got, text)
	})
}

func isAbsent(o *unstructured.Unstructured) bool { return o == nil }

// at returns the value at a path of an object.
func at(o *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}
