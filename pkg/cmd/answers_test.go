package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestAnswersOfRecordings: the state, the reason and the first fix of every Job of every
// recording, as trace shows them.
func TestAnswersOfRecordings(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		if strings.HasPrefix(name, "burst-") {
			return
		}
		text.WriteString(name + "\n")
		known := jobNames(t, dir)
		for _, j := range jobsOf(t, dir) {
			out, errOut, code := run(t, "trace", j, "--from", dir, "-o", "json")
			assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
			for _, trace := range tracesIn(t, out) {
				fmt.Fprintf(&text, "  %s: %s, %s: %s\n", j, trace.State, trace.Reason, trace.Message)
				for _, u := range trace.Unchecked {
					fmt.Fprintf(&text, "    not checked: %s on %v: %s\n", u.What, u.Contexts, u.Reason)
				}
				if len(trace.Fixes) > 0 {
					fmt.Fprintf(&text, "    fix: %s %s\n", trace.Fixes[0].Text, trace.Fixes[0].Shell())
				}
				assert.Check(t, foreignName(&trace, known) == "", "%s: a fix names %s", j, foreignName(&trace, known))
				assert.Equal(t, code == util.ExitPartial, len(trace.Unchecked) > 0, "the exit code is 4 only if the answer depends on unread contexts")
				if trace.State == inspect.StateWaiting {
					for _, f := range trace.Fixes[:min(1, len(trace.Fixes))] {
						assert.Assert(t, !strings.Contains(f.Shell(), " delete job "), "deleting a waiting Job must not be the first fix")
					}
				}
			}
		}
	})
	golden.Assert(t, text.String(), "answers.txt")
}

// maxTracedJobs is the number of Jobs of a recording that are traced. The others wait for the
// same.
const maxTracedJobs = 6

// namedJobs returns Jobs of large recordings that are traced in addition.
func namedJobs() []string {
	return []string{"d05b", "d15-a", "a03-label", "a20-met", "a18-wlm", "a02-par", "a21-edit", "d19", "d17", "p1-201", "p1-208", "d15-b", "a10-fg"}
}

// jobNames returns the names of all Jobs of a recording.
func jobNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out, errOut, code := run(t, "ls", "-A", "--all-contexts", "--from", dir, "-o", "json")
	assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	names := map[string]bool{}
	for _, j := range list.All() {
		names[j.Name] = true
	}
	return names
}

// foreignName returns a Job, or a Pod of a Job, that a command of a trace's fixes or findings names although
// it is neither the traced Job nor one that the Job waits for, otherwise "".
func foreignName(trace *inspect.Trace, known map[string]bool) string {
	foreign := maps.Clone(known)
	for i := range trace.Mirrors {
		delete(foreign, trace.Mirrors[i].Name)
	}
	if trace.Origin != nil {
		delete(foreign, trace.Origin.Name)
	}
	for i := range trace.Placements {
		for _, h := range trace.Placements[i].Holders {
			delete(foreign, h.Name)
		}
	}
	fixes := slices.Clone(trace.Fixes)
	for i := range trace.Findings {
		if len(trace.Findings[i].Jobs) > 0 {
			fixes = append(fixes, trace.Findings[i].Fixes...)
		}
	}
	for _, f := range fixes {
		words := slices.Clone(f.Command)
		for _, step := range f.Then {
			words = append(words, step.Command...)
		}
		for _, word := range words {
			const suffix = len("-abcde")
			_, name, isTyped := strings.Cut(word, "/")
			if !isTyped {
				name = word
			}
			if foreign[name] || len(name) > suffix && foreign[name[:len(name)-suffix]] {
				return word
			}
		}
	}
	return ""
}

// jobsOf returns the names of Jobs in the default namespace of a recording, each once.
func jobsOf(t *testing.T, dir string) []string {
	t.Helper()
	out, errOut, code := run(t, "ls", "--all-contexts", "--from", dir, "-o", "json")
	assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	var names []string
	known := map[string]bool{}
	for _, j := range list.All() {
		if !known[j.Name] && (len(known) < maxTracedJobs || slices.Contains(namedJobs(), j.Name)) {
			known[j.Name] = true
			names = append(names, j.Name)
		}
	}
	return names
}

// tracesIn returns the traces of a document, which is one trace or a list.
func tracesIn(t *testing.T, document string) []inspect.Trace {
	t.Helper()
	var list inspect.TraceList
	assert.NilError(t, json.Unmarshal([]byte(document), &list))
	if list.Kind == "TraceList" {
		return list.Items
	}
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(document), &trace))
	return []inspect.Trace{trace}
}

// TestAnswersWithFewerContexts: with access to the management cluster only, trace shows what is known and
// what is not; with access to workers only, a mirror is no orphan.
func TestAnswersWithFewerContexts(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want inspect.Trace
		code int
	}{
		{
			"management alone",
			[]string{"sweep", "--contexts", "management"},
			inspect.Trace{State: inspect.StateWaiting, Reason: inspect.ReasonUnread},
			util.ExitPartial,
		},
		{
			"a worker alone",
			[]string{"train", "--contexts", "worker-1"},
			inspect.Trace{State: inspect.StateRunning, Reason: inspect.ReasonUnread},
			util.ExitPartial,
		},
		{
			"an orphan, by the worker alone",
			[]string{"train-old", "--contexts", "worker-2"},
			inspect.Trace{State: inspect.StateRunning, Reason: inspect.ReasonUnread},
			util.ExitPartial,
		},
		{
			"all",
			[]string{"train-old"},
			inspect.Trace{State: inspect.StateOrphan, Reason: inspect.ReasonOriginMissing},
			util.ExitOK,
		},
		{
			"an unrelated context is missing",
			[]string{"train", "--contexts", "management,worker-1"},
			inspect.Trace{State: inspect.StateRunning},
			util.ExitOK,
		},
		{
			"ignored by Kueue, whatever the workers have",
			[]string{"eval", "--contexts", "management"},
			inspect.Trace{State: inspect.StateBlocked, Reason: inspect.ReasonNoQueueLabel},
			util.ExitOK,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"trace", "-n", "ml", "--from", exampleFleet, "-o", "json"}, tt.args...)...)
			assert.Equal(t, code, tt.code, out+errOut)
			trace := tracesIn(t, out)[0]
			assert.Equal(t, trace.State, tt.want.State, trace.Message)
			assert.Equal(t, trace.Reason, tt.want.Reason, trace.Message)
			assert.Equal(t, len(trace.Unchecked) > 0, tt.code == util.ExitPartial)
		})
	}
}

// TestUncheckedIsNeverHealthy: check does not report as healthy what it has not checked.
func TestUncheckedIsNeverHealthy(t *testing.T) {
	out, _, code := run(t, "check", "-n", "ml", "--contexts", "management", "--from", exampleFleet, "--grace", "0s", "--suppress", "JM013")
	assert.Equal(t, code, util.ExitPartial, out)
	for _, want := range []string{"not checked: worker paris", "JM135  ml/sweep", "waits for a worker; cannot see why"} {
		assert.Assert(t, strings.Contains(out, want), out)
	}
	out, _, _ = run(t, "check", "-A", "--from", exampleFleet)
	assert.Assert(t, strings.Contains(out, "No findings older than 5m in 9 delegated Jobs on 3 clusters; 5 younger errors and warnings not shown (--grace 0s)"), out)
	out, _, _ = run(t, "check", "-n", "ml", "--contexts", "management", "--from", exampleFleet, "-o", "json")
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	assert.Assert(t, len(list.Unchecked) == 2 && list.Summary.Clusters == 1 && list.Summary.Young > 0, out)
}

// TestCheckAndTraceGiveSameFixes: check and trace give the same reason and fixes for a Job that waits for quota,
// and an orphan that holds the quota comes first.
func TestCheckAndTraceGiveSameFixes(t *testing.T) {
	out, _, _ := run(t, "check", "-A", "--from", exampleFleet, "--grace", "0s", "-o", "json")
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	seen := 0
	for _, f := range list.Items {
		if f.Code != "JM029" {
			continue
		}
		seen++
		out, _, _ := run(t, "trace", f.Jobs[0].Name, "-n", f.Jobs[0].Namespace, "--from", exampleFleet, "-o", "json")
		trace := tracesIn(t, out)[0]
		assert.Equal(t, f.Remedy, trace.Remedy, f.Message)
		assert.DeepEqual(t, f.Fixes, trace.Fixes)
		assert.Assert(t, !strings.Contains(f.Remedy, "delete job "+f.Jobs[0].Name), f.Remedy)
		if f.Jobs[0].Name == "finetune" {
			assert.Assert(t, strings.Contains(f.Fixes[0].Text, "orphan ml/train-old on worker-2 if it still exists (holds 4 nvidia.com/gpu)"), f.Fixes[0].Text)
			assert.Assert(t, strings.HasSuffix(f.Fixes[0].Shell(), "delete job train-old"), f.Fixes[0].Shell())
		}
	}
	assert.Equal(t, seen, 3)
	for _, f := range list.Items {
		if f.Code == "JM053" {
			assert.Assert(t, strings.Contains(f.Message, "holds 4 nvidia.com/gpu that vision/finetune waits for"), f.Message)
		}
	}
}

// TestCheckAndTraceGiveSameTopologyFixes: check and trace give the same fixes for Jobs that no flavor can take.
// Both need the flavors for it, which check reads after its rules have judged.
func TestCheckAndTraceGiveSameTopologyFixes(t *testing.T) {
	const snapshot = recordings + "/many-quota-faults"
	out, _, _ := run(t, "check", "-A", "--from", snapshot, "--grace", "0s", "-o", "json")
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	seen := 0
	for _, f := range list.Items {
		if f.Code != "JM019" || !strings.Contains(f.Message, "topology") {
			continue
		}
		seen++
		out, _, _ := run(t, "trace", f.Jobs[0].Name, "-n", f.Jobs[0].Namespace, "--from", snapshot, "-o", "json")
		forAll := strings.Replace(tracesIn(t, out)[0].Remedy, "delete Job default/d11-big, and create it again", "delete default/d11-big, default/d11-fits, default/d11-pref and 1 more, and create them again", 1)
		assert.Equal(t, f.Remedy, forAll, f.Message)
		assert.Assert(t, strings.Contains(f.Remedy, "give ResourceFlavor default-flavor on kwok-mgr a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of kwok-mgr, and LABEL and VALUE with"), f.Remedy)
	}
	assert.Equal(t, seen, 1)
}

// TestCheckAndTraceCopyFlavor: check and trace create a ResourceFlavor that workers lack like that of
// the manager, with its node labels. Without them, its quota would be for any node.
func TestCheckAndTraceCopyFlavor(t *testing.T) {
	snapshot := copyWith(t, "many-quota-faults", "kwok-mgr.yaml", func(text string) string {
		_, after, ok := strings.Cut(text, "    name: f-mk\n")
		assert.Assert(t, ok)
		changed := strings.Replace(after, "  spec: {}\n", "  spec: {nodeLabels: {gpu: a100}, topologyName: racks}\n", 1)
		return strings.Replace(text, "    name: f-mk\n"+after, "    name: no-such-flavor\n"+changed, 1)
	})
	const want = "create ResourceFlavor no-such-flavor on kwok-w1, like that on kwok-mgr"
	out, _, _ := run(t, "check", "-A", "--from", snapshot, "--grace", "0s", "-o", "json")
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	i := slices.IndexFunc(list.Items, func(f inspect.Finding) bool { return f.Code == "JM027" && f.Name == "d02" })
	assert.Assert(t, i >= 0)
	job := list.Items[i].Jobs[0]
	out, _, _ = run(t, "trace", job.Name, "-n", job.Namespace, "--from", snapshot, "-o", "json")
	assert.DeepEqual(t, list.Items[i].Fixes, tracesIn(t, out)[0].Fixes)
	for _, fixes := range [][]command.Fix{list.Items[i].Fixes, tracesIn(t, out)[0].Fixes} {
		assert.Equal(t, fixes[0].Text, want)
		var others []string
		for _, f := range fixes[1:] {
			others = append(others, f.Text)
		}
		assert.DeepEqual(t, others, []string{
			"create ResourceFlavor no-such-flavor on kwok-w2, like that on kwok-mgr", "correct the flavor's name in ClusterQueue d02 on kwok-w1", "correct the flavor's name in ClusterQueue d02 on kwok-w2",
		})
		assert.Assert(t, strings.Contains(fixes[0].Shell(), `"spec":{"nodeLabels":{"gpu":"a100"},"topologyName":"racks"}`), fixes[0].Shell())
	}
}

// TestAnswerInThreeLines: at 80 columns, a first-time reader finds state, reason and fix in the
// first three lines.
func TestAnswerInThreeLines(t *testing.T) {
	skipIfShort(t)
	out, _, _ := run(t, "trace", "sweep", "-n", "ml", "--from", exampleFleet)
	lines := strings.Split(out, "\n")
	assert.Assert(t, strings.HasPrefix(lines[0], "Job ml/sweep: not running ("), lines[0])
	assert.Equal(t, lines[1], "Needs 8 nvidia.com/gpu; the largest limit is 6 (worker-2, flavor a100).")
	assert.Assert(t, strings.HasPrefix(lines[2], "Fix: run 6 Pods at once, not 8, to fit on "), lines[2])
	for _, job := range []string{"ml/sweep", "ml/eval", "ml/train-old", "etl/index", "vision/align", "vision/finetune", "vision/score"} {
		namespace, name, _ := strings.Cut(job, "/")
		out, _, _ := run(t, "trace", name, "-n", namespace, "--from", exampleFleet)
		lines := strings.Split(out, "\n")
		for _, line := range lines[:2] {
			assert.Assert(t, len(line) <= 80, "%s wraps: %s", job, line)
		}
		assert.Assert(t, strings.HasPrefix(lines[2], "Fix: "), "%s: %s", job, lines[2])
	}
}

// TestReasonIsShownOnce: the reason is at the top of trace, and its finding does not repeat it.
func TestReasonIsShownOnce(t *testing.T) {
	for _, job := range []string{"ml/sweep", "vision/align", "vision/finetune", "ml/eval", "etl/index"} {
		namespace, name, _ := strings.Cut(job, "/")
		out, errOut, _ := run(t, "trace", name, "-n", namespace, "--from", exampleFleet)
		reason := strings.TrimSuffix(strings.Split(out, "\n")[1], ".")
		assert.Equal(t, strings.Count(strings.ToLower(out), strings.ToLower(reason)), 1, out, errOut)
		assert.Assert(t, strings.Contains(out, "the reason above ("), out)
	}
}
