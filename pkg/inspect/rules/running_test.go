package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// Recordings that the cases here are made of.
const (
	recordedRunning = "running"
	recordedClash   = "same-name-on-workers"
	recordedRefused = "mirror-refused-by-quota"
	recordedMutated = "mirror-mutated-on-worker"
	recordedRemoved = "cluster-removed-from-config"
)

// conditions patch the conditions of an object: "Admitted=True Reason message".
func conditions(context, object string, all ...string) edit {
	var list []string
	for _, c := range all {
		parts := append(strings.SplitN(c, " ", 3), "", "")
		state := strings.Split(parts[0], "=")
		list = append(list, fmt.Sprintf(`{type: %s, status: %q, reason: %q, message: %q, lastTransitionTime: "2026-11-20T23:25:00Z"}`,
			state[0], state[1], parts[1], parts[2]))
	}
	return patch(context, object, "{status: {conditions: ["+strings.Join(list, ", ")+"]}}")
}

// checkState patches the state of MultiKueue's check for a Workload of the
// manager.
func checkState(workload, state, message, cluster string, retries int) edit {
	return patch("kwok-mgr", "Workload/"+workload, fmt.Sprintf(
		`{status: {clusterName: %s, admissionChecks: [{name: multikueue, state: %s, message: %q, retryCount: %d, lastTransitionTime: "2026-11-20T23:25:00Z"}]}}`,
		cluster, state, message, retries))
}

const (
	wasGone      = `Evicted=False QuotaReserved Previously: Evicted due to AdmissionCheck in Retry state: "multikueue" (Admitting remote no longer exists, Previously: "Ready")`
	wasOutOfSync = `Evicted=False QuotaReserved Previously: Evicted due to AdmissionCheck in Retry state: "multikueue" (Remote workload on worker cluster "worker1" is out of sync with its user job, resetting for re-dispatch, Previously: "Ready")`
	wasEvicted   = `Evicted=False QuotaReserved Previously: Evicted due to AdmissionCheck in Retry state: "multikueue" (Workload evicted on worker cluster: "worker1", resetting for re-admission. Previously: "Ready")`

	isReserved = "QuotaReserved=True QuotaReserved"
	isAdmitted = "Admitted=True Admitted"
)

func runningCases() []testCase {
	return slices.Concat(clashCases(), syncCases(), vanishedCases(), statusCases(), admittedCases(), lostCases(), evictedCases(), podCases(), podFailureCases(), driftCases())
}

func clashCases() []testCase {
	const origin = "{metadata: {labels: {kueue.x-k8s.io/multikueue-origin: %s}}}"
	return []testCase{
		{name: "a stranger's Job", code: "JM034", base: recordedClash, fires: true},
		{
			name: "another manager's mirror", code: "JM034", base: recordedClash, fires: true,
			edits: []edit{patch("kwok-w1", "Job/train", fmt.Sprintf(origin, "other"))},
		},
		{
			name: "our own mirror", code: "JM034", base: recordedClash,
			edits: []edit{patch("kwok-w1", "Job/train", fmt.Sprintf(origin, "multikueue"))},
		},
		{
			name: "the worker has not admitted it", code: "JM034", base: recordedClash,
			edits: []edit{conditions("kwok-w1", "Workload/job-train-648be", "QuotaReserved=False WaitingForQuota")},
		},
		{name: "no Job of that name", code: "JM034", base: recordedRefused},
		{name: "runs", code: "JM034", base: recordedRunning},
		{name: "a quota refuses it", code: "JM035", base: recordedRefused, fires: true},
		{
			name: "it has a selector of its own", code: "JM035", base: recordedRefused, fires: true,
			edits: []edit{patch("kwok-mgr", "Job/train", "{spec: {manualSelector: true}}")},
		},
		{
			name: "the mirror owns its Workload", code: "JM035", base: recordedRefused,
			edits: []edit{patch("kwok-w1", "Workload/job-train-24649",
				"{metadata: {ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u, controller: true}]}}")},
		},
		{
			name: "the origin is being deleted", code: "JM035", base: recordedRefused,
			edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:57:10Z", finalizers: [a/b]}}`)},
		},
		{name: "the worker does not answer", code: "JM035", base: recordedRefused, edits: []edit{unreachable("kwok-w1")}},
		{name: "another Job has its name", code: "JM035", base: recordedClash},
		{name: "runs", code: "JM035", base: recordedRunning},
	}
}

func syncCases() []testCase {
	const workload, outOfSync = "Workload/job-train-97fc9", "Finished=True OutOfSync The prebuilt workload is out of sync with its user job"
	gone := []edit{remove("kwok-w1", workload), remove("kwok-w1", "Job/train")}
	return []testCase{
		{name: "changed by a policy", code: "JM036", base: recordedMutated, fires: true},
		{name: "goes in a circle", code: "JM036", base: recordedMutated, fires: true, edits: gone},
		{
			name: "being withdrawn now", code: "JM036", base: recordedMutated, fires: true,
			edits: append([]edit{checkState("job-train-97fc9", "Retry", `Remote workload on worker cluster "worker1" is out of sync with its user job`, "null", 1)}, gone...),
		},
		{
			name: "withdrawn once, and offered again", code: "JM036", base: recordedMutated,
			edits: append([]edit{checkState("job-train-97fc9", "Pending", "", "null", 1)}, gone...),
		},
		{
			name: "runs since", code: "JM036", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, isAdmitted, wasOutOfSync)},
		},
		{
			name: "given up", code: "JM036", base: recordedRunning, fires: true,
			edits: []edit{conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, isAdmitted, outOfSync)},
		},
		{
			name: "finished well", code: "JM036", base: recordedMutated,
			edits: []edit{
				checkState("job-train-97fc9", "Pending", "", "null", 0),
				conditions("kwok-w1", workload, isReserved, isAdmitted, "Finished=True Succeeded"),
			},
		},
		{name: "changed by a policy", code: "JM037", base: recordedMutated, fires: true},
		{name: "it was deleted", code: "JM037", base: recordedMutated, edits: gone},
		{
			name: "given to another worker", code: "JM037", base: recordedMutated,
			edits: []edit{checkState("job-train-97fc9", "Ready", `The workload was admitted on "worker2"`, "worker2", 2)},
		},
		{
			name: "the manager has no quota for it", code: "JM037", base: recordedMutated,
			edits: []edit{conditions("kwok-mgr", workload, "QuotaReserved=False Pending")},
		},
		{
			name: "the Job is there", code: "JM038", base: recordedRunning, fires: true,
			edits: []edit{conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, "Finished=True OwnerNotFound The owner is gone")},
		},
		{
			name: "the Job has finished", code: "JM038", base: recordedRunning,
			edits: []edit{
				conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, "Finished=True OwnerNotFound The owner is gone"),
				conditions("kwok-mgr", "Job/train", "Complete=True"),
			},
		},
		{
			name: "finished well", code: "JM038", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, "Finished=True Succeeded")},
		},
	}
}

func vanishedCases() []testCase {
	gone := conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, isAdmitted, wasGone)
	ttl := patch("kwok-mgr", "Job/train", "{spec: {ttlSecondsAfterFinished: 60}}")
	past := func(seconds int) edit {
		return patch("kwok-mgr", "Workload/job-train-1c348", fmt.Sprintf("{status: {accumulatedPastExecutionTimeSeconds: %d}}", seconds))
	}
	return []testCase{
		{name: "runs again", code: "JM039", base: recordedRunning, fires: true, edits: []edit{gone, ttl, past(300)}},
		{name: "its TTL deletes it again and again", code: "JM127", base: recordedRunning, fires: true, edits: []edit{gone, ttl, past(900), patch("kwok-mgr", "Workload/job-train-1c348",
			`{status: {admissionChecks: [{name: multikueue, state: Ready, retryCount: 9, message: "", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`)}},
		{name: "its TTL had not run out", code: "JM039", base: recordedRunning, edits: []edit{gone, ttl, past(30)}},
		{name: "no TTL", code: "JM039", base: recordedRunning, edits: []edit{gone, past(300)}},
		{name: "never retried", code: "JM039", base: recordedRunning, edits: []edit{ttl}},
		{name: "the old mirror is still there", code: "JM039", base: recordedRemoved, edits: []edit{ttl}},
		{name: "a worker does not answer", code: "JM039", base: recordedRunning, edits: []edit{gone, ttl, past(300), unreachable("kwok-w2")}},
		{name: "runs again", code: "JM048", base: recordedRunning, fires: true, edits: []edit{gone}},
		{name: "its TTL had not run out", code: "JM048", base: recordedRunning, fires: true, edits: []edit{gone, ttl, past(30)}},
		{
			name: "being withdrawn now", code: "JM048", base: recordedRunning, fires: true,
			edits: []edit{
				remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/job-train-1c348"),
				checkState("job-train-1c348", "Retry", `Admitting remote no longer exists, Previously: "Ready"`, "null", 1),
			},
		},
		{name: "a TTL may have done it", code: "JM048", base: recordedRunning, edits: []edit{gone, ttl, patch("kwok-mgr", "Workload/job-train-1c348", `{metadata: {creationTimestamp: "2026-11-20T23:20:00Z"}}`)}},
		{name: "a TTL, but the Workload was too young", code: "JM048", base: recordedRunning, fires: true, edits: []edit{gone, ttl, patch("kwok-mgr", "Workload/job-train-1c348", `{metadata: {creationTimestamp: "2026-11-20T23:24:30Z"}}`)}},
		{name: "the old mirror is still there", code: "JM048", base: recordedRemoved},
		{
			name: "evicted for another reason since", code: "JM048", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", "Workload/job-train-1c348", isReserved, isAdmitted, "Evicted=False QuotaReserved Previously: Preempted")},
		},
	}
}

func statusCases() []testCase {
	suspended := patch("kwok-mgr", "Job/train", "{spec: {suspend: true}}")
	const workload = "Workload/job-train-1c348"
	return []testCase{
		{name: "the mirror runs", code: "JM041", base: recordedRunning, fires: true, edits: []edit{suspended}},
		{
			name: "the mirror is suspended as well", code: "JM041", base: recordedRunning,
			edits: []edit{suspended, patch("kwok-w1", "Job/train", "{spec: {suspend: true}}")},
		},
		{
			name: "just suspended", code: "JM041", base: recordedRunning,
			edits: []edit{suspended, patch("kwok-mgr", "Job/train", `{metadata: {managedFields: [{manager: m, operation: Update, time: "2026-11-20T23:43:42Z"}]}}`)},
		},
		{
			name: "it is being evicted", code: "JM041", base: recordedRunning,
			edits: []edit{suspended, conditions("kwok-mgr", workload, isReserved, isAdmitted, "Evicted=True Preempted")},
		},
		{name: "resumed", code: "JM041", base: recordedRunning},
	}
}

func lostCases() []testCase {
	return []testCase{
		{name: "unreachable for all", code: "JM043", base: "worker-lost", fires: true},
		{
			name: "unreachable for the manager", code: "JM043", base: recordedRunning, fires: true,
			edits: []edit{conditions("kwok-mgr", "MultiKueueCluster/worker1", "Active=False ClientConnectionFailed connection refused")},
		},
		{
			name: "it runs on the other one", code: "JM043", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", "MultiKueueCluster/worker2", "Active=False ClientConnectionFailed connection refused")},
		},
		{
			name: "withdrawn", code: "JM043", base: "worker-lost",
			edits: []edit{checkState("job-train-35242", "Retry", `Admitting remote lost, Previously: "Ready"`, "null", 1)},
		},
		{
			name: "it has finished", code: "JM043", base: "worker-lost",
			edits: []edit{conditions("kwok-mgr", "Job/train", "Complete=True")},
		},
		{
			name: "its Secret is broken", code: "JM044", base: recordedRunning, fires: true,
			edits: []edit{conditions("kwok-mgr", "MultiKueueCluster/worker1", `Active=False BadKubeConfig Secret "worker1-secret" not found`)},
		},
		{name: "it runs on the other one", code: "JM044", base: "one-worker-unusable"},
		{name: "only the connection fails", code: "JM044", base: "worker-lost"},
	}
}

func evictedCases() []testCase {
	const workload = "Workload/job-train-1c348"
	evicted := func(n int) edit {
		return patch("kwok-mgr", workload, fmt.Sprintf("{status: {schedulingStats: {evictions: [{reason: AdmissionCheck, count: %d, underlyingCause: ''}]}}}", n))
	}
	history := conditions("kwok-mgr", workload, isReserved, "Admitted=False UnsatisfiedAdmissionChecks", wasEvicted)
	waits := checkState("job-train-1c348", "Pending", "Reset to Pending after eviction. Previously: Retry", "null", 1)
	hangs := conditions("kwok-mgr", workload, isReserved, "Evicted=True Preempted")
	return []testCase{
		{
			name: "being withdrawn now", code: "JM045", base: recordedRunning, fires: true,
			edits: []edit{checkState("job-train-1c348", "Retry", `Workload evicted on worker cluster: "worker1", resetting for re-admission. Previously: "Ready"`, "worker1", 1)},
		},
		{name: "evicted repeatedly", code: "JM045", base: recordedRunning, fires: true, edits: []edit{history, waits, evicted(3)}},
		{name: "once, and offered again", code: "JM045", base: recordedRunning, edits: []edit{history, waits, evicted(1)}},
		{
			name: "often, and runs", code: "JM045", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", workload, isReserved, isAdmitted, wasEvicted), evicted(3)},
		},
		{name: "the mirror is gone", code: "JM046", base: recordedRunning, fires: true, edits: []edit{hangs, remove("kwok-w1", "Job/train")}},
		{
			name: "no pod is counted", code: "JM046", base: recordedRunning, fires: true,
			edits: []edit{hangs, remove("kwok-w1", "Job/train"), patch("kwok-mgr", "Job/train", "{status: {active: 0, ready: 0}}")},
		},
		{name: "its pods are not gone yet", code: "JM046", base: recordedRunning, edits: []edit{hangs}},
		{name: "a worker does not answer", code: "JM046", base: recordedRunning, edits: []edit{hangs, remove("kwok-w1", "Job/train"), unreachable("kwok-w2")}},
		{
			name: "its quota is free", code: "JM046", base: recordedRunning,
			edits: []edit{conditions("kwok-mgr", workload, "QuotaReserved=False Pending", "Evicted=True Preempted"), remove("kwok-w1", "Job/train")},
		},
		{name: "evicted before", code: "JM046", base: recordedRemoved},
	}
}

func podCases() []testCase {
	waits := func(reason, message string) edit {
		return patch("kwok-w2", "Pod/train-*", fmt.Sprintf(
			"{status: {containerStatuses: [{name: main, ready: false, image: i, imageID: '', restartCount: 0, state: {waiting: {reason: %s, message: %q}}}]}}", reason, message))
	}
	unschedulable := func(message, since string) edit {
		return patch("kwok-w2", "Pod/train-*", fmt.Sprintf(
			"{status: {containerStatuses: [], conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: %q, lastTransitionTime: %q}]}}", message, since))
	}
	const now, before = "2026-11-20T23:23:35Z", "2026-11-20T22:23:35Z"
	const noRoom, noClaim = "0/3 nodes are available: 3 Insufficient cpu.", `0/3 nodes are available: persistentvolumeclaim "data" not found.`
	return []testCase{
		{name: "no service account", code: "JM049", base: "service-account-missing-on-workers", fires: true},
		{name: "no image", code: "JM049", base: "starting", fires: true, edits: []edit{waits("ImagePullBackOff", `Back-off pulling image "registry.example.com/train:1"`)}},
		{name: "no Secret", code: "JM049", base: "starting", fires: true, edits: []edit{waits("CreateContainerConfigError", `secret "token" not found`)}},
		{name: "no claim", code: "JM049", base: "starting", fires: true, edits: []edit{unschedulable(noClaim, now)}},
		{name: "no node for an hour", code: "JM049", base: "starting", fires: true, edits: []edit{unschedulable(noRoom, before)}},
		{name: "no node so far", code: "JM049", base: "starting", fires: true, edits: []edit{unschedulable(noRoom, now)}},
		{name: "no node that has its label", code: "JM049", base: "pods-unschedulable", fires: true},
		{name: "no group for its pods", code: "JM049", base: ignoredMirror, fires: true, edits: []edit{ungrouped("FailedWorkloadCreate", "2026-11-22T04:38:40Z")}},
		{name: "no group that can be", code: "JM049", base: ignoredMirror, fires: true, edits: []edit{ungrouped("FailedWorkloadCompilation", "2026-11-22T04:38:40Z")}},
		{name: "no group, but it has started since", code: "JM049", base: ignoredMirror, edits: []edit{
			ungrouped("FailedWorkloadCreate", "2026-11-22T04:38:40Z"), patch("kwok-w2", "Job/train", `{status: {startTime: "2026-11-22T04:38:41Z"}}`),
		}},
		{name: "no group, but it was changed since", code: "JM049", base: ignoredMirror, edits: []edit{ungrouped("FailedWorkloadCreate", "2026-11-22T04:38:10Z")}},
		{name: "its containers are being created", code: "JM049", base: "starting"},
		{name: "it crashes", code: "JM049", base: "starting", edits: []edit{waits("CrashLoopBackOff", "back-off 10s restarting failed container")}},
		{
			name: "the mirror is suspended", code: "JM049", base: "service-account-missing-on-workers",
			edits: []edit{patch("kwok-w1", "Job/train", "{spec: {suspend: true}}")},
		},
		{
			name: "Pods exist since then", code: "JM049", base: "service-account-missing-on-workers",
			edits: []edit{patch("kwok-w1", "Job/train", "{status: {active: 2}}")},
		},
		{
			name: "only one of two Pods exists", code: "JM049", base: "service-account-missing-on-workers", fires: true,
			edits: []edit{patch("kwok-w1", "Job/train", "{status: {active: 1}}")},
		},
		{
			name: "one Pod is left to run", code: "JM049", base: "service-account-missing-on-workers",
			edits: []edit{patch("kwok-w1", "Job/train", "{status: {active: 1, succeeded: 1}}")},
		},
	}
}

func driftCases() []testCase {
	const workload = "Workload/job-train-1c348"
	second := func(owner string) edit {
		return add("kwok-w1", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
metadata: {name: job-train-99999, namespace: default, uid: w2, creationTimestamp: "2026-11-20T23:43:20Z", labels: {kueue.x-k8s.io/job-uid: `+owner+`},
ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: `+owner+`, controller: true}]}, spec: {queueName: user-queue, active: true}}`)
	}
	const mirror = "3669332a-c7a6-4bee-ae29-2f5fdaf72828"
	ownerless := patch("kwok-w1", workload, "{metadata: {ownerReferences: null, labels: {kueue.x-k8s.io/job-uid: null}}}")
	elastic := patch("kwok-mgr", "Job/train", `{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}, spec: {parallelism: 1}}`)
	return []testCase{
		{name: "an older Kueue on the worker", code: "JM040", base: recordedRunning, fires: true, edits: []edit{ownerless, second(mirror)}},
		{name: "not processed yet", code: "JM040", base: recordedRunning, edits: []edit{ownerless}},
		{name: "another Job's", code: "JM040", base: recordedRunning, edits: []edit{ownerless, second("another")}},
		{name: "both are the mirror's", code: "JM040", base: recordedRunning, edits: []edit{second(mirror)}},
		{name: "another size than its mirror", code: "JM050", base: recordedRunning, fires: true, edits: []edit{elastic}},
		{name: "more at once than it has completions", code: "JM050", base: recordedRunning, edits: []edit{elastic, patch("kwok-mgr", "Job/train", "{spec: {parallelism: 4}}")}},
		{name: "the mirror follows", code: "JM050", base: recordedRunning, edits: []edit{elastic, patch("kwok-w1", "Job/train", "{spec: {parallelism: 1}}")}},
		{
			name: "the larger one waits for quota", code: "JM050", base: recordedRunning,
			edits: []edit{elastic, add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
metadata: {name: job-train-slice, namespace: default, uid: w2, creationTimestamp: "2026-11-20T23:43:40Z", labels: {kueue.x-k8s.io/job-uid: 880662c0-8617-4219-bfcd-5b29336ab0fa}},
spec: {queueName: user-queue, active: true}, status: {clusterName: worker1}}`)},
		},
		{name: "the larger one never fits the manager", code: "JM050", base: recordedRunning, fires: true, edits: growing("ExceedsMaxQuota", tooLarge)},
		{name: "the larger one waits", code: "JM050", base: recordedRunning, edits: growing("WaitingForQuota",
			"couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 1 more needed")},
		{name: "of a fixed size", code: "JM050", base: recordedRunning, edits: []edit{patch("kwok-mgr", "Job/train", "{spec: {parallelism: 4}}")}},
		{name: "another value there", code: "JM052", base: recordedRunning, fires: true, edits: []edit{patch("kwok-w1", workload, "{spec: {priority: 100}}")}},
		{
			name: "another value of a class", code: "JM052", base: recordedClash, fires: true,
			edits: []edit{
				patch("kwok-w1", "Workload/job-train-648be", "{spec: {priority: 100}}"),
				patch("kwok-mgr", "Workload/job-train-648be", "{spec: {priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high}}}"),
			},
		},
		{name: "the same value", code: "JM052", base: recordedRunning},
		{name: "it has finished", code: "JM052", base: recordedRunning, edits: []edit{
			patch("kwok-w1", workload, "{spec: {priority: 100}}"), conditions("kwok-mgr", "Job/train", "Complete=True"),
		}},
	}
}

// TestStoppedOriginWithPods checks the fix of an origin that Kueue has stopped, but whose status counts Pods: Kueue
// cannot resume it. A user who suspends a running origin leaves its startTime.
func TestStoppedOriginWithPods(t *testing.T) {
	const setNone = "set status.active of the origin to 0, so that Kueue can resume it: "
	for status, isFixed := range map[string]bool{"{startTime: null, active: 1}": true, "{startTime: null, active: 0}": false, "{active: 1}": false} {
		rule, _ := rules.ByCode("JM041")
		c := testCase{name: "stopped, " + status, code: "JM041", base: recordedRunning, edits: []edit{
			patch("kwok-mgr", "Job/train", "{spec: {suspend: true}, status: "+status+"}"),
		}}
		findings := judge(t, c.inventory(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(findings), 1, status)
		assert.Equal(t, strings.HasPrefix(findings[0].Remedy, setNone+"`kubectl --context kwok-mgr -n default patch job train --subresource=status "), isFixed, findings[0].Remedy)
	}
}

// TestRunningMerges checks that a lost worker is one finding with all its
// Jobs, and that less specific findings are dropped.
func TestRunningMerges(t *testing.T) {
	two := []edit{
		conditions("kwok-mgr", "MultiKueueCluster/worker1", "Active=False ClientConnectionFailed connection refused"),
		patch("kwok-mgr", "Job/train", "{spec: {suspend: true}}"),
		add("kwok-mgr", `{apiVersion: batch/v1, kind: Job, metadata: {name: other, namespace: default, uid: u2, creationTimestamp: "2026-11-20T23:43:18Z",
labels: {kueue.x-k8s.io/queue-name: user-queue}}, spec: {managedBy: kueue.x-k8s.io/multikueue, suspend: false, template: {spec: {}}}, status: {active: 1}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-other, namespace: default, uid: w2,
creationTimestamp: "2026-11-20T23:43:18Z", labels: {kueue.x-k8s.io/job-uid: u2}}, spec: {queueName: user-queue},
status: {clusterName: worker1, admissionChecks: [{name: multikueue, state: Ready, message: "", lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`),
	}
	var mine []rules.Rule
	for _, r := range rules.All() {
		if r.Code >= "JM034" && r.Code <= "JM052" {
			mine = append(mine, r)
		}
	}
	findings := judge(t, testCase{name: "two Jobs there", code: "JM043", base: recordedRunning, edits: two}.inventory(t), mine, 0)
	assert.Equal(t, len(findings), 1, "%+v", findings)
	f := findings[0]
	assert.Equal(t, f.Code, "JM043")
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Kind+"/"+f.Name, "MultiKueueCluster/worker1")
	assert.Equal(t, len(f.Jobs), 2)
}
