package cmd

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// withoutContext returns a copy of a recording without one of its contexts.
func withoutContext(t *testing.T, name, context string) string {
	t.Helper()
	return copyOf(t, name, func(snapshot string) string {
		head, list, _ := strings.Cut(snapshot, "contexts:\n- ")
		list, tail, isFollowed := strings.Cut(list, "\nkind: ")
		if isFollowed {
			tail = "\nkind: " + tail
		}
		all := strings.Split(list, "\n- ")
		isOther := func(entry string) bool { return !strings.Contains("\n  "+entry, "\n  name: "+context+"\n") }
		kept := slices.DeleteFunc(slices.Clone(all), func(entry string) bool { return !isOther(entry) })
		assert.Equal(t, len(kept), len(all)-1)
		return head + "contexts:\n- " + strings.Join(kept, "\n- ") + tail
	})
}

// TestUnreadWorkers: a worker without a context is no evidence. check reports it as unchecked if wanted Jobs
// or orphans may run there, and no rule concludes from it that no worker runs a Job.
func TestUnreadWorkers(t *testing.T) {
	skipIfShort(t)
	all := []string{"-A"}
	for name, tt := range map[string]struct {
		dir   string
		args  []string
		code  int
		codes string
		// worker is what is unchecked, "" if nothing is.
		worker string
	}{
		"the chosen worker":               {withoutContext(t, "cluster-removed-from-config", "kwok-w2"), all, util.ExitFindings, "JM055", "worker2"},
		"orphans may run there":           {withoutContext(t, "origin-deleted-controller-down", "kwok-w2"), all, util.ExitPartial, "", "worker2"},
		"in a namespace, too":             {withoutContext(t, "origin-deleted-controller-down", "kwok-w2"), []string{"-n", "default"}, util.ExitPartial, "", "worker2"},
		"in a namespace without queues":   {withoutContext(t, "running", "kwok-w2"), []string{"-n", "kube-system"}, util.ExitOK, "", ""},
		"not selected, without Jobs":      {recordings + "/origin-deleted-controller-down", []string{"-A", "--contexts", "kwok-mgr,kwok-w1"}, util.ExitOK, "", ""},
		"not selected, with its Job":      {recordings + "/running", []string{"-A", "--contexts", "kwok-mgr"}, util.ExitPartial, "", "worker1"},
		"another worker runs the Job":     {withoutContext(t, "running", "kwok-w2"), []string{"train", "-n", "default"}, util.ExitOK, "", ""},
		"it may have admitted the Job":    {withoutContext(t, "same-name-on-workers", "kwok-w1"), all, util.ExitPartial, "JM135", "worker1"},
		"it may run a Job without offers": {withoutContext(t, "mirror-mutated-on-worker", "kwok-w1"), all, util.ExitFindings, "JM036 JM135", "worker1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"check", "--grace", "0s", "-o", "json", "--from", tt.dir}, tt.args...)...)
			assert.Equal(t, code, tt.code, out+errOut)
			var list inspect.FindingList
			decode(t, &list, append([]string{"check", "--grace", "0s", "--fail-on", "none", "-o", "json", "--from", tt.dir}, tt.args...)...)
			var codes, unchecked []string
			for _, f := range list.Items {
				codes = append(codes, f.Code)
			}
			for _, u := range list.Unchecked {
				if worker, isWorker := strings.CutPrefix(u.What, inspect.WorkerPrefix); isWorker {
					unchecked = append(unchecked, worker)
				}
			}
			assert.Equal(t, strings.Join(codes, " "), tt.codes)
			assert.Equal(t, strings.Join(unchecked, " "), tt.worker)
		})
	}
}

// TestTracesOfUnreadWorkers: a list of pairs names the workers that were not read, with and without --orphans, and
// shows as unknown what only they know.
func TestTracesOfUnreadWorkers(t *testing.T) {
	skipIfShort(t)
	const fleet = "../../examples/fleet"
	for _, args := range []string{"-A", "-A --orphans", "-n ml"} {
		out, errOut, code := run(t, append(strings.Fields("trace --contexts management,worker-1 --from "+fleet), strings.Fields(args)...)...)
		assert.Equal(t, code, util.ExitPartial, errOut)
		assert.Assert(t, strings.HasSuffix(out, "not checked: worker tokyo on worker-2 (not selected)\n"), out)
	}
	var list inspect.TraceList
	decode(t, &list, "trace", "-n", "ml", "--contexts", "management", "--from", fleet, "-o", "json")
	assert.Equal(t, len(list.Unchecked), 2)
	out, _, _ := run(t, "trace", "-n", "ml", "--contexts", "management", "--from", fleet)
	assert.Assert(t, strings.Contains(out, " train  Running    worker-1  ?              ?         ?        16s\n"), out)
}

// TestReasonsOfUnreadWorkers: a list with reasons reports the workers that were not read and that a reason depends on,
// as a list of pairs does. Without reasons, it depends on none.
func TestReasonsOfUnreadWorkers(t *testing.T) {
	skipIfShort(t)
	const fleet, line = "../../examples/fleet", "not checked: worker tokyo on worker-2 (not selected)\n"
	for args, isPartial := range map[string]bool{
		"--reason": true, "-o wide": true, "--reason -o markdown": true, "--reason -o name": true, "--reason --no-headers": true,
		"": false, "--reason --status Complete": false,
	} {
		out, errOut, code := run(t, append(strings.Fields("ls -A --contexts management,worker-1 --from "+fleet), strings.Fields(args)...)...)
		assert.Equal(t, code == util.ExitPartial, isPartial, "%s: %s%s", args, out, errOut)
		assert.Equal(t, strings.Contains(out+errOut, line), isPartial, "%s: %s%s", args, out, errOut)
	}
	var list inspect.OwnerList
	decode(t, &list, "ls", "-A", "--reason", "--contexts", "management", "--from", fleet, "-o", "json")
	assert.Equal(t, len(list.Unchecked), 2)
	assert.Equal(t, list.Unchecked[0].What, "worker paris")
}

// TestReasonsOfWorkersReadInPart: a list with reasons reports the workers of which a part was not read, and exits with 4, as
// trace does for the same Job.
func TestReasonsOfWorkersReadInPart(t *testing.T) {
	skipIfShort(t)
	withoutCopy := copyWith(t, "cohort-borrowing", "kwok-w1.yaml", func(objects string) string { return strings.ReplaceAll(objects, "job-waits-", "job-other-") })
	for _, tt := range []struct{ dir, job, namespace, what string }{
		{fleetDenying(t, "worker-2", "workloads", "kueue.x-k8s.io"), "finetune", "vision", "Workloads on worker-2"},
		{withoutCopy, "waits", "default", "worker worker1 on kwok-w1"},
	} {
		args := []string{tt.job, "-n", tt.namespace, "--from", tt.dir}
		trace := traced(t, util.ExitPartial, args...)
		var list inspect.OwnerList
		decode(t, &list, append([]string{"ls", "--reason", "-o", "json"}, args...)...)
		assert.DeepEqual(t, list.Unchecked, trace.Unchecked)
		out, errOut, code := run(t, append([]string{"ls", "--reason"}, args...)...)
		assert.Equal(t, code, util.ExitPartial, out+errOut)
		assert.Equal(t, strings.Count(out, "not checked: "+tt.what+" ("), 1, out)
	}
}

// TestOwnSelector: trace, its placements, check and ls say the same about a Job whose mirror every worker rejects, although
// no worker was read: its selector is immutable.
func TestOwnSelector(t *testing.T) {
	skipIfShort(t)
	dir := copyWith(t, "mirror-refused-by-quota", "kwok-mgr.yaml", func(objects string) string {
		return strings.ReplaceAll(objects, "    manualSelector: false\n", "    manualSelector: true\n")
	})
	const reason, fix = "o worker can run it: each rejects the mirror, because spec.manualSelector is set", "create the Job again without spec.manualSelector and spec.selector"
	for _, args := range []string{"trace train -n default", "check -A --grace 0s", "ls -A --reason"} {
		out, errOut, _ := run(t, append(strings.Fields(args), "--contexts", "kwok-mgr", "--from", dir)...)
		assert.Assert(t, strings.Contains(out, reason), "%s: %s%s", args, out, errOut)
		assert.Assert(t, strings.HasPrefix(args, "ls") || strings.Contains(out, fix), "%s: %s", args, out)
	}
	var trace inspect.Trace
	decode(t, &trace, "trace", "train", "-n", "default", "--contexts", "kwok-mgr", "--from", dir, "-o", "json")
	assert.Equal(t, len(trace.Placements), 2)
	for _, p := range trace.Placements {
		assert.Equal(t, len(p.Changes), 1)
		assert.Assert(t, strings.HasSuffix(p.Changes[0].Message, ", then delete Job default/train, and create it again"), p.Changes[0].Message)
	}
}

// TestMirrorElsewhere: trace says that MultiKueue gave a Job to a worker that was not read, although a mirror
// runs on another one.
func TestMirrorElsewhere(t *testing.T) {
	skipIfShort(t)
	out, _, code := run(t, "trace", "train", "-n", "default", "--from", withoutContext(t, "cluster-removed-from-config", "kwok-w2"))
	assert.Equal(t, code, util.ExitPartial)
	for _, want := range []string{
		"It may run twice: MultiKueue gave the Job to worker2, which was not read.\nnot checked: worker worker2 (no known context reaches it)\n",
		"mirror in the wrong place: MultiKueue gave the Job to worker2\n",
	} {
		assert.Assert(t, strings.Contains(out, want), out)
	}
}

// TestOneUnreadWorker: one worker that was not read is one finding, which names all Jobs that may run there.
func TestOneUnreadWorker(t *testing.T) {
	skipIfShort(t)
	dir := withoutContext(t, "many-quota-faults", "kwok-w1")
	var list inspect.FindingList
	decode(t, &list, "check", "-A", "--grace", "0s", "--fail-on", "none", "-o", "json", "--from", dir)
	var messages []string
	for _, f := range list.Items {
		if f.Code == "JM135" {
			messages = append(messages, f.Message)
			assert.Equal(t, len(f.Jobs), 9)
			assert.Equal(t, f.Kind, "Job")
		}
	}
	assert.DeepEqual(t, messages, []string{"Job default/d02: waits for a worker; not all were read: no known context reaches worker1"})
}

// TestDoctorNamesAllClusters: doctor names every worker that it could not check for a reason, and does not say
// that no context reaches a worker whose address is unknown.
func TestDoctorNamesAllClusters(t *testing.T) {
	skipIfShort(t)
	for recording, wants := range map[string][]string{
		"running": {
			"worker credentials on kwok-mgr (MultiKueueClusters worker1, worker2: the kubeconfig has no users",
			"worker rights on kwok-mgr (MultiKueueClusters worker1, worker2: the kubeconfig does not show the user",
		},
		"one-worker-unusable": {
			"(MultiKueueCluster worker1: the kubeconfig has no users, which snapshots do not keep; MultiKueueCluster worker2: the Secret has no valid kubeconfig)",
			"worker worker2 (cannot tell which context reaches it: its kubeconfig on kwok-mgr is invalid)",
		},
	} {
		out, _, _ := run(t, "doctor", "--from", recordings+"/"+recording)
		for _, want := range wants {
			assert.Assert(t, strings.Contains(out, want), out)
		}
	}
}
