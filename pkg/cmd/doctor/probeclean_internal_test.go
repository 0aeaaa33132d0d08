package doctor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
)

// TestCleanedMessage checks that a mirror counts as gone only on workers that a context reaches.
func TestCleanedMessage(t *testing.T) {
	at := &target{manager: "management", workers: []string{"paris"}}
	contexts, unreached := at.workerContexts(inspect.NewInventory(time.Now(), []*inspect.Facts{{Context: "management", Kueue: &inspect.KueueFacts{}}}, nil))
	assert.Equal(t, len(contexts), 0)
	assert.DeepEqual(t, unreached, []string{"paris: no known context reaches it"})
	_, unknown := (&target{manager: "management"}).workerContexts(inspect.NewInventory(time.Now(), nil, nil))
	for _, tt := range []struct {
		unreached, unseen []string
		isUnproven        bool
		unproven          []string
		want              string
	}{
		{nil, nil, false, nil, "Job, mirror and Workloads are gone"},
		{nil, []string{"worker-2"}, false, nil, "Job, mirror and Workloads are gone; not checked on worker-2, for lack of rights"},
		{unreached, nil, false, nil, "Job and Workloads are gone where they were checked; not checked on paris: no known context reaches it"},
		{unknown, nil, false, nil, "Job and Workloads are gone where they were checked; not checked on the workers of the queue, which are unknown"},
		{nil, nil, true, nil, "management reports the Job gone; mirror and Workloads are gone"},
		{unreached, nil, true, nil, "management reports the Job gone; Workloads are gone where they were checked; not checked on paris: no known context reaches it"},
		{nil, nil, false, []string{"worker-1", "worker-2"}, "Job, mirror and Workloads are gone; not proven on worker-1, worker-2, which cannot be identified"},
	} {
		done := probe.Removal{Unseen: tt.unseen, IsProven: !tt.isUnproven, Unproven: tt.unproven}
		assert.Equal(t, (&cleaner{manager: &fleet.Cluster{Context: "management"}, unreached: tt.unreached}).cleanedMessage(done), tt.want)
	}
}

// TestUnselectedWorkers checks that a worker does not count as checked if its context is known but
// was not selected.
func TestUnselectedWorkers(t *testing.T) {
	at := &target{manager: "m1", workers: []string{"paris", "tokyo"}}
	k := &inspect.KueueFacts{Addresses: map[string]kubecontext.Address{"paris": {Server: "https://w1", CA: "1"}, "tokyo": {Server: "https://w2", CA: "2"}}}
	v := inspect.NewInventory(time.Now(), []*inspect.Facts{{Context: "m1", Kueue: k}, {Context: "w2", Kueue: &inspect.KueueFacts{}}}, []kubecontext.Address{
		{Context: "w1", Server: "https://w1", CA: "1"}, {Context: "w2", Server: "https://w2", CA: "2"},
	})
	contexts, unreached := at.workerContexts(v)
	assert.DeepEqual(t, contexts, []string{"w2"})
	assert.DeepEqual(t, unreached, []string{"paris: context w1 was not selected"})

	// A worker that does not answer is known by its address.
	v = inspect.NewInventory(time.Now(), []*inspect.Facts{{Context: "m1", Kueue: k}, {Context: "w1", Err: errors.New("refused")}, {Context: "w2", Kueue: &inspect.KueueFacts{}}}, v.Addresses)
	contexts, unreached = at.workerContexts(v)
	assert.DeepEqual(t, contexts, []string{"w1", "w2"})
	assert.Equal(t, len(unreached), 0)
}

// TestLeftReason checks that the reason for a remaining object says when the context must first reach its cluster
// again: the command that removes the object follows.
func TestLeftReason(t *testing.T) {
	left := &probe.Leftover{Cluster: &fleet.Cluster{Context: "hub"}, Kind: "Job", Name: "p"}
	left.Err = fmt.Errorf("wrapped: %w", &kubecontext.MovedError{Namespace: "kube-system", Before: "u", Now: "v"})
	assert.Equal(t, leftReason(left), "wrapped: the context now reaches another cluster: namespace kube-system has the UID v, and had u; "+
		`first make context "hub" reach the cluster again whose namespace kube-system has the UID u`)
	left.Err = errors.New("still exists")
	assert.Equal(t, leftReason(left), "still exists")
}
