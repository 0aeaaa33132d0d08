package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// answersOf returns the traces of all Jobs of a case, with findings and answers.
func answersOf(t *testing.T, v *inspect.Inventory, grace time.Duration) []*inspect.Trace {
	t.Helper()
	judgment := rules.Judge(v, rules.All(), rules.Options{Grace: grace})
	var traces []*inspect.Trace
	for _, p := range v.Subjects() {
		trace := chain.Trace(v, p)
		trace.Placements = append(trace.Placements, placement.Around(v).Judge(p, nil)...)
		trace.Findings = judgment.About(trace)
		q := answer.Question{Inventory: v, Pair: p, Trace: trace, Findings: judgment.All(answer.IsAboutOthers)}
		answer.Fill(q)
		trace.Findings = q.Advise(trace.Findings, judgment)
		trace.Findings = slices.DeleteFunc(trace.Findings, func(f inspect.Finding) bool {
			isAbout := slices.ContainsFunc(p.Jobs(), func(j *inspect.Job) bool { return slices.Contains(f.Jobs, inspect.RefOf(j)) })
			return !isAbout || len(f.Fixes) == 0
		})
		traces = append(traces, trace)
	}
	return traces
}

// hasFixOf reports whether an answer has a fix of a finding, or refers to it.
func hasFixOf(t *inspect.Trace, f *inspect.Finding) bool {
	return slices.ContainsFunc(t.Fixes, func(has command.Fix) bool {
		isFix := slices.ContainsFunc(f.Fixes, func(of command.Fix) bool { return of.Prose() == has.Prose() })
		return isFix || f.Young && strings.HasPrefix(has.Text, "see finding "+f.Code+";")
	})
}

// TestStuckEviction checks that a Job whose eviction only a person can finish does not count as waiting, and that
// nothing says that it is on a cluster.
func TestStuckEviction(t *testing.T) {
	traces := answersOf(t, testCase{base: "mirror-without-multikueue-label"}.make(t), 5*time.Minute)
	i := slices.IndexFunc(traces, func(trace *inspect.Trace) bool { return trace.Origin != nil && trace.Origin.Name == "a16-ns" })
	assert.Assert(t, i >= 0)
	assert.Equal(t, traces[i].State, inspect.StateBlocked)
	assert.Equal(t, traces[i].Summary, "not running. The Job was evicted, but its Workload still holds quota: status.active counts 2 Pods that are gone.")
}

// TestAnswersHaveFixes checks that the answer about a Job has a fix if an error about the Job has one:
// for at least one Job of each code its own one. A warning counts if it lasts and explains the Job.
func TestAnswersHaveFixes(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range cases() {
		for _, grace := range []time.Duration{0, 5 * time.Minute} {
			if !c.fires {
				continue
			}
			for _, trace := range answersOf(t, c.inventory(t), grace) {
				for i := range trace.Findings {
					f := &trace.Findings[i]
					if f.Severity == inspect.Error {
						shown[f.Code] = shown[f.Code] || hasFixOf(trace, f)
						assert.Check(t, len(trace.Fixes) > 0, "%s %s: %s has a fix, and the answer has none: %s", c.code, c.name, f.Code, trace.Message)
					}
					switch {
					case f.Code == "JM113":
						// A wrong clock explains no state of a Job, so its fix is no answer. It is with the finding.
						assert.Check(t, !hasFixOf(trace, f), "%s %s: %s", c.code, c.name, trace.Message)
					case f.Severity == inspect.Warning && !f.Young && trace.State != inspect.StateWaiting:
						assert.Check(t, len(trace.Fixes) > 0, "%s %s: %s has a fix, and the answer has none: %s", c.code, c.name, f.Code, trace.Message)
					}
				}
			}
		}
	}
	assert.Assert(t, len(shown) > 40, "%d codes", len(shown))
	for _, code := range slices.Sorted(maps.Keys(shown)) {
		assert.Check(t, shown[code], "no answer has the fix of %s", code)
	}
}

// TestNoParallelism checks the fix of a dispatched Job whose parallelism is 0: Kueue follows a change only
// if the Job is elastic.
func TestNoParallelism(t *testing.T) {
	const raise = "`kubectl --context kwok-mgr -n default patch job train --type merge -p '{\"spec\":{\"parallelism\":1}}'`"
	none := `{spec: {parallelism: 0}, status: {active: 0, ready: 0, terminating: 0}}`
	const noSets = `{spec: {podSets: null}}`
	mirrored := []edit{
		patch("kwok-mgr", "Job/train", none), patch("kwok-w1", "Job/train", none), remove("kwok-w1", "Pod/*"),
		patch("kwok-mgr", "Workload/*", noSets), patch("kwok-w1", "Workload/*", noSets),
	}
	elastic := patch("kwok-mgr", "Job/train", `{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}}`)
	for name, tt := range map[string]struct {
		base, want string
		edits      []edit
	}{
		"on a worker":          {"running", "delete the Job: `kubectl --context kwok-mgr -n default delete job train`, and then create the Job again with spec.parallelism of 1 or more", mirrored},
		"elastic, on a worker": {"running", "set spec.parallelism to 1 or more: " + raise, append(slices.Clone(mirrored), elastic)},
	} {
		v := testCase{base: tt.base, edits: tt.edits}.make(t)
		trace := answersOf(t, v, 0)[0]
		assert.Check(t, trace.Remedy == tt.want, "%s: %s %s; %s", name, trace.Message, trace.Remedy, tt.want)
	}
}
