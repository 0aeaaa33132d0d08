package e2e

import (
	"slices"
	"sync"
	"testing"
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
