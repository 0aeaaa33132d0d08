package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestWaiting checks that Waiting receives every context that is being asked and has not
// answered, including those that never do, and finally none.
func TestWaiting(t *testing.T) {
	var (
		mu       sync.Mutex
		reported [][]string
	)
	contexts := []fleet.Context{{Name: "a", Err: errors.New("no such file")}, {Name: "b", Err: errors.New("no such file")}}
	f := fleet.Open(t.Context(), contexts, fleet.Options{Parallel: 1, Waiting: func(contexts []string) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, contexts)
	}})
	once := [][]string{{"a"}, {}, {"b"}, {}}
	assert.DeepEqual(t, reported, once)

	fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (int, error) { return 0, nil })
	assert.DeepEqual(t, reported, append(once, once...))
}
