package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// traceOf returns the answered trace of a Job of a recording.
func traceOf(t *testing.T, v *inspect.Inventory, name string) *inspect.Trace {
	t.Helper()
	for _, trace := range answersOf(t, v, 0) {
		if trace.Origin != nil && trace.Origin.Name == name || trace.Origin == nil && trace.Mirrors[0].Name == name {
			return trace
		}
	}
	t.Fatalf("no Job %s", name)
	return nil
}

// TestFindingOfSeveralJobsInTrace checks that a trace has the traced Job's own part of a finding about
// several Jobs: its object, its Pods and its fix.
func TestFindingOfSeveralJobsInTrace(t *testing.T) {
	v := inventory(t, recordings+"/dispatch-origin-in-multikueue-queue")
	for name, pod := range map[string]string{"p1-203": "p1-203-hjmmx", "p1-206": "p1-206-fnplk"} {
		f := findingOf(t, traceOf(t, v, name).Findings, "JM049")
		assert.Equal(t, f.Name, name)
		assert.Equal(t, f.Jobs[0].Name, name)
		assert.Equal(t, len(f.Jobs), 3, "two of its namespace, and one of another")
		assert.Assert(t, strings.Contains(strings.Join(f.Evidence, "\n"), pod), "%q", f.Evidence)
	}
	v = inventory(t, recordings+"/workers-only-user")
	for name, nodes := range map[string]string{"p1-0": "w1 get nodes -l gpu=a100,pool=spot", "p1-8": "w1 get nodes -l pool=od"} {
		trace := traceOf(t, v, name)
		f := findingOf(t, trace.Findings, "JM049")
		assert.Equal(t, f.Jobs[0].Name, name)
		assert.Assert(t, strings.Contains(strings.Join(f.Evidence, "\n"), name+"-"), "%q", f.Evidence)
		assert.Equal(t, trace.Fixes[0].Shell(), "kubectl --context "+nodes)
	}
}

// TestSelect checks that check has the part of a chosen Job, too, with the fingerprint of the whole.
func TestSelect(t *testing.T) {
	judgment := rules.Judge(inventory(t, recordings+"/dispatch-origin-in-multikueue-queue"), rules.All(), rules.Options{})
	ofWorker := func(f *inspect.Finding) bool {
		return f.Code == "JM049" && strings.Contains(f.Message, "of kwok-w1") && f.Namespace == "default"
	}
	whole := findingOf(t, judgment.Select(ofWorker, func(inspect.Ref) bool { return false }), "JM049")
	own := findingOf(t, judgment.Select(ofWorker, func(r inspect.Ref) bool { return r.Name == "p1-203" }), "JM049")
	assert.Equal(t, whole.Name, "p1-206")
	assert.Equal(t, own.Name, "p1-203")
	assert.Equal(t, own.Fingerprint, whole.Fingerprint)
}

// TestOwnerNotFoundFixes checks the order of the fix for a Job whose deleted mirror still exists: the next
// mirror needs its name. Nothing solves the problem by itself, so its age does not matter.
func TestOwnerNotFoundFixes(t *testing.T) {
	v := inventory(t, recordings+"/many-edits-one-timed-out")
	trace := traceOf(t, v, "a06-fin")
	assert.Equal(t, trace.Message, "It will never finish: its Workload finished with OwnerNotFound, and the deletion of its mirror on kwok-w2 waits for finalizer example.com/stuck.")
	fix := trace.Fixes[0]
	assert.Assert(t, strings.HasSuffix(fix.Shell(), `patch job a06-fin --type=merge -p '{"metadata":{"finalizers":null}}'`), fix.Shell())
	assert.Equal(t, len(fix.Then), 2)
	assert.Equal(t, fix.Then[0].Text, "delete the origin")
	assert.Equal(t, fix.Then[1].Text, "create the Job again")
	for _, f := range judge(t, v, rules.All(), 0) {
		assert.Assert(t, f.Code != "JM111" || f.Name != "a06-fin", "JM038 has the finalizer")
	}
	for _, trace := range answersOf(t, v, inspect.Settling*60) {
		if trace.Origin != nil && trace.Origin.Name == "a06-fin" {
			assert.DeepEqual(t, trace.Fixes[0], fix)
		}
	}
}

// TestMirrorsWithoutManager checks that the Pods of mirrors are judged although no manager was read, and
// that no fix is about an origin.
func TestMirrorsWithoutManager(t *testing.T) {
	v := inventory(t, recordings+"/workers-only-user")
	trace := traceOf(t, v, "p1-0")
	assert.Equal(t, trace.Message, "1 Pod on w1 finds no node: flavors a100 and spot require labels gpu=a100,pool=spot. "+
		"Its origin is unknown: no manager was read.")
	assert.Assert(t, strings.Contains(trace.Fixes[0].Shell(), "get nodes -l gpu=a100,pool=spot"), trace.Remedy)
	assert.Equal(t, len(trace.Unchecked), 1)
	var mirrors int
	for _, f := range judge(t, v, rules.All(), 0) {
		assert.Equal(t, f.Code, "JM049")
		mirrors += len(f.Jobs)
	}
	assert.Equal(t, mirrors, 11)
}

// TestNeverBehind checks that a Job that waits behind another one and fits on no cluster is an error with
// its own fix, in check as in trace, and is no part of the finding about waiting Jobs.
func TestNeverBehind(t *testing.T) {
	o := open(t, recordings+"/dispatch-origin-in-multikueue-queue")
	known := o.inventory(t)
	judgment := rules.Judge(known, rules.All(), rules.Options{})
	queues, workloads := answer.Places(known, judgment.Findings)
	v := read.Read(t.Context(), o.fleet, read.Want{Capacity: true, Queues: queues, Workloads: workloads, Known: known, Addresses: o.addresses, Now: o.takenAt})
	findings := answer.AdviseAll(v, judgment.Findings, judgment, command.Reach{}, nil)
	codes := map[string]string{}
	for i := range findings {
		for _, r := range findings[i].Jobs {
			codes[r.Name] += findings[i].Code + " "
		}
		if f := &findings[i]; f.Code == "JM115" {
			trace := traceOf(t, v, f.Name)
			assert.Equal(t, f.Remedy, trace.Remedy)
			assert.Equal(t, len(f.Jobs), 1)
		}
		if f := &findings[i]; f.Name == "p1-202" {
			trace := traceOf(t, v, f.Name)
			assert.Equal(t, f.Code, "JM029")
			assert.Equal(t, f.Severity, inspect.Error)
			assert.Equal(t, f.Remedy, trace.Remedy)
			assert.Equal(t, findingOf(t, trace.Findings, "JM029").Fingerprint, f.Fingerprint)
		}
	}
	assert.Equal(t, codes["p1-202"], "JM029 ")
	assert.Equal(t, codes["p1-208"], "JM115 ")
}
