package inspect_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func local(name, cluster string) *kueue.LocalQueue {
	q := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name}}
	q.Spec.ClusterQueue = cluster
	return q
}

func clusterQueue(name string) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestLookup checks that objects are found although a part has a gap, and that an object that was
// not found counts as missing only if its part was read.
func TestLookup(t *testing.T) {
	gap := errors.New("forbidden")
	f := &inspect.Facts{Gaps: map[inspect.Part]error{}, Kueue: &inspect.KueueFacts{
		LocalQueues: []*kueue.LocalQueue{local("a", "a")}, ClusterQueues: []*kueue.ClusterQueue{clusterQueue("a")},
	}}
	assert.Assert(t, f.Lookup().Route("ml", "a").Cluster.Object != nil)
	assert.Assert(t, f.Lookup().Route("ml", "b").Local.IsMissing())

	f.Kueue.QueuesByName, f.Kueue.RequestedQueues = true, []string{"ml/b"}
	assert.Assert(t, f.Lookup().Route("ml", "b").Local.IsMissing())
	assert.Equal(t, f.Lookup().Route("ml", "other").Local.Unread, inspect.ErrNotRequested)

	f.AddGap(inspect.PartQueues, gap)
	assert.Assert(t, f.Lookup().Route("ml", "a").Cluster.Object != nil, "what was read is known")
	assert.Equal(t, f.Lookup().Route("ml", "b").Local.Unread, gap)

	for name, unread := range map[string]*inspect.Facts{
		"no cluster": nil, "no answer": {Err: gap}, "not requested": {Unrequested: map[inspect.Part]bool{inspect.PartQueues: true}},
	} {
		assert.Assert(t, unread.Lookup().Route("ml", "a").Local.Unread != nil, name)
	}
}

// TestLookupAll checks that queues are also found in the lists for quota, and that a request by name
// decides if the list could not be read.
func TestLookupAll(t *testing.T) {
	gap := errors.New("forbidden")
	f := &inspect.Facts{Kueue: &inspect.KueueFacts{
		LocalQueues:     []*kueue.LocalQueue{local("named", "listed")},
		RequestedQueues: []string{"ml/named", "ml/gone"},
		Capacity: &inspect.Capacity{
			LocalQueues: []*kueue.LocalQueue{local("listed", "listed")}, ClusterQueues: []*kueue.ClusterQueue{clusterQueue("listed")},
			Gaps: map[inspect.Part]error{},
		},
	}}
	all := f.LookupAll()
	for _, name := range []string{"named", "listed"} {
		assert.Assert(t, all.Route("ml", name).Cluster.Object != nil, name)
	}
	assert.Assert(t, all.Route("ml", "other").Local.IsMissing())

	f.Kueue.Capacity.Gaps[inspect.PartQueues] = gap
	assert.Assert(t, all.Route("ml", "gone").Local.IsMissing())
	assert.Equal(t, all.Route("ml", "other").Local.Unread, gap)
}
