package printers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestFindingFixes: a finding shows its best fix and the number of others; with evidence, all of
// them.
func TestFindingFixes(t *testing.T) {
	fixes := []command.Fix{
		{Text: "request less", Command: []string{}},
		{Text: "raise the quota", Command: []string{"kubectl", "edit", "clusterqueue"}},
		{Text: "create the queue", Command: []string{"kubectl", "create"}, Then: []command.Step{{Command: []string{"kubectl", "label"}}}},
	}
	list := inspect.NewFindingList()
	list.Items = []inspect.Finding{{
		Code: "JM029", Severity: inspect.Error, Kind: "Job", Namespace: "ml", Name: "sweep", Message: "needs more",
		Fixes: fixes, Remedy: string(command.Alternatives(fixes)),
	}}
	all := []string{
		"  fix: request less", "  or:  raise the quota: `kubectl edit clusterqueue`", "  or:  create the queue: `kubectl create`, and then `kubectl label`",
	}
	for name, tt := range map[string]struct {
		options TableOptions
		want    []string
	}{
		"usual":      {TableOptions{}, []string{"  fix: request less", "  or:  2 more (-o wide)"}},
		"wide":       {TableOptions{Wide: true}, all},
		"a Job":      {TableOptions{Evidence: true}, all},
		"in a watch": {TableOptions{Compact: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			assert.NilError(t, Findings(&b, list, tt.options))
			var got []string
			for line := range strings.Lines(b.String()) {
				if strings.HasPrefix(line, "  fix:") || strings.HasPrefix(line, "  or:") {
					got = append(got, strings.TrimRight(line, "\n"))
				}
			}
			assert.DeepEqual(t, got, tt.want)
		})
	}
}

// TestTraceCountsFurtherFixes: a trace has three fixes, and says how many more there are.
func TestTraceCountsFurtherFixes(t *testing.T) {
	for name, tt := range map[string]struct {
		fixes int
		wide  bool
		last  string
	}{
		"few": {3, false, "Or:  fix 3"}, "more": {5, false, "Or:  2 more (-o wide)"}, "all": {5, true, "Or:  fix 5"},
	} {
		trace := inspect.NewTrace()
		trace.Origin = &inspect.Job{Kind: "Job", Namespace: "ml", Name: "sweep", Context: "management"}
		for i := range tt.fixes {
			trace.Fixes = append(trace.Fixes, command.Fix{Text: fmt.Sprintf("fix %d", i+1), Command: []string{}})
		}
		trace.Remedy = string(command.Alternatives(trace.Fixes))
		var b bytes.Buffer
		assert.NilError(t, Trace(&b, trace, TableOptions{Wide: tt.wide}))
		last := ""
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "Or:") {
				last = strings.TrimRight(line, "\n")
			}
		}
		assert.Check(t, last == tt.last, "%s: %s", name, b.String())
	}
}

// TestFindingsOnNarrowTerminals: messages have most of a narrow line, and are not repeated. A
// wide subject has its own line.
func TestFindingsOnNarrowTerminals(t *testing.T) {
	list := inspect.NewFindingList()
	list.Items = []inspect.Finding{
		{Code: "JM013", Kind: "Job", Namespace: "ml", Name: "eval", Message: "Job ml/eval: ignored by Kueue: no queue label"},
		{Code: "JM026", Kind: "LocalQueue", Namespace: "vision", Name: "inference", Message: "LocalQueue vision/inference does not exist on worker-2"},
	}
	for width, want := range map[int]string{
		60:  "JM013  ml/eval  ignored by Kueue: no queue label\nJM026  LocalQueue vision/inference\n  does not exist on worker-2\n",
		120: "JM013  ml/eval                      ignored by Kueue: no queue label\nJM026  LocalQueue vision/inference  does not exist on worker-2\n",
	} {
		var b bytes.Buffer
		assert.NilError(t, Findings(&b, list, TableOptions{Width: width}))
		assert.Assert(t, strings.HasSuffix(b.String(), "\n\n"+want), b.String())
	}
}

// TestFindingOfSeveralJobs: numbers, pronouns and verbs of a message belong to the first Job, so the others
// follow the message.
func TestFindingOfSeveralJobs(t *testing.T) {
	for text, want := range map[string]string{
		"Job ml/a is in queue gpu":       "is in queue gpu; also ",
		"Job ml/a: no Workload":          "no Workload; also ",
		"its mirror vanished":            "its mirror vanished; also ",
		"no node for 1 Pod: 0/2 match.":  "no node for 1 Pod: 0/2 match; also ",
		"Job ml/a: did you mean ml-gpu?": "did you mean ml-gpu? Also ",
	} {
		f := inspect.Finding{Code: "JM017", Kind: "Job", Namespace: "ml", Name: "a", Message: text, Jobs: []inspect.Ref{{Namespace: "ml", Name: "a"}}}
		for name, others := range map[string]string{"b": "ml/b", "c": "2 more Jobs"} {
			if f.Jobs = append(f.Jobs, inspect.Ref{Namespace: "ml", Name: "b"}); name == "c" {
				f.Jobs = append(f.Jobs, inspect.Ref{Namespace: "ml", Name: "c"})
			}
			list := inspect.NewFindingList()
			list.Items = []inspect.Finding{f}
			var b bytes.Buffer
			assert.NilError(t, Findings(&b, list, TableOptions{Width: 120}))
			assert.Assert(t, strings.HasSuffix(b.String(), "\n\nJM017  ml/a  "+want+others+"\n"), b.String())
			f.Jobs = f.Jobs[:1]
		}
	}
}
