package printers_test

import (
	"bytes"
	"io"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestColumnsWithoutTitles: a table without titles has the same columns whatever the rows are, because
// scripts count them.
func TestColumnsWithoutTitles(t *testing.T) {
	options := printers.TableOptions{Contexts: true, Namespaces: true, NoHeaders: true}
	past := func(jobs ...inspect.PastJob) func(io.Writer) error {
		list := inspect.NewHistoryList()
		list.Items = jobs
		return func(w io.Writer) error { return printers.History(w, list, options) }
	}
	pending := func(jobs ...queues.PendingJob) func(io.Writer) error {
		list := queues.NewPendingList()
		list.Items = jobs
		return func(w io.Writer) error { return printers.Pending(w, list, options) }
	}
	summary := func(list *inspect.OwnerList) func(io.Writer) error {
		return func(w io.Writer) error { return printers.Summary(w, list, options) }
	}
	wide := options
	wide.Wide = true
	listed := func(o printers.TableOptions) func(io.Writer) error {
		return func(w io.Writer) error {
			return printers.Owners(w, listOf(newJob("a", delegation.BuiltIn, delegation.Running)), o)
		}
	}
	pairs := func(isCurrent bool) func(io.Writer) error {
		list, j := inspect.NewTraceList(), newJob("a", delegation.MultiKueue, delegation.Running)
		list.Items = []inspect.Trace{{Origin: &j, Mirrors: []inspect.TraceMirror{{Job: j, Relation: inspect.ByMultiKueue, Current: isCurrent}}}}
		return func(w io.Writer) error { return printers.Traces(w, list, options) }
	}
	placements := func(o printers.TableOptions, all ...inspect.Placement) func(io.Writer) error {
		return func(w io.Writer) error {
			return printers.DryRunPlacements(w, []inspect.Trace{{Placements: all}}, o)
		}
	}
	plain := inspect.Placement{Context: "a", Cluster: "a", Verdict: inspect.Fits, Message: "m"}
	numbers := inspect.Placement{
		Context: "a", Cluster: "paris", Verdict: inspect.Never, Resource: "cpu", Needs: "2", Free: "0", Limit: "1", Message: "m",
		Conditions: []inspect.PlacementCondition{{Name: inspect.ConditionPods, State: inspect.No, Text: "0/3"}, {Name: inspect.ConditionPreflight, State: inspect.No, Text: "1"}},
	}
	local := func(workers *queues.WorkersQuota) func(io.Writer) error {
		list, q := queues.NewQueueList(), localQuota("ml", "4")
		q.Workers = workers
		list.Items = []queues.QueueQuota{q}
		return func(w io.Writer) error { return printers.Queues(w, list, options) }
	}
	dispatchers := wide
	dispatchers.Dispatchers = true
	for name, tables := range map[string][2]func(io.Writer) error{
		"history": {
			past(inspect.PastJob{Context: "a", Namespace: "n", Kind: "Job", Name: "j", ManagedBy: "o", Result: "Complete"}),
			past(inspect.PastJob{Context: "a", Namespace: "n", Kind: "JobSet", Name: "j", ManagedBy: "o", Result: "Complete"}, inspect.PastJob{Context: "b", Namespace: "n", Kind: "Job", Name: "j", ManagedBy: "o", Result: "Complete"}),
		},
		"pending": {
			pending(queues.PendingJob{Context: "a", Namespace: "n", Kind: "Job", Name: "j", Reason: "r"}),
			pending(queues.PendingJob{Context: "a", Namespace: "n", Kind: "JobSet", Name: "j", Reason: "r"}, queues.PendingJob{Context: "b", Namespace: "n", Kind: "Job", Name: "j", Reason: "r"}),
		},
		"summary":         {summary(listOf(newJob("a", delegation.BuiltIn, delegation.Running))), summary(everyStatus())},
		"ls":              {listed(wide), listed(dispatchers)},
		"traces":          {pairs(true), pairs(false)},
		"placements":      {placements(options, plain), placements(options, numbers)},
		"wide placements": {placements(wide, plain), placements(wide, numbers)},
		"LocalQueues":     {local(nil), local(&queues.WorkersQuota{Nominal: "4", Clusters: []string{"w"}})},
	} {
		var counts [2]int
		for i, write := range tables {
			var out bytes.Buffer
			assert.NilError(t, write(&out))
			first, _, _ := bytes.Cut(bytes.TrimLeft(out.Bytes(), "\n"), []byte("\n"))
			counts[i] = len(regexp.MustCompile(` {2,}`).Split(string(bytes.TrimSpace(first)), -1))
		}
		assert.Equal(t, counts[0], counts[1], name)
	}
}
