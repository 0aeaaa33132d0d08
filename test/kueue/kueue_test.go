package kueue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// submit creates Jobs of one Pod each, in the queue of a namespace.
func submit(t *testing.T, ns, cpu, lasts string, names ...string) {
	t.Helper()
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, `---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: batch}}
spec:
  suspend: true
  template:
    metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: %s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1, resources: {requests: {cpu: %q}}}]}
`, name, ns, lasts, cpu)
	}
	_, err := kubectl(t.Context(), text.String(), "--context", management, "create", "--validate=false", "-f", "-")
	assert.NilError(t, err)
	t.Cleanup(func() {
		_, err := kubectl(context.Background(), "", "--context", management, "-n", ns, "delete", "jobs", "--all")
		assert.NilError(t, err)
	})
}

// patch changes an object on the manager, with a merge patch.
func patch(t *testing.T, what, change string) {
	t.Helper()
	args := append(strings.Fields(what), "--type=merge", "-p", change)
	_, err := kubectl(t.Context(), "", append([]string{"--context", management, "patch"}, args...)...)
	assert.NilError(t, err)
}

// read runs a command of the plugin that prints a document. It repeats the command if the answer is
// incomplete because a server was too loaded to answer in time.
func read[T any](t *testing.T, args ...string) T {
	t.Helper()
	var out string
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		var err error
		out, err = kubectl(t.Context(), "", append([]string{"jobs-managedby"}, append(args, "--all-contexts", "-o", "json")...)...)
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			switch exit.ExitCode() {
			case util.ExitFindings:
				err = nil
			case util.ExitPartial:
				t.Log(err)
				return false, nil
			}
		}
		return err == nil, err
	})
	assert.NilError(t, err)
	var document T
	assert.NilError(t, json.Unmarshal([]byte(out), &document))
	return document
}

// statuses counts the statuses of the origins of a namespace.
func statuses(t *testing.T, ns string) map[delegation.Status]int {
	t.Helper()
	counts := map[delegation.Status]int{}
	for _, group := range read[inspect.OwnerList](t, "ls", "-n", ns, "--managed-by", string(delegation.MultiKueue)).Items {
		for status, n := range group.Counts {
			counts[status] += n
		}
	}
	return counts
}

// found returns the findings of check in a namespace, one line each.
func found(t *testing.T, ns string, grace time.Duration) string {
	t.Helper()
	var all []string
	for _, finding := range read[inspect.FindingList](t, "check", "-n", ns, "--grace", grace.String()).Items {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", finding.Code, finding.Severity, finding.Name)))
	}
	return strings.Join(all, "\n")
}

// eventually waits until a condition holds, and otherwise reports the last state.
func eventually(t *testing.T, want string, is func() string) {
	t.Helper()
	got := ""
	err := poll.Until(t.Context(), 10*time.Minute, func(context.Context) (bool, error) {
		got = is()
		return got == want, nil
	})
	assert.NilError(t, err, "got %q, want %q", got, want)
}

func running(t *testing.T, ns string, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(map[delegation.Status]int{delegation.Running: n}), func() string { return fmt.Sprint(statuses(t, ns)) })
}

// TestBurst checks that while MultiKueue processes many Jobs at once, check finds nothing wrong.
func TestBurst(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("job-%d", i))
	}
	const grace = 30 * time.Second
	submit(t, "burst", "1", "2s", names...)
	eventually(t, fmt.Sprint(map[delegation.Status]int{delegation.Complete: len(names)}), func() string {
		for _, finding := range read[inspect.FindingList](t, "check", "-n", "burst", "--grace", grace.String()).Items {
			// On a slow machine, MultiKueue is behind by more than the grace period, and check
			// reports it.
			if finding.Code == "JM114" && finding.Since != nil && time.Since(finding.Since.Time) > grace {
				continue
			}
			assert.Equal(t, finding.Severity, inspect.Info, "%s %s: %s\n%s", finding.Code, finding.Name, finding.Message, strings.Join(finding.Evidence, "\n"))
		}
		return fmt.Sprint(statuses(t, "burst"))
	})
	traced := read[inspect.Trace](t, "trace", "job-7", "-n", "burst")
	assert.Assert(t, slices.ContainsFunc(traced.Hops, func(h inspect.Hop) bool { return h.Kind == "Workload" && h.State == "Finished" }), "%+v", traced.Hops)
}

// TestTooLarge checks that a Job that does not fit any worker is reported as such.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	submit(t, "too-large", "9", "1h", "too-large-for-workers")
	eventually(t, "JM029 error too-large-for-workers", func() string { return found(t, "too-large", 0) })
}

// TestMirrorGone checks the case that a user deletes a mirror, and check reports it. Kueue before
// 0.19 says for a while that the Job runs; a newer one runs it again at once.
func TestMirrorGone(t *testing.T) {
	t.Parallel()
	submit(t, "gone", "1", "1h", "deleted")
	running(t, "gone", 1)
	for _, cluster := range []string{worker1, worker2} {
		_, err := kubectl(t.Context(), "", "--context", cluster, "-n", "gone", "delete", "job", "deleted", "--ignore-not-found")
		assert.NilError(t, err)
	}
	submit(t, "gone", "1", "1h", "served")
	// Kueue queues the Job again, waits for its mirror, or ends the Workload, depending on which of its controllers on
	// the worker comes first.
	runsAgain := false
	eventually(t, "the mirror is gone", func() string {
		switch all := found(t, "gone", 5*time.Second); all {
		case "JM105 error deleted":
			return "the mirror is gone"
		case "JM048 info deleted":
			runsAgain = true
			return "the mirror is gone"
		case "JM038 error deleted":
			reasons, err := kubectl(t.Context(), "", "--context", management, "-n", "gone", "get", "workloads.kueue.x-k8s.io",
				"-o", `jsonpath={.items[*].status.conditions[?(@.type=="Finished")].reason}`)
			assert.NilError(t, err)
			assert.Equal(t, strings.TrimSpace(reasons), "OwnerNotFound")
			return "the mirror is gone"
		default:
			return all
		}
	})
	if runsAgain {
		running(t, "gone", 2)
	}
}

// TestWorkerLost checks that a worker that the manager cannot reach is reported, with the Jobs
// that run there, and not any more once it is back.
func TestWorkerLost(t *testing.T) {
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue 0.12 says that it is connected by a kubeconfig that is none")
	}
	submit(t, "lost", "8", "1h", "one", "two")
	running(t, "lost", 2)
	secret, err := kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker1, "-o", "jsonpath={.data}")
	assert.NilError(t, err)
	patch(t, "secret "+worker1+" -n kueue-system", `{"data":{"kubeconfig":"bm9uZQ=="}}`)
	const early = "lost-early"
	offerEarly(t, early)
	eventually(t, "JM002 error "+worker1, func() string {
		first, _, _ := strings.Cut(found(t, "lost", 5*time.Second), "\n")
		return first
	})
	restore := func() {
		patch(t, "secret "+worker1+" -n kueue-system", `{"data":`+secret+`}`)
		eventually(t, "", func() string { return found(t, "lost", 0) })
		running(t, "lost", 2)
	}
	restore()
	checkOffer(t, early)

	// A kubeconfig that points to an address where nothing listens, though we reach the worker.
	text, err := kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker1, "-o", "go-template={{.data.kubeconfig | base64decode}}")
	assert.NilError(t, err)
	astray := base64.StdEncoding.EncodeToString(regexp.MustCompile(`server: .*`).ReplaceAll([]byte(text), []byte("server: https://127.0.0.1:1")))
	patch(t, "secret "+worker1+" -n kueue-system", `{"data":{"kubeconfig":"`+astray+`"}}`)
	eventually(t, "JM004 error "+worker1, func() string {
		first, _, _ := strings.Cut(found(t, "lost", 5*time.Second), "\n")
		return first
	})
	restore()
}

// addUnequalQueues adds queues of a namespace, with quota on worker 1 alone.
func addUnequalQueues(t *testing.T, ns string) {
	t.Helper()
	assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: ns, LocalQueue: queue, Namespaces: []string{ns},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{management: "40", worker1: "8", worker2: "0"},
	}))
	t.Cleanup(func() { remove(t, ns) })
}

// offerEarly creates a Job while worker 1 is not connected, and waits until Kueue has offered it to
// the other worker.
func offerEarly(t *testing.T, ns string) {
	t.Helper()
	addUnequalQueues(t, ns)
	kubectlOn(t, management, "wait", "--timeout=5m", "multikueueclusters.kueue.x-k8s.io", worker1, "--for=condition=Active=false")
	create(t, management, job(ns, "one", "1", "", queue))
	eventually(t, worker2, func() string {
		out, err := kubectl(t.Context(), "", "--context", management, "-n", ns, "get", "workloads.kueue.x-k8s.io", "-o", "jsonpath={.items[*].status.nominatedClusterNames[*]}")
		assert.NilError(t, err)
		return out
	})
}

// checkOffer checks the case that now that worker 1 is connected, Kueue does not offer it the
// Job, unless the Workload happens to change. The fix changes it.
func checkOffer(t *testing.T, ns string) {
	t.Helper()
	isFixed := false
	eventually(t, "", func() string {
		for _, f := range read[inspect.FindingList](t, "check", "-n", ns, "--grace", "0s").Items {
			if f.Code == "JM032" && !isFixed {
				t.Logf("%s\n  %s\n  %s", f.Message, strings.Join(f.Evidence, "\n  "), f.Remedy)
				assert.Assert(t, strings.HasSuffix(f.Message, "wait for "+worker2+"; not offered to "+worker1+" so far"), f.Message)
				runSteps(t, &f.Fixes[0])
				isFixed = true
			}
		}
		return runs(t, ns, "one")
	})
}

// TestKueueStopped checks that while Kueue does not run on the manager, Jobs that have ended on
// workers are reported, and all is well once it runs again.
func TestKueueStopped(t *testing.T) {
	const again = "away-again"
	addUnequalQueues(t, again)
	create(t, management, job(again, "low", "8", "", queue))
	running(t, again, 1)
	submit(t, "kueue-stopped", "1", "10s", "ends")
	running(t, "kueue-stopped", 1)
	assert.NilError(t, multiKueue.StopProgram(t.Context(), management))
	restartOnWorker(t, again)
	eventually(t, "JM110 error ends", func() string { return found(t, "kueue-stopped", 5*time.Second) })
	assert.NilError(t, multiKueue.StartProgram(t.Context(), management))
	eventually(t, fmt.Sprint(map[delegation.Status]int{delegation.Complete: 1}), func() string { return fmt.Sprint(statuses(t, "kueue-stopped")) })
	eventually(t, "", func() string { return found(t, "kueue-stopped", 0) })
	checkStatusFix(t, again)
}

// restartOnWorker has worker 1 preempt the Job low, and start it again, while Kueue does not run on the
// manager.
func restartOnWorker(t *testing.T, ns string) {
	t.Helper()
	addUrgent(t, ns, worker1)
	create(t, worker1, fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: urgent, namespace: %s, labels: {kueue.x-k8s.io/queue-name: %s, kueue.x-k8s.io/priority-class: urgent}}
spec:
  suspend: true
  template:
    metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 2s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1, resources: {requests: {cpu: "8"}}}]}
`, ns, queue))
	kubectlOn(t, worker1, "-n", ns, "wait", "jobs/urgent", "--for=condition=Complete", "--timeout=5m")
	kubectlOn(t, worker1, "-n", ns, "wait", "jobs/low", "--for=jsonpath={.status.ready}=1", "--timeout=5m")
}

// addUrgent adds a priority class, and lets Jobs of it preempt others of a namespace.
func addUrgent(t *testing.T, ns string, clusters ...string) {
	t.Helper()
	class := fmt.Sprintf("apiVersion: kueue.x-k8s.io/%s\nkind: WorkloadPriorityClass\nmetadata: {name: urgent}\nvalue: 1000\n", multiKueue.API)
	for _, cluster := range clusters {
		assert.NilError(t, multiKueue.Apply(t.Context(), cluster, class))
		kubectlOn(t, cluster, "patch", "clusterqueues.kueue.x-k8s.io", ns, "--type=merge", "-p", `{"spec":{"preemption":{"withinClusterQueue":"LowerPriority"}}}`)
	}
}

// checkStatusFix checks the case that the API server refuses the new start time of a mirror, and with
// it every status. The fix lets Kueue copy it.
func checkStatusFix(t *testing.T, ns string) {
	t.Helper()
	f := awaitFinding(t, ns, "JM138")
	t.Logf("%s\n  %s\n  %s", f.Message, strings.Join(f.Evidence, "\n  "), f.Remedy)
	finish(t, ns, []string{worker1}, []string{"low"})
	kubectlOn(t, worker1, "-n", ns, "wait", "jobs/low", "--for=condition=Complete", "--timeout=5m")
	eventually(t, "JM138 error low", func() string { return found(t, ns, 0) })
	runSteps(t, &f.Fixes[0])
	kubectlOn(t, management, "-n", ns, "wait", "jobs/low", "--for=condition=Complete", "--timeout=5m")
	eventually(t, "", func() string { return found(t, ns, 0) })
}

// TestDeactivated checks that a deactivated Workload is reported as such.
func TestDeactivated(t *testing.T) {
	t.Parallel()
	submit(t, "idle", "1", "1h", "deactivated")
	running(t, "idle", 1)
	name, err := kubectl(t.Context(), "", "--context", management, "-n", "idle", "get", "workloads.kueue.x-k8s.io", "-o", "name")
	assert.NilError(t, err)
	patch(t, strings.TrimSpace(name)+" -n idle", `{"spec":{"active":false}}`)
	eventually(t, "JM124 info deactivated", func() string {
		return strings.TrimPrefix(found(t, "idle", 5*time.Second), "JM046 error deactivated\n") // Kueue 0.12 keeps its quota.
	})
}
