package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestWaiting: whoever wants to know is told of every context that is asked and
// has not answered, those too that never will, and at last of none.
func TestWaiting(t *testing.T) {
	var (
		mu   sync.Mutex
		told [][]string
	)
	contexts := []fleet.Context{{Name: "a", Err: errors.New("no such file")}, {Name: "b", Err: errors.New("no such file")}}
	f := fleet.Open(t.Context(), contexts, fleet.Options{Parallel: 1, Waiting: func(contexts []string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, contexts)
	}})
	once := [][]string{{"a"}, {}, {"b"}, {}}
	assert.DeepEqual(t, told, once)

	fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (int, error) { return 0, nil })
	assert.DeepEqual(t, told, append(once, once...))
}
