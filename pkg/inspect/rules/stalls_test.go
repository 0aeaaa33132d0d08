package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

func stallCases() []testCase {
	return slices.Concat(
		ignoredMirrorCases(), ignoredPodCases(), failedToStartCases(), deactivatedCases(), editedCases(), sameClusterCases(), againCases(),
		outOfServiceCases(), unservedCases(), toBeRejectedCases(),
	)
}

const (
	ignoredMirror = "worker-job-controller-down"
	createdAgain  = "created-again-with-kueues-leftovers"
	editedOrigin  = "origin-edited-while-running"
	twoNames      = "same-cluster-under-two-names"
	unservedCheck = "admission-check-nobody-serves"
	lateJob       = "localqueue-drained-and-a-late-job"
)

func ignoredMirrorCases() []testCase {
	otherJob := func(startedAt string) edit {
		return add("kwok-w2", fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: other, namespace: default, uid: "9", creationTimestamp: "2026-11-22T04:00:00Z"},
			spec: {completions: 1, parallelism: 1, selector: {}, template: {metadata: {}, spec: {containers: []}}}, status: {startTime: %q, active: 1, ready: 1}}`, startedAt))
	}
	ended := patch("kwok-w1", "Pod/train-*", `{status: {phase: Succeeded, conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-11-22T04:40:18Z"}]}}`)
	return []testCase{
		{name: "its status was never written", code: "JM121", base: ignoredMirror, fires: true},
		{name: "the controller is at work elsewhere", code: "JM121", base: ignoredMirror, fires: true, edits: []edit{otherJob("2026-11-22T04:38:30Z")}},
		{
			name: "resumed, and not processed", code: "JM121", base: ignoredMirror, fires: true, kinds: []string{"job"},
			edits: []edit{patch("kwok-w2", "Job/train", `{status: {conditions: [{type: Suspended, status: "True", lastTransitionTime: "2026-11-22T04:38:21Z"}]}}`)},
		},
		{name: "its Pods have ended, and are not counted", code: "JM121", base: editedOrigin, fires: true, later: time.Minute, kinds: []string{"job"}, edits: []edit{ended}},
		{name: "suspended", code: "JM121", base: ignoredMirror, edits: []edit{patch("kwok-w2", "Job/train", `{spec: {suspend: true}}`)}},
		{name: "being deleted", code: "JM121", base: ignoredMirror, edits: []edit{
			patch("kwok-w2", "Job/train", `{metadata: {deletionTimestamp: "2026-11-22T04:38:30Z", finalizers: [example.com/x]}}`),
		}},
		{name: "it runs", code: "JM121", base: "running"},
		{name: "it starts", code: "JM121", base: "starting"},
	}
}

func ignoredPodCases() []testCase {
	pods := func(spec, status string) edit {
		return patch("kwok-w1", "Pod/train-*", fmt.Sprintf(`{spec: %s, status: %s}`, spec, status))
	}
	const scheduled = `{phase: Pending, conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-11-20T23:57:34Z"}]}`
	return []testCase{
		{name: "no scheduler", code: "JM122", base: "pods-unschedulable", fires: true, later: time.Minute, edits: []edit{pods("{}", "{phase: Pending, conditions: null}")}},
		{
			name: "a scheduler that does not exist", code: "JM122", base: "pods-unschedulable", fires: true, later: time.Minute,
			edits: []edit{pods("{schedulerName: volcano}", "{phase: Pending, conditions: null}")},
		},
		{name: "no kubelet", code: "JM122", base: "pods-unschedulable", fires: true, later: time.Minute, edits: []edit{pods("{nodeName: node-1}", scheduled)}},
		{name: "the scheduler has said why", code: "JM122", base: "pods-unschedulable"},
		{
			name: "gated", code: "JM122", base: "pods-unschedulable",
			edits: []edit{pods("{}", `{conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, lastTransitionTime: "2026-11-20T23:57:34Z"}]}`)},
		},
		{name: "they run", code: "JM122", base: "running"},
	}
}

func failedToStartCases() []testCase {
	const workload = "Workload/job-train-3a2e7"
	finished := func(reason string) edit {
		return patch("kwok-mgr", workload, fmt.Sprintf(`{status: {conditions: [{type: Finished, status: "True", reason: %s, message: why, lastTransitionTime: "2026-11-22T04:37:57Z"}]}}`, reason))
	}
	return []testCase{
		{name: "what Kueue had put into its pod template", code: "JM123", base: createdAgain, fires: true},
		{name: "another reason", code: "JM123", base: "running", fires: true, edits: []edit{
			patch("kwok-mgr", "Workload/job-train-1c348", `{status: {conditions: [{type: Finished, status: "True", reason: FailedToStart, message: why, lastTransitionTime: "2026-11-20T23:50:26Z"}]}}`),
		}},
		{name: "its Job has ended", code: "JM123", base: createdAgain, edits: []edit{finished("Succeeded")}},
		{name: "replaced by one of another size", code: "JM123", base: createdAgain, edits: []edit{finished("WorkloadSliceReplaced")}},
		{name: "out of sync", code: "JM123", base: createdAgain, edits: []edit{finished("OutOfSync")}},
		{name: "being deleted", code: "JM123", base: createdAgain, edits: []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {deletionTimestamp: "2026-11-22T04:38:30Z", finalizers: [example.com/x]}}`),
		}},
	}
}

func deactivatedCases() []testCase {
	const workload = "Workload/job-train-03e73"
	return []testCase{
		{name: "by another controller", code: "JM124", base: "deactivated", fires: true},
		{name: "by Kueue", code: "JM124", base: "deactivated", fires: true, edits: []edit{patch("kwok-mgr", workload,
			`{status: {conditions: [{type: Evicted, status: "True", reason: DeactivatedDueToRequeuingLimitExceeded, message: why, lastTransitionTime: "2026-11-20T23:25:51Z"}]}}`)}},
		{name: "before it was admitted", code: "JM124", base: "deactivated", fires: true, edits: []edit{patch("kwok-mgr", workload, `{status: null}`)}},
		{name: "activated again", code: "JM124", base: "deactivated", edits: []edit{patch("kwok-mgr", workload, `{spec: {active: true}}`)}},
		{name: "MultiKueue has rejected it", code: "JM124", base: "managed-by-missing"},
	}
}

func editedCases() []testCase {
	origin := func(text string) []edit { return []edit{patch("kwok-mgr", "Job/train", text)} }
	return []testCase{
		{name: "fewer pods at once", code: "JM125", base: editedOrigin, fires: true},
		{name: "more", code: "JM125", base: "running", fires: true, edits: origin(`{spec: {parallelism: 5, completions: 5}}`)},
		{name: "admitted in part", code: "JM125", base: editedOrigin, edits: []edit{
			patch("kwok-mgr", "Workload/job-train-*", `{spec: {podSets: [{name: main, count: 4, minCount: 1, template: {spec: {containers: []}}}]}}`),
		}},
		{name: "put back", code: "JM125", base: editedOrigin, edits: origin(`{spec: {parallelism: 4}}`)},
		{name: "more than have to succeed", code: "JM125", base: editedOrigin, edits: origin(`{spec: {parallelism: 7}}`)},
		{
			name: "elastic", code: "JM125", base: editedOrigin,
			edits: origin(`{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}}`),
		},
		{
			name: "before it has quota", code: "JM125", base: "wrong-queue",
			edits: origin(`{spec: {parallelism: 1}}`),
		},
		{name: "a node selector before its admission", code: "JM125", base: "no-quota-on-workers", fires: true, edits: origin(`{spec: {template: {spec: {nodeSelector: {zone: b}}}}}`)},
		{name: "a node selector that Kueue added", code: "JM125", base: "running", edits: origin(`{spec: {template: {spec: {nodeSelector: {zone: b}}}}}`)},
		{name: "the status is copied although it is suspended", code: "JM041", base: editedOrigin, edits: origin(`{spec: {parallelism: 4}}`)},
	}
}

func sameClusterCases() []testCase {
	config := func(clusters string) edit {
		return patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: `+clusters+`}}`)
	}
	return []testCase{
		{name: "one Secret", code: "JM126", base: twoNames, fires: true},
		{name: "in two configs", code: "JM126", base: twoNames, fires: true, edits: []edit{
			config("[worker2]"), add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: other}, spec: {clusters: [worker2b]}}`),
		}},
		{name: "once", code: "JM126", base: twoNames, edits: []edit{config("[worker1, worker2]")}},
		{name: "two clusters", code: "JM126", base: "running"},
		{name: "there are no Secrets", code: "JM126", base: twoNames, edits: []edit{remove("kwok-mgr", "Secret/*")}},
	}
}

func againCases() []testCase {
	const workload = "Workload/job-train-2cb12"
	config := patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1, worker2]}}`)
	count := func(text string) edit { return patch("kwok-mgr", workload, text) }
	return []testCase{
		{name: "retried", code: "JM127", base: twoNames, fires: true, edits: []edit{config}},
		{name: "its pods are not ready in time", code: "JM127", base: twoNames, fires: true, edits: []edit{config, count(
			`{status: {requeueState: {count: 4}, schedulingStats: null, admissionChecks: [{name: multikueue, state: Ready, message: ok, lastTransitionTime: "2026-11-22T04:37:34Z"}]}}`)}},
		{name: "twice", code: "JM127", base: twoNames, edits: []edit{config, count(
			`{status: {schedulingStats: null, admissionChecks: [{name: multikueue, state: Ready, message: ok, retryCount: 2, lastTransitionTime: "2026-11-22T04:37:34Z"}]}}`)}},
		{name: "it has been running for long since", code: "JM127", base: twoNames, edits: []edit{config, count(
			`{metadata: {creationTimestamp: "2026-11-22T03:00:00Z"}, status: {admissionChecks: [{name: multikueue, state: Ready, message: ok, retryCount: 5, lastTransitionTime: "2026-11-22T03:02:00Z"}]}}`)}},
		{name: "it was never evicted", code: "JM127", base: "running"},
	}
}

func outOfServiceCases() []testCase {
	queue := func(reason, spec string) edit {
		return patch("kwok-mgr", "ClusterQueue/cluster-queue", fmt.Sprintf(`{spec: %s, status: {conditions: [
			{type: Active, status: "False", reason: %s, message: why, lastTransitionTime: "2026-11-20T23:20:00Z"}]}}`, spec, reason))
	}
	return []testCase{
		{name: "no such flavor", code: "JM128", base: "running", fires: true, edits: []edit{queue("FlavorNotFound", "{}")}},
		{name: "stopped", code: "JM128", base: "running", edits: []edit{queue("Stopped", "{stopPolicy: Hold}")}},
		{name: "its check", code: "JM128", base: "running", edits: []edit{queue("AdmissionCheckInactive", "{}")}},
		{name: "of its own cluster", code: "JM128", base: "running", edits: []edit{queue("FlavorNotFound", "{admissionChecksStrategy: null}")}},
		{name: "in service", code: "JM128", base: "running"},
	}
}

func unservedCases() []testCase {
	const check = "AdmissionCheck/multikueue"
	return []testCase{
		{name: "a controller's name is mistyped", code: "JM008", base: unservedCheck, fires: true},
		{name: "an unserved second check", code: "JM008", base: "second-check-of-somebody-elses", fires: true, edits: []edit{patch("kwok-mgr", "AdmissionCheck/budget", `{status: null}`)}},
		{name: "MultiKueue serves nothing", code: "JM008", base: "running", fires: true, edits: []edit{patch("kwok-mgr", check, `{status: null}`)}},
		{name: "being deleted, never processed", code: "JM008", base: unservedCheck, edits: []edit{
			patch("kwok-mgr", check, `{metadata: {deletionTimestamp: "2026-11-22T04:38:30Z", finalizers: [example.com/x]}}`),
		}},
		{name: "a served second check", code: "JM008", base: "second-check-of-somebody-elses"},
	}
}

func toBeRejectedCases() []testCase {
	return []testCase{
		{name: "in a queue that is stopped", code: "JM012", base: lateJob, fires: true},
		{name: "of another owner", code: "JM012", base: lateJob, fires: true, edits: []edit{
			patch("kwok-mgr", "Job/late", `{spec: {managedBy: jobmanagedby.github.io/dispatch}}`),
		}},
		{name: "in a queue of its own cluster that is stopped", code: "JM012", base: lateJob, edits: []edit{
			patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`),
		}},
		{name: "out of the queue", code: "JM012", base: lateJob, edits: []edit{patch("kwok-mgr", "Job/late", `{metadata: {labels: null}}`)}},
	}
}

// TestFindingsOfRecordings checks that the findings about a fault have what a user
// needs: how bad it is, what is wrong, and what to do.
func TestFindingsOfRecordings(t *testing.T) {
	for _, tt := range []struct {
		recording, code, name string
		severity              inspect.Severity
		// message, remedy and evidence are words that must be included.
		message, remedy, evidence []string
		// always is whether the default grace makes no difference.
		always bool
	}{
		{
			recording: twoNames, code: "JM126", name: "fleet", severity: inspect.Error, always: true,
			message: []string{"worker2 and worker2b", "one cluster"}, remedy: []string{"remove worker2b (or worker2, but not both) from spec.clusters", "multikueueconfigs.kueue.x-k8s.io fleet"},
			evidence: []string{"same certificate authority", "retryCount 11"},
		},
		{
			recording: createdAgain, code: "JM123", name: "train", severity: inspect.Error, always: true,
			message:  []string{"never run", "annotation kueue.x-k8s.io/workload", "label kueue.x-k8s.io/podset"},
			remedy:   []string{"create the Job again without annotation kueue.x-k8s.io/workload", "jobs-managedby recreate train"},
			evidence: []string{"FailedToStart", "conflict for key=kueue.x-k8s.io/workload"},
		},
		{
			recording: ignoredMirror, code: "JM121", name: "train", severity: inspect.Error,
			message: []string{"no controller on kwok-w2 picks up its mirror", "never written"}, remedy: []string{"kube-controller-manager"},
			evidence: []string{"2026-11-22T04:38:21Z"},
		},
		{
			recording: unservedCheck, code: "JM008", name: "multikueue", severity: inspect.Error,
			message: []string{"AdmissionCheck multikueue has controllerName kueue.x-k8s.io/multikeue; did you mean kueue.x-k8s.io/multikueue?"},
			remedy: []string{
				"create AdmissionCheck multikueue-2 with controllerName kueue.x-k8s.io/multikueue (that of multikueue is immutable)",
				`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck","metadata":{"name":"multikueue-2"},"spec":{"controllerName":"kueue.x-k8s.io/multikueue","parameters":{"apiGroup":"kueue.x-k8s.io","kind":"MultiKueueConfig","name":"fleet"}}}`,
				"and then name it in ClusterQueue cluster-queue instead of multikueue",
			},
			evidence: []string{"AdmissionCheckInactive"},
		},
		{
			recording: editedOrigin, code: "JM125", name: "train", severity: inspect.Error,
			message: []string{
				"its parallelism on kwok-mgr was changed to 1, but it was admitted with 4 Pods: Kueue ignores the change while kwok-w1 runs it, and does not copy its status",
			}, remedy: []string{"set parallelism to 4 again, and Kueue copies the status again", `{"spec":{"parallelism":4}}`}, evidence: []string{"kwok-w1: spec.parallelism"},
		},
		{
			recording: lateJob, code: "JM012", name: "late", severity: inspect.Error,
			message: []string{"never run: its queue uses MultiKueue, but managedBy is not set"}, remedy: []string{"recreate late", "--managed-by kueue.x-k8s.io/multikueue"},
			evidence: []string{"LocalQueue user-queue is inactive"},
		},
		{
			recording: "deactivated", code: "JM124", name: "train", severity: inspect.Info,
			message: []string{"a user deactivated its Workload"}, remedy: []string{`{"spec":{"active":true}}`}, evidence: []string{"spec.active of Workload default/job-train-03e73 is false"},
		},
		{
			recording: "pods-unschedulable", code: "JM049", name: "train", severity: inspect.Warning,
			message: []string{"finds no node for 2 Pods", "the Pod template requires label gpu=h100"}, remedy: []string{"get nodes -l gpu=h100", "change node selector gpu=h100 of the Pods, then delete the Job: "},
			evidence: []string{"Pod default/train-", "didn't match Pod's node affinity/selector"},
		},
		{
			recording: "preempted-on-worker", code: "JM029", name: "low1", severity: inspect.Info,
			message:  []string{"kwok-w1: preempted by Job default/high", "priority 1000", "LocalQueue default/user-queue"},
			evidence: []string{"UID: 5168f70e-e920-4ef5-802b-f27389b0f016"},
		},
		{
			recording: "two-flavors", code: "JM029", name: "too-big-untolerated", severity: inspect.Error,
			message: []string{"needs 4 cpu, limit 2 (flavor on-demand)", "does not tolerate taint spot=true:NoSchedule of flavor spot"}, remedy: []string{"tolerate taint spot=true:NoSchedule of flavor spot"},
		},
		{
			recording: "two-flavors", code: "JM029", name: "wants-gpu-pool", severity: inspect.Error,
			message: []string{"no flavor on the workers fits its Pods", "flavor on-demand does not match"}, remedy: []string{"set a node selector or affinity that matches the labels of flavor on-demand"},
		},
		{
			recording: "cohort-borrowing", code: "JM029", name: "user-queue", severity: inspect.Info,
			message: []string{"default/waits", "needs 3 more cpu"}, evidence: []string{"held by Job default/borrows on kwok-w1, Job default/second on kwok-w2"},
		},
		{
			recording: "cohort-borrowing", code: "JM029", name: "never", severity: inspect.Error,
			message: []string{"needs 5 cpu, limit 4"},
		},
	} {
		t.Run(tt.recording, func(t *testing.T) {
			v := inventory(t, recordings+"/"+tt.recording)
			found := slices.DeleteFunc(judge(t, v, rules.All(), 0), func(f inspect.Finding) bool { return f.Code != tt.code || f.Name != tt.name })
			assert.Equal(t, len(found), 1)
			f := found[0]
			assert.Equal(t, f.Severity, tt.severity)
			for text, words := range map[string][]string{f.Message: tt.message, f.Remedy: tt.remedy, strings.Join(f.Evidence, "\n"): tt.evidence} {
				for _, word := range words {
					assert.Assert(t, strings.Contains(text, word), "%q is in %q", word, text)
				}
			}
			later := codesOf(judge(t, v, rules.All(), 5*time.Minute))
			assert.Equal(t, slices.Contains(later, tt.code), tt.always, "%v", later)
		})
	}
}

// TestUnschedulableHasAGracePeriod checks that an unschedulable Pod gets
// longer than the default grace period, because a node may need minutes to
// start, but nothing without one.
func TestUnschedulableHasAGracePeriod(t *testing.T) {
	rule, _ := rules.ByCode("JM049")
	v := inventory(t, recordings+"/pods-unschedulable")
	for _, tt := range []struct {
		age, grace time.Duration
		want       int
	}{{time.Minute, 0, 1}, {6 * time.Minute, 5 * time.Minute, 0}, {11 * time.Minute, 5 * time.Minute, 1}} {
		aged := inspect.NewInventory(v.Now.Add(tt.age), v.Clusters, v.Addresses)
		assert.Equal(t, len(judge(t, aged, []rules.Rule{rule}, tt.grace)), tt.want, "%v", tt)
	}
}

// TestPreemptors checks that every rule about lost quota names the
// Workload that took it, wherever its name was read.
func TestPreemptors(t *testing.T) {
	const message = "Preempted to accommodate a workload (UID: u-high, JobUID: j-high) due to prioritization in the ClusterQueue"
	high := func(context string) edit {
		return add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-high, namespace: default, uid: u-high, creationTimestamp: "2026-11-20T23:43:30Z",
			ownerReferences: [{apiVersion: batch/v1, kind: Job, name: high, uid: j-high, controller: true}]}, spec: {queueName: user-queue, priority: 1000}, status: {}}`)
	}
	highJob := add(mgr, `{apiVersion: batch/v1, kind: Job, metadata: {name: high, namespace: default, uid: j-high, labels: {kueue.x-k8s.io/queue-name: user-queue}},
		spec: {suspend: true, selector: {}, template: {metadata: {}, spec: {containers: []}}}}`)
	lost := withConditions(noQuotaCondition, condition("Evicted", "True", "Preempted", message))
	onWorker := patch(w1, workload, `{status: {`+withConditions(gotQuota, condition("Evicted", "True", "Preempted", message))+`}}`)
	retried := func(count string) edit {
		return patch(mgr, workload, `{status: {admissionChecks: [{name: multikueue, state: Retry, retryCount: `+count+`,
			message: 'Workload evicted on worker cluster: "worker1", resetting for re-admission. Previously: "Ready"', lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`)
	}
	held := []edit{
		patch(mgr, workload, `{status: {admission: null, clusterName: null, admissionChecks: null, `+lost+`}}`), patch(mgr, "Job/train", `{spec: {suspend: true}, status: null}`),
		remove(w1, "Job/train"), remove(w1, "Pod/*"), remove(w1, workload),
	}
	const whole = "preempted by Job default/high, with priority 1000 (preempted: 0), in LocalQueue default/user-queue"
	for name, tt := range map[string]struct {
		code  string
		edits []edit
		want  string
	}{
		"held on the manager":    {"JM019", append([]edit{high(mgr)}, held...), "kwok-mgr: " + whole + "; waits for quota again in ClusterQueue cluster-queue"},
		"by a Job alone":         {"JM019", append([]edit{highJob}, held...), "preempted by Job default/high, in LocalQueue default/user-queue"},
		"by an unread Workload":  {"JM019", held, "preempted by a Workload with UID u-high"},
		"evicted by a worker":    {"JM045", []edit{onWorker, high(w1), retried("1")}, "kwok-w1: " + whole},
		"as its manager said":    {"JM045", []edit{onWorker, high(mgr), retried("1")}, "kwok-w1: " + whole},
		"evicted repeatedly":     {"JM127", []edit{onWorker, high(w1), retried("7")}, "kwok-w1: " + whole},
		"and its mirror runs on": {"JM130", []edit{high(mgr), patch(mgr, workload, `{status: {`+withConditions(gotQuota, condition("Evicted", "True", "Preempted", message))+`}}`)}, "kwok-mgr: " + whole},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode(tt.code)
			findings := judge(t, testCase{base: "running", edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1, "%+v", findings)
			assert.Assert(t, strings.Contains(findings[0].Message, tt.want), findings[0].Message)
			assert.Assert(t, strings.Contains(strings.Join(findings[0].Evidence, "\n"), message), "%q", findings[0].Evidence)
			if tt.code == "JM127" {
				assert.Assert(t, strings.HasPrefix(findings[0].Remedy, "while its copy exists, "), findings[0].Remedy)
				gone := judge(t, testCase{base: "running", edits: append(tt.edits, remove(w1, workload))}.make(t), []rules.Rule{rule}, 0)
				assert.Equal(t, gone[0].Remedy, "check on MultiKueueCluster worker1 why it was evicted: `kubectl --context kwok-w1 -n default get events --field-selector involvedObject.name=job-train-1c348`")
			}
		})
	}
}
