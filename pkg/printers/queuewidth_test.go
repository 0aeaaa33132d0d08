package printers_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func quota(name, flavor, used, borrowed string) queues.QueueQuota {
	nominal, free, pending := "36000Gi", "3599"+used+"Gi", used
	return queues.QueueQuota{
		Context: "context-of-" + name, Kind: queues.KindClusterQueue, Name: name, Cohorts: []string{"team-" + name}, Flavor: flavor, Resource: "nvidia.com/gpu",
		Nominal: &nominal, Used: &used, Borrowed: &borrowed, Free: &free, Pending: &pending,
		Workers: &queues.WorkersQuota{Nominal: nominal, Used: &used, Clusters: []string{"worker-" + name, "worker-2"}},
	}
}

// TestQueuesAt80Columns checks that usage stays on a narrow terminal, and that a line names the columns that do
// not. A flavor stays if only it distinguishes rows.
func TestQueuesAt80Columns(t *testing.T) {
	for name, tt := range map[string]struct {
		rows    []queues.QueueQuota
		wide    bool
		columns []string
		dropped string
	}{
		"one flavor per queue": {
			[]queues.QueueQuota{quota("research", "a100", "4", "2"), quota("ci", "h100", "8", "1")},
			false,
			[]string{"QUEUE", "USED", "FREE", "PENDING"},
			"not shown at this width: COHORT, FLAVOR, BORROWED, WORKERS (-o json has them)",
		},
		"two flavors": {
			[]queues.QueueQuota{quota("research", "a100", "4", "2"), quota("research", "h100", "8", "0"), quota("ci", "h100", "6", "0")},
			false,
			[]string{"FLAVOR", "USED", "FREE", "PENDING"},
			"not shown at this width: COHORT, BORROWED, WORKERS (-o json has them)",
		},
		"wide": {
			[]queues.QueueQuota{quota("research", "a100", "4", "2"), quota("research", "h100", "8", "0"), quota("ci", "h100", "6", "0")},
			true,
			[]string{"FLAVOR", "USED", "FREE", "PENDING"},
			"not shown at this width: COHORT, BORROWED, WORKERS (-o json has them)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := queues.NewQueueList()
			list.Items = tt.rows
			var b strings.Builder
			assert.NilError(t, printers.Queues(&b, list, printers.TableOptions{Contexts: true, Wide: tt.wide, Width: 80}))
			header, _, _ := strings.Cut(b.String(), "\n")
			for _, column := range tt.columns {
				assert.Assert(t, strings.Contains(header, column), "%s", b.String())
			}
			assert.Assert(t, strings.HasSuffix(b.String(), "\n\n"+tt.dropped+"\n"), "%s", b.String())
			assert.Assert(t, !strings.Contains(b.String(), "…"), "%s", b.String())

			b.Reset()
			assert.NilError(t, printers.Queues(&b, list, printers.TableOptions{Contexts: true, Wide: tt.wide, Width: 200}))
			assert.Assert(t, !strings.Contains(b.String(), "not shown") && strings.Contains(b.String(), "BORROWED"), "%s", b.String())
		})
	}
}
