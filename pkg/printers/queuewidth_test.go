package printers_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
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

func localQuota(name, used string) queues.QueueQuota {
	q := quota(name, "a100", used, "0")
	q.Kind, q.Namespace, q.ClusterQueue, q.Borrowed = queues.KindLocalQueue, name, "cluster-queue-of-"+name, nil
	return q
}

// TestQueuesAt80Columns checks that usage stays on a narrow terminal, and that a line names the columns that do
// not. A flavor stays if only it distinguishes rows, and a resource unless all rows have it.
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
			"not shown at this width: COHORT, FLAVOR, BORROWED (to see all: | less -S)",
		},
		"two flavors": {
			[]queues.QueueQuota{quota("research", "a100", "4", "2"), quota("research", "h100", "8", "0"), quota("ci", "h100", "6", "0")},
			false,
			[]string{"FLAVOR", "USED", "FREE", "PENDING"},
			"not shown at this width: COHORT, BORROWED, WORKERS (to see all: | less -S)",
		},
		"wide": {
			[]queues.QueueQuota{quota("research", "a100", "4", "2"), quota("research", "h100", "8", "0"), quota("ci", "h100", "6", "0")},
			true,
			[]string{"FLAVOR", "USED", "FREE", "PENDING"},
			"not shown at this width: COHORT, BORROWED, WORKERS (to see all: | less -S)",
		},
		"LocalQueues": {
			[]queues.QueueQuota{localQuota("research", "4"), localQuota("ci", "8")},
			false,
			[]string{"QUEUE", "USED-HERE", "FREE", "PENDING"},
			"not shown at this width: COHORT, WORKERS, CLUSTERQUEUE (to see all: | less -S)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := queues.NewQueueList()
			list.Items = tt.rows
			var b strings.Builder
			assert.NilError(t, printers.Queues(&b, list, printers.TableOptions{Contexts: true, Namespaces: true, Wide: tt.wide, Width: 80}))
			header, _, _ := strings.Cut(b.String(), "\n")
			for _, column := range tt.columns {
				assert.Assert(t, strings.Contains(header, column), "%s", b.String())
			}
			assert.Assert(t, strings.HasSuffix(b.String(), "\n\n"+tt.dropped+"\n"), "%s", b.String())
			// The names of contexts and queues are whole, because the resource of all rows is below the table.
			assert.Assert(t, strings.Contains(b.String(), "RESOURCE nvidia.com/gpu\n\n") && strings.Contains(b.String(), "\ncontext-of-research "), "%s", b.String())
			assert.Assert(t, !strings.Contains(b.String(), "…"), "%s", b.String())

			b.Reset()
			assert.NilError(t, printers.Queues(&b, list, printers.TableOptions{Contexts: true, Namespaces: true, Wide: tt.wide, Width: 200}))
			assert.Assert(t, !strings.Contains(b.String(), "not shown") && strings.Contains(b.String(), "COHORT"), "%s", b.String())
		})
	}
}

// TestWideTablesAt80Columns checks that no column is cut off: sentences are below their rows, and a line
// names the columns that are not shown.
func TestWideTablesAt80Columns(t *testing.T) {
	job := "training-of-the-large-model"
	at := metav1.NewTime(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	pending := queues.NewPendingList()
	for _, name := range []string{job, "other"} {
		pending.Items = append(pending.Items, queues.PendingJob{
			Context: "context-of-" + name, Namespace: "namespace-of-" + name, Kind: "RayCluster", Name: name, ClusterQueue: "queue-of-" + name, LocalQueue: "local-" + name,
			Strategy: "BestEffortFIFO", Place: new(1), Of: new(2), StartsBy: new(at), Requests: map[string]string{"nvidia.com/gpu": "8", "cpu": "16"},
			Reason: "FlavorWithoutTopology", Message: "the quota is used up by " + name + " and others that have a higher priority",
		})
	}
	past := inspect.NewHistoryList()
	for _, name := range []string{job, "other"} {
		past.Items = append(past.Items, inspect.PastJob{
			Context: "context-of-" + name, Namespace: "namespace-of-" + name, Kind: "RayCluster", Name: name, ManagedBy: "kueue.x-k8s.io/multikueue", Queue: "queue-of-" + name,
			Cluster: new("cluster-of-" + name), FinishedAt: new(at), WaitSeconds: new(int64(100000)), RunSeconds: new(int64(100)), Result: inspect.ResultFailed, Reason: "BackoffLimitExceeded",
		})
	}
	o := printers.TableOptions{Contexts: true, Namespaces: true, Wide: true, Width: 80}
	for name, write := range map[string]func(w io.Writer) error{
		"pending": func(w io.Writer) error { return printers.Pending(w, pending, o) },
		"history": func(w io.Writer) error { return printers.History(w, past, o) },
	} {
		var b strings.Builder
		assert.NilError(t, write(&b))
		assert.Assert(t, !strings.Contains(b.String(), "…") && strings.Contains(b.String(), "not shown at this width: "), "%s:\n%s", name, b.String())
	}
	var b strings.Builder
	assert.NilError(t, printers.Pending(&b, queues.NewPendingList(), o))
	assert.NilError(t, printers.Queues(&b, queues.NewQueueList(), o))
	assert.Equal(t, b.String(), "", "an empty list has no columns")
}
