package e2e

import (
	"slices"
	"sync"
	"testing"
)

// shared is a property of a cluster that is the same for all of its users. Tests that need the same
// value share it; others wait.
type shared struct {
	mu    sync.Mutex
	is    string
	users int
	// left is signaled when a test has finished.
	left *sync.Cond
	undo func()
}

// served are the kinds that each cluster serves, and nodes is where its nodes are redirected to.
var (
	served   = map[string]*shared{management: {}, worker1: {}, worker2: {}}
	kubelets = map[string]*shared{management: {}, worker1: {}, worker2: {}}
)

// alone is the value for a test whose change other tests must not see.
const alone = ""

// enter keeps a property at a value until the test ends. do sets the value, unless it is set
// already, and returns the function that reverts it.
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

// serving runs a test in parallel with others that need clusters which serve the same kinds, or
// alone if it needs a set-up of its own. Its subtests must not call t.Parallel: each would wait for
// a slot, and all slots may be held by tests that wait for the clusters.
func serving(t *testing.T, is string, clusters ...string) {
	t.Helper()
	t.Parallel()
	for _, cluster := range all {
		if slices.Contains(clusters, cluster) {
			served[cluster].enter(t, is, nil)
		}
	}
}

// all are the clusters, in the order in which tests lock them.
var all = []string{management, worker1, worker2}
