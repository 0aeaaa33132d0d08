package doctor

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestCleanedMessage checks that a mirror counts as gone only on workers that a context reaches.
func TestCleanedMessage(t *testing.T) {
	at := &target{manager: "management", workers: []string{"paris"}}
	contexts, unreached := at.workerContexts(inspect.NewInventory(time.Now(), nil, nil))
	assert.Equal(t, len(contexts), 0)
	assert.DeepEqual(t, unreached, []string{"paris"})
	for _, tt := range []struct {
		unreached, unseen []string
		want              string
	}{
		{nil, nil, "Job, mirror and Workloads are gone"},
		{nil, []string{"worker-2"}, "Job, mirror and Workloads are gone; not checked on worker-2, for lack of rights"},
		{unreached, nil, "Job and Workloads are gone where they were checked; not checked on paris: no context reaches it"},
	} {
		assert.Equal(t, (&cleaner{unreached: tt.unreached}).cleanedMessage(tt.unseen), tt.want)
	}
}
