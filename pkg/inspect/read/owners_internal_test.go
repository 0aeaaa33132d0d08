package read

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestTurns checks that the first context is visited at once, the others in order, and none after
// the end.
func TestTurns(t *testing.T) {
	var visited []string
	visits := &contextOrder[inspect.Job]{
		order: []string{"a", "b", "c"}, waiting: map[string][]inspect.Job{}, done: sets.New[string](),
		visit: func(j inspect.Job) { visited = append(visited, j.Name) },
	}
	saw := func(want string) {
		t.Helper()
		assert.Equal(t, strings.Join(visited, " "), want)
	}
	visits.add("c", inspect.Job{Name: "c1"})
	visits.add("b", inspect.Job{Name: "b1"})
	saw("")
	visits.add("a", inspect.Job{Name: "a1"})
	saw("a1")
	visits.end("c")
	saw("a1")
	visits.end("a")
	saw("a1 b1")
	visits.add("b", inspect.Job{Name: "b2"})
	saw("a1 b1 b2")
	visits.end("a", "b", "c")
	saw("a1 b1 b2 c1")
	visits.add("b", inspect.Job{Name: "late"})
	saw("a1 b1 b2 c1")
}
