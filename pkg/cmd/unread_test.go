package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// fleetCopy copies the example fleet and changes the contexts of its snapshot.
func fleetCopy(t *testing.T, change func(contexts string) string) string {
	t.Helper()
	return copyWith(t, "../../examples/fleet", "snapshot.yaml", change)
}

// fleetDenying returns the example fleet for a user who may not list a resource on a worker.
func fleetDenying(t *testing.T, worker, resource, group string) string {
	t.Helper()
	return fleetCopy(t, func(contexts string) string {
		name := "  name: " + worker + "\n"
		assert.Equal(t, strings.Count(contexts, name), 1)
		message := fmt.Sprintf(`%s.%s is forbidden: User "dev" cannot list resource %q in API group %q at the cluster scope`, resource, group, resource, group)
		return strings.Replace(contexts, name, name+fmt.Sprintf("  unread:\n  - resource: %s.%s\n    status: {code: 403, reason: Forbidden, message: '%s', details: {group: %s, kind: %s}}\n",
			resource, group, message, group, resource), 1)
	})
}

// fleetWithout returns the example fleet without the context of a worker.
func fleetWithout(t *testing.T, worker string) string {
	t.Helper()
	return fleetCopy(t, func(contexts string) string {
		head, rest, _ := strings.Cut(contexts, "\n- ca: ")
		list, tail, _ := strings.Cut(rest, "\nkind: Snapshot")
		text := head
		for _, c := range strings.Split(list, "\n- ca: ") {
			if !strings.Contains(c, "\n  name: "+worker+"\n") {
				text += "\n- ca: " + c
			}
		}
		return text + "\nkind: Snapshot" + tail
	})
}

// fleetWithOther returns the example fleet with another cluster, in context other.
func fleetWithOther(t *testing.T) string {
	t.Helper()
	const uid = "60665d2d-3a53-4b80-9155-430b902e7178"
	dir := fleetCopy(t, func(contexts string) string {
		blocks := strings.Split(contexts, "\n- ca: ")
		renamed := strings.NewReplacer("name: worker-1", "name: other", "worker-1.yaml", "other.yaml", ":32759", ":32799", "2d2cce9c", "00000000",
			"59665d2d-3a53-4b80-9155-430b902e7178", uid, "objects: 47", "objects: 1").Replace(blocks[2])
		return strings.Join(slices.Insert(blocks, 1, renamed), "\n- ca: ")
	})
	objects := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: " + uid + "}}\n"
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "other.yaml"), []byte(objects), 0o600))
	return dir
}

// traced returns the trace that a command prints as JSON.
func traced(t *testing.T, wantCode int, args ...string) inspect.Trace {
	t.Helper()
	out, errOut, code := run(t, append(append([]string{"trace"}, args...), "-o", "json")...)
	assert.Equal(t, code, wantCode, "%v: %s", args, errOut)
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(out), &trace))
	return trace
}

// TestTraceOfFileCannotTell checks that trace -f exits with 4 and says what is missing if it cannot tell
// whether an object would run, and that it recommends no change then, only a context for a worker that has none.
func TestTraceOfFileCannotTell(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "job.yaml")
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	job := write(`{apiVersion: batch/v1, kind: Job, metadata: {name: big, namespace: ml, labels: {kueue.x-k8s.io/queue-name: gpu}},
 spec: {managedBy: kueue.x-k8s.io/multikueue, parallelism: 8, completions: 8, template: {spec: {restartPolicy: Never,
 containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}`)
	jobSet := write(`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: set, namespace: ml,
 labels: {kueue.x-k8s.io/queue-name: gpu}}, spec: {managedBy: kueue.x-k8s.io/multikueue}}`)
	paris := inspect.Unchecked{What: "worker paris", Contexts: []string{"worker-1"}, Reason: inspect.NotSelected}
	tokyo := inspect.Unchecked{What: "worker tokyo", Contexts: []string{"worker-2"}, Reason: inspect.NotSelected}
	for name, tt := range map[string]struct {
		file      string
		args      []string
		message   string
		unchecked []inspect.Unchecked
	}{
		"no worker is selected": {
			job,
			[]string{"--from", exampleFleet, "--contexts", "management"},
			"Cannot tell whether it would run. worker-1, worker-2: not selected.",
			[]inspect.Unchecked{paris, tokyo},
		},
		"a worker is not selected": {
			job,
			[]string{"--from", exampleFleet, "--contexts", "management,worker-1"},
			"Cannot tell whether it would run. worker-2: not selected; worker-1: needs 8 nvidia.com/gpu, limit 4.",
			[]inspect.Unchecked{tokyo},
		},
		"a worker has no context": {
			job,
			[]string{"--from", fleetWithout(t, "worker-2")},
			"Cannot tell whether it would run. tokyo: no known context reaches it; worker-1: needs 8 nvidia.com/gpu, limit 4.",
			[]inspect.Unchecked{{What: "worker tokyo", Contexts: []string{}, Reason: "no known context reaches it"}},
		},
		"the requests are unknown": {
			jobSet,
			[]string{"--from", fleetCopy(t, func(contexts string) string {
				return strings.ReplaceAll(contexts, "  - batch/v1\n", "  - batch/v1\n  - jobset.x-k8s.io/v1alpha2\n")
			})},
			"Cannot tell whether it would run. management: the requests of its Pods are unknown.",
			[]inspect.Unchecked{{What: "verdict", Contexts: []string{"management"}, Reason: "the requests of its Pods are unknown"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			trace := traced(t, util.ExitPartial, append([]string{"-f", tt.file}, tt.args...)...)
			assert.Equal(t, trace.Message, tt.message)
			assert.DeepEqual(t, trace.Unchecked, tt.unchecked)
			want := []command.Fix{}
			if name == "a worker has no context" {
				want = append(want, command.Fix{Text: "add a context for tokyo to the kubeconfig", Command: []string{}})
			}
			assert.DeepEqual(t, trace.Fixes, want)
		})
	}
}

// TestFixesForUnreadWorkers checks that trace and check give the same advice for a Job that fits on no
// worker that was read, if another was not read: to read it. The Job may fit there as it is.
func TestFixesForUnreadWorkers(t *testing.T) {
	const all = "select the workers, too: --contexts management,worker-1,worker-2"
	const rights = ". Roles to ask for: https://github.com/jobmanagedby/kubectl-jobmanagedby/blob/main/docs/rbac.md"
	for name, tt := range map[string]struct {
		args         []string
		reason, want string
	}{
		"a worker is not selected":  {[]string{"--from", exampleFleet, "--contexts", "management,worker-1"}, "worker-2 is not selected", all},
		"nor the other one":         {[]string{"--from", exampleFleet, "--contexts", "management,worker-2"}, "worker-1 is not selected", all},
		"another cluster stays":     {[]string{"--from", fleetWithOther(t), "--contexts", "management,other,worker-1"}, "worker-2 is not selected", all + ",other"},
		"no context":                {[]string{"--from", fleetWithout(t, "worker-2")}, "no known context reaches tokyo", "add a context for tokyo to the kubeconfig"},
		"its Jobs may not be read":  {[]string{"--from", fleetDenying(t, "worker-2", "jobs", "batch")}, "you may not read Jobs on worker-2", "get the right to read Jobs on worker-2" + rights},
		"nor those of the smallest": {[]string{"--from", fleetDenying(t, "worker-1", "jobs", "batch")}, "you may not read Jobs on worker-1", "get the right to read Jobs on worker-1" + rights},
	} {
		t.Run(name, func(t *testing.T) {
			trace := traced(t, util.ExitPartial, append([]string{"sweep", "-n", "ml"}, tt.args...)...)
			assert.Equal(t, trace.State, inspect.StateWaiting)
			assert.Equal(t, len(trace.Fixes), 1, trace.Remedy)
			assert.Equal(t, trace.Fixes[0].Text, tt.want)

			out, errOut, code := run(t, append([]string{"check", "sweep", "-n", "ml", "--grace", "0s", "-o", "json"}, tt.args...)...)
			assert.Equal(t, code, util.ExitPartial, errOut)
			var list inspect.FindingList
			assert.NilError(t, json.Unmarshal([]byte(out), &list))
			assert.Equal(t, len(list.Items), 1)
			assert.Equal(t, list.Items[0].Code, "JM135")
			assert.Assert(t, strings.HasSuffix(list.Items[0].Message, "not all were read: "+tt.reason), list.Items[0].Message)
			assert.DeepEqual(t, list.Items[0].Fixes, trace.Fixes)
		})
	}
}

// TestUnreadWorkersOfEachJob checks that a Job that waits for quota on a worker that was read has no finding in common with a
// Job that exceeds the limit there: to wait does not help that one. Each has the fixes of its trace.
func TestUnreadWorkersOfEachJob(t *testing.T) {
	const others, reading = "^kwok-w1", "select the workers, too: --contexts kwok-mgr,kwok-w1,kwok-w2"
	dir := recordings + "/cohort-borrowing"
	var list inspect.FindingList
	decode(t, &list, "check", "-A", "--grace", "0s", "--fail-on", "none", "-o", "json", "--from", dir, "--contexts", others)
	assert.Equal(t, len(list.Items), 2)
	for i, want := range []struct {
		name, message string
		fixes         []string
	}{
		{"never", "waits for a worker; kwok-w2: needs 5 cpu, limit 4 (flavor default-flavor); not all were read: kwok-w1 is not selected", []string{reading}},
		{"waits", "waits for a worker; kwok-w2: needs 3 more cpu (flavor default-flavor); not all were read: kwok-w1 is not selected", []string{"wait for default/second on kwok-w2 to finish", reading}},
	} {
		f := list.Items[i]
		assert.Equal(t, f.Message, "Job default/"+want.name+": "+want.message)
		assert.Equal(t, len(f.Jobs), 1)
		trace := traced(t, util.ExitPartial, want.name, "--from", dir, "--contexts", others)
		assert.DeepEqual(t, f.Fixes, trace.Fixes)
		for _, text := range want.fixes {
			assert.Assert(t, slices.ContainsFunc(f.Fixes, func(fix command.Fix) bool { return fix.Text == text }), f.Remedy)
		}
		assert.Equal(t, f.Fixes[0].Text, want.fixes[0])
	}
}

// TestHolderUnread checks that the right to see who holds the lacking quota comes before a change of that
// quota: an orphan may hold it.
func TestHolderUnread(t *testing.T) {
	dir := fleetDenying(t, "worker-2", "workloads", "kueue.x-k8s.io")
	trace := traced(t, util.ExitPartial, "finetune", "-n", "vision", "--from", dir)
	assert.DeepEqual(t, trace.Unchecked, []inspect.Unchecked{{
		What: "Workloads", Contexts: []string{"worker-2"},
		Reason: "workloads of all namespaces could not be read: dev may not list workloads.kueue.x-k8s.io in all namespaces",
	}})
	out, _, code := run(t, "check", "finetune", "-n", "vision", "--grace", "0s", "-o", "json", "--from", dir)
	assert.Equal(t, code, util.ExitPartial)
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	assert.DeepEqual(t, list.Items[0].Fixes[0], trace.Fixes[0])
	assert.Assert(t, strings.HasPrefix(trace.Fixes[0].Text, "get the right to read Workloads on worker-2. "), trace.Fixes[0].Text)
	assert.Equal(t, trace.Fixes[1].Text, "wait for the Jobs that hold the quota on worker-2 to finish")
}

// TestOrphanIfOtherWorkerUnread checks that a holder is an orphan although the Workloads of another worker
// may not be read: only those on managers show that.
func TestOrphanIfOtherWorkerUnread(t *testing.T) {
	dir := fleetDenying(t, "worker-1", "workloads", "kueue.x-k8s.io")
	trace := traced(t, util.ExitOK, "finetune", "-n", "vision", "--from", dir)
	assert.Equal(t, trace.Message, "Needs 6 nvidia.com/gpu; 2 free on worker-2. Orphan ml/train-old holds 4.")
}
