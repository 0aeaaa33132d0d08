package bundle

import (
	"encoding/json"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// newReading returns a reading of which nothing was read.
func newReading() *reading {
	return &reading{recorder: recorder{requested: map[schema.GroupVersionResource]error{}}, cluster: &fleet.Cluster{Context: "a"}, options: &Options{AllNamespaces: true}}
}

// TestForeignObjectsAreIgnored checks that a snapshot ignores all other objects that are read at the
// same time, and keeps only addresses of Secrets.
func TestForeignObjectsAreIgnored(t *testing.T) {
	r := newReading()
	for _, gvr := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("nodes"), corev1.SchemeGroupVersion.WithResource("configmaps"), corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "example.com", Version: "v1", Resource: "pods"},
		secrets().GroupVersionResource,
	} {
		var object map[string]any
		assert.NilError(t, json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"a":"PASSWORD"}},"data":{"kubeconfig":"UEFTU1dPUkQ=","a":"PASSWORD"}}`), &object))
		r.Keep(gvr, object)
		r.Requested(gvr, nil)
	}
	_, records := r.finish(&inspect.Facts{})
	assert.Equal(t, len(records), 0)

	_, records = r.finish(&inspect.Facts{Kueue: &inspect.KueueFacts{Version: "v1beta2"}})
	assert.Equal(t, len(records), 1)
	assert.Equal(t, records[0].kind, "Secret")
	assert.Equal(t, string(records[0].json), `{"metadata":{"name":"a"}}`)
}

// TestNotRequested checks that a snapshot does not claim that there are no objects of a resource
// that was not requested or not received.
func TestNotRequested(t *testing.T) {
	r := newReading()
	r.Requested(pods().GroupVersionResource, nil)
	r.Requested(events().GroupVersionResource, errors.New("lost"))
	r.Requested(events().GroupVersionResource, nil)
	r.Keep(namespaces().GroupVersionResource, nil)
	r.Requested(namespaces().GroupVersionResource, nil)
	c, _ := r.finish(&inspect.Facts{Kueue: &inspect.KueueFacts{Version: "v1beta2"}})
	unread := map[string]string{}
	for _, u := range c.Failed() {
		unread[u.Resource] = u.Status.Message
	}
	for _, name := range []string{"jobs.batch", "workloads.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io", "limitranges"} {
		assert.Equal(t, unread[name], "it was not read", name)
	}
	assert.Equal(t, unread["events"], "lost")
	assert.Equal(t, unread["namespaces"], "the answer of the server is invalid")
	for _, name := range []string{"pods", "secrets", "leases.coordination.k8s.io"} {
		assert.Equal(t, unread[name], "", name)
	}
}
