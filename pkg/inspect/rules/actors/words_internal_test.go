package actors

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestWordsOfDuties checks that each duty has words of its own: a worker that evicted a copy has not admitted it.
func TestWordsOfDuties(t *testing.T) {
	seen := map[stepWords]liveness.Duty{}
	for _, d := range liveness.Duties() {
		words := wordsOf(d)
		assert.Assert(t, words.one != "" && words.many != "" && words.preposition != "", d)
		assert.Equal(t, seen[words], liveness.DutyAny, d)
		seen[words] = d
	}
	waiting := []view.Sighting{{Awaits: &view.Awaited{PendingAction: liveness.PendingAction{Duty: liveness.DutyWithdraw}}}}
	assert.Equal(t, late("MultiKueue on hub", 1, "1 Job", waiting), "1 Job waits for MultiKueue on hub to withdraw its admission")
}
