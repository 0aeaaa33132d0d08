package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/multikueue"
)

// shared is something of a cluster that is the same for all of its users. Tests that
// want it alike have it together; others wait for it.
type shared struct {
	mu    sync.Mutex
	is    string
	users int
	// left is told whenever a test has left it.
	left *sync.Cond
	undo func()
}

// served are which kinds each cluster serves, and nodes where its nodes lead to.
var (
	served   = map[string]*shared{management: {}, worker1: {}, worker2: {}}
	kubelets = map[string]*shared{management: {}, worker1: {}, worker2: {}}
)

// alone is how a test wants something that others must not see.
const alone = ""

// enter has something be as it is wanted until the test has ended: do makes it so,
// unless it is so already, and returns what undoes that.
func (s *shared) enter(t *testing.T, is string, do func() (undo func())) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = sync.NewCond(&s.mu)
	}
	for s.users > 0 && (is == alone || s.is != is) {
		s.left.Wait()
	}
	if s.users == 0 && do != nil {
		s.undo = do()
	}
	s.is = is
	s.users++
	t.Cleanup(s.leave)
}

func (s *shared) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 && s.undo != nil {
		s.undo()
		s.undo = nil
	}
	s.left.Broadcast()
}

// serving runs a test beside others, with clusters that serve kinds in a certain way:
// such that others may want the same, or, alone, in a way of its own.
func serving(t *testing.T, is string, clusters ...string) {
	t.Helper()
	t.Parallel()
	for _, cluster := range all {
		if slices.Contains(clusters, cluster) {
			served[cluster].enter(t, is, nil)
		}
	}
}

// all are the clusters, in the order in which tests take what is shared of them.
var all = []string{management, worker1, worker2}

// kueue are the namespaces of tests that share a healthy MultiKueue.
var kueue = []string{"traced", "recreate-kueue", "logs", "logs-follow"}

// sharesKueue runs a test beside others, with a MultiKueue in whose objects of clusters
// it changes nothing.
func sharesKueue(t *testing.T, ns string) (manager, one, two *multikueue.Cluster) {
	t.Helper()
	assert.Assert(t, slices.Contains(kueue, ns))
	serving(t, "Kueue's", management, worker1)
	served[worker2].enter(t, "Kueue's", func() func() {
		kueues = startKueue(t, kueue...)
		return func() {
			for _, c := range kueues {
				if err := c.Remove(context.Background()); err != nil {
					panic(err)
				}
			}
		}
	})
	return kueues[0], kueues[1], kueues[2]
}

// kueues are the clusters of the MultiKueue that tests share, the manager first.
var kueues []*multikueue.Cluster

// playKueue plays a MultiKueue for a test alone.
func playKueue(t *testing.T, namespaces ...string) (manager, one, two *multikueue.Cluster) {
	t.Helper()
	clusters := startKueue(t, namespaces...)
	for _, c := range clusters {
		t.Cleanup(func() { assert.NilError(t, c.Remove(context.Background())) })
	}
	return clusters[0], clusters[1], clusters[2]
}

func startKueue(t *testing.T, namespaces ...string) []*multikueue.Cluster {
	t.Helper()
	var clusters []*multikueue.Cluster
	for i, name := range []string{"manager", "paris", "tokyo"} {
		config, err := set.Config(all[i])
		assert.NilError(t, err)
		c, err := multikueue.NewCluster(t.Context(), name, config, "v1beta1", "v1beta2")
		assert.NilError(t, err)
		assert.NilError(t, c.AddQueues(t.Context(), i == 0, namespaces...))
		clusters = append(clusters, c)
	}
	assert.NilError(t, clusters[0].Manage(t.Context(), clusters[1:]...))
	return clusters
}
