package actors

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestInVainSince checks that Jobs count as waiting for a stopped actor only since one of them began to wait for it,
// which may be long after the actor's last action.
func TestInVainSince(t *testing.T) {
	last := time.Unix(1000, 0)
	waits := func(after time.Duration) view.Sighting {
		return view.Sighting{Awaits: &view.Awaited{PendingAction: liveness.PendingAction{Since: last.Add(after)}}}
	}
	for want, waiting := range map[time.Duration][]view.Sighting{
		3 * time.Minute: {waits(4 * time.Minute), waits(3 * time.Minute)},
		0:               {waits(-10 * time.Second), waits(3 * time.Minute)},
	} {
		assert.Equal(t, inVainSince(last, waiting), last.Add(want))
	}
}
