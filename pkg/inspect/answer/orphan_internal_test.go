package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
)

// TestFixOfOrphanThatHoldsQuota checks that a waiting Job gets the fix of the orphan's finding. Kueue
// deletes only some orphans by itself.
func TestFixOfOrphanThatHoldsQuota(t *testing.T) {
	h := inspect.Holder{Kind: "Job", Namespace: "ml", Name: "old", Amount: "4", Resource: "cpu"}
	remove := []string{"kubectl", "--context", "w", "-n", "ml", "delete", "job", "old"}
	for code, tt := range map[string]struct {
		fix  command.Fix
		want string
	}{
		"JM106": {command.Fix{Command: remove}, "release 4 cpu that orphan ml/old holds on w: delete it"},
		"JM059": {command.Fix{Text: "set multiKueue.origin again"}, "release 4 cpu that orphan ml/old holds on w: set multiKueue.origin again"},
	} {
		q := Question{Findings: []inspect.Finding{{Code: code, Context: "w", Namespace: "ml", Name: "old", Fixes: []command.Fix{tt.fix}}}}
		fix := q.orphanFix("w", &h)
		assert.Equal(t, fix.Text, tt.want)
		assert.DeepEqual(t, fix.Command, tt.fix.Command)
	}
}

// TestOrphansThatHoldAPart checks that the answer names the other holders if orphans hold only a part of the quota that a
// Job lacks, and that the fix suffices.
func TestOrphansThatHoldAPart(t *testing.T) {
	const remove = "wait one minute, then delete orphan ml/%s on w if it still exists (holds %s cpu)"
	holder := func(name, amount string) inspect.Holder {
		return inspect.Holder{Kind: "Job", Namespace: "ml", Name: name, Amount: amount, Resource: "cpu", Admitted: true, Orphan: strings.HasPrefix(name, "old")}
	}
	old := func(name, amount string) string { return fmt.Sprintf(remove, name, amount) }
	for name, tt := range map[string]struct {
		holders []inspect.Holder
		says    string
		fixes   []string
	}{
		"enough":            {[]inspect.Holder{holder("old", "6"), holder("new", "2")}, "Orphan ml/old holds 6.", []string{old("old", "6")}},
		"a part":            {[]inspect.Holder{holder("old", "4"), holder("new", "2")}, "Orphan ml/old holds 4; ml/new holds 2.", []string{old("old", "4") + ", and then wait for ml/new on w to finish"}},
		"a part, after one": {[]inspect.Holder{holder("new", "4"), holder("old", "2")}, "ml/new holds 4; ml/old holds 2.", []string{old("old", "2") + ", and then wait for ml/new on w to finish"}},
		"a part of many": {
			[]inspect.Holder{holder("old", "2"), holder("new", "2"), holder("newer", "2")},
			"Orphan ml/old holds 2; ml/new holds 2; ml/newer holds 2.",
			[]string{old("old", "2") + ", and then wait for ml/new and others on w to finish"},
		},
		"together":      {[]inspect.Holder{holder("old", "4"), holder("old2", "2"), holder("new", "1")}, "Orphan ml/old holds 4; orphan ml/old2 holds 2.", []string{old("old", "4") + ", and then " + old("old2", "2")}},
		"one of them":   {[]inspect.Holder{holder("old", "6"), holder("old2", "6")}, "Orphan ml/old holds 6.", []string{old("old", "6"), old("old2", "6")}},
		"no other read": {[]inspect.Holder{holder("old", "4")}, "Orphan ml/old holds 4.", []string{old("old", "4")}},
	} {
		t.Run(name, func(t *testing.T) {
			p := inspect.Placement{Context: "w", Verdict: inspect.Waits, Reason: inspect.QuotaInUse, Resource: "cpu", Needs: "6", Free: "0", Holders: tt.holders}
			q := Question{Inventory: inspect.NewInventory(time.Unix(0, 0), nil, nil), Trace: &inspect.Trace{}}
			assert.Equal(t, q.holder(&p), tt.says)
			var fixes []string
			for _, f := range q.fixesFor([]inspect.Placement{p}) {
				for _, step := range f.Then {
					f.Text += ", and then " + step.Text
				}
				fixes = append(fixes, f.Text)
			}
			assert.DeepEqual(t, fixes, tt.fixes)
		})
	}
}

// TestHolderWithoutMirror checks that nothing advises to wait for a Job that holds quota and whose
// mirror can never be created.
func TestHolderWithoutMirror(t *testing.T) {
	p := &inspect.Placement{Context: "w", Reason: inspect.QuotaInUse, Needs: "4", Free: "0", Holders: []inspect.Holder{
		{Kind: "Job", Namespace: "ml", Name: "refused", Amount: "4", Resource: "cpu", Admitted: true},
	}}
	q := Question{Inventory: inspect.NewInventory(time.Unix(0, 0), nil, nil)}
	fixes := q.holderFixes(p)
	assert.Equal(t, fixes[0].Text, "wait for ml/refused on w to finish")
	q.Findings = []inspect.Finding{{Code: "JM035", Kind: "Job", Context: "hub", Jobs: []inspect.Ref{{Context: "hub", Namespace: "ml", Name: "refused"}}}}
	fixes = q.holderFixes(p)
	assert.Equal(t, len(fixes), 1)
	assert.Equal(t, fixes[0].Text, "find out why ml/refused holds 4 cpu without running")
	assert.DeepEqual(t, fixes[0].Command, []string{"kubectl", "jobs-managedby", "trace", "refused", "-n", "ml", "--context", "hub"})
	assert.Equal(t, q.holder(p), "ml/refused holds 4 without running.")

	// Nor for one whose Pods cannot be created.
	for active, want := range map[int32]bool{0: true, 1: false} {
		mirror := &inspect.Job{Context: "w", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "refused", UID: "m", Active: active}
		q.Inventory = inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "w", Jobs: []*inspect.Job{mirror}}}, nil)
		q.Findings[0].Code = "JM049"
		assert.Equal(t, strings.HasPrefix(q.holderFixes(p)[0].Text, "find out why ml/refused"), want)
	}
}

// TestMirrorOfUnknownManager checks that the mirror of a manager that was not read is no orphan, and
// that nothing advises to delete it. Only a finding about an orphan knows whether that is safe.
func TestMirrorOfUnknownManager(t *testing.T) {
	row, _ := delegation.KindNamed("job")
	for name, tt := range map[string]struct {
		origin string
		state  inspect.JobState
	}{
		"the label of an unknown manager":        {"team-b", inspect.StateRunning},
		"perhaps of the manager that was read":   {"multikueue", inspect.StateRunning},
		"certainly of the manager that was read": {"fleet", inspect.StateOrphan},
	} {
		t.Run(name, func(t *testing.T) {
			job := func(context, name, origin string, owner delegation.Owner) *inspect.Job {
				return &inspect.Job{
					KindRow: &row, Context: context, Namespace: "ml", Name: name, UID: context + name, ManagedBy: owner, Status: delegation.Running,
					Marks: &delegation.Marks{MultiKueueOrigin: origin},
				}
			}
			read := func(context string, jobs ...*inspect.Job) *inspect.Facts {
				return &inspect.Facts{Context: context, ClusterUID: context, Kinds: []delegation.Kind{row}, Jobs: jobs}
			}
			mirror := job("worker", "train", tt.origin, delegation.BuiltIn)
			v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{
				read("hub", job("hub", "eval", "", delegation.MultiKueue)), read("worker", mirror, job("worker", "eval", "fleet", delegation.BuiltIn)),
			}, nil)
			p := inspect.OrphanPair(mirror)
			trace := chain.Trace(v, p)
			Fill(Question{Inventory: v, Pair: p, Trace: trace})
			assert.Equal(t, trace.State, tt.state, trace.Message)
			assert.Equal(t, len(trace.Fixes), 0)
			assert.Equal(t, len(trace.Unchecked) > 0, tt.state != inspect.StateOrphan)
		})
	}
}
