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
		"summary": {summary(listOf(newJob("a", delegation.BuiltIn, delegation.Running))), summary(everyStatus())},
		"ls":      {listed(wide), listed(dispatchers)},
		"traces":  {pairs(true), pairs(false)},
	} {
		var counts [2]int
		for i, write := range tables {
			var out bytes.Buffer
			assert.NilError(t, write(&out))
			first, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
			counts[i] = len(regexp.MustCompile(` {2,}`).Split(string(bytes.TrimSpace(first)), -1))
		}
		assert.Equal(t, counts[0], counts[1], name)
	}
}
