package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// Identities in the recordings.
const (
	managerUID = "89cbabd0-cc16-4cc0-9906-74991eae5daf"
	worker1UID = "07f40600-af7d-4b3c-a4ef-57c259a139b8"
	worker2UID = "661cbdd0-1158-492b-920a-99515f199b90"
)

// started is the status of a Job that runs.
const started = `active: 1, ready: 1, startTime: "2026-11-20T23:43:31Z"`

// addOwned adds a delegated Job to the management cluster, with a status and more of its metadata.
func addOwned(owner, name, uid, metadata, status string) edit {
	return add("kwok-mgr", fmt.Sprintf(`{apiVersion: batch/v1, kind: Job,
		metadata: {name: %s, namespace: default, uid: %s, creationTimestamp: "2026-11-20T23:43:30Z", %s},
		spec: {managedBy: %s, completions: 1, parallelism: 1, suspend: false}, status: {%s}}`, name, uid, metadata, owner, status))
}

// addDispatched adds a Job that was dispatched to the first worker.
func addDispatched(status string) edit {
	return addOwned("jobmanagedby.github.io/dispatch", "other", otherUID,
		`annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, status)
}

// addCopy adds a mirror as dispatch makes it.
func addCopy(context, uid, spec, status string) edit {
	return add(context, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job,
		metadata: {name: other, namespace: default, uid: %s, creationTimestamp: "2026-11-20T23:43:31Z",
			labels: {jobmanagedby.github.io/origin-uid: %s}, annotations: {jobmanagedby.github.io/origin: %s/default/other}},
		spec: {completions: 1, parallelism: 1, suspend: false, %s}, status: {%s}}`, uid, otherUID, managerUID, spec, status))
}

// ended is the status of a complete Job.
const ended = `active: 0, succeeded: 1, startTime: "2026-11-20T23:43:31Z", completionTime: "2026-11-20T23:43:35Z",
	conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]`

// runner is a controller that is not in our list.
const runner = "flows.example.com/runner"

func ownerCases() []testCase {
	var all []testCase
	for _, cases := range [][]testCase{
		unclaimedCases(), mistypedCases(), delegatedCases(), staleCases(), goneMirrorCases(), originGoneCases(), severalCases(), writerCases(),
	} {
		all = append(all, cases...)
	}
	return all
}

func unclaimedCases() []testCase {
	dispatched := func(more string) edit {
		return addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, more, "")
	}
	return []testCase{
		{name: "never dispatched", code: "JM101", base: "running", fires: true, edits: []edit{dispatched("")}},
		{name: "its controller serves others, and its queue is MultiKueue's", code: "JM101", base: "running", fires: true, edits: []edit{
			addOwned(runner, "newer", newerUID, "", started), addOwned(runner, "other", otherUID, "labels: {kueue.x-k8s.io/queue-name: user-queue}", ""),
		}},
		{name: "the controller of another kind", code: "JM101", base: "running", fires: true, edits: []edit{
			addOwned("ray.io/kuberay-operator", "other", otherUID, "", ""),
		}},
		{name: "its controller serves others", code: "JM101", base: "running", fires: true, edits: []edit{
			addOwned(runner, "other", otherUID, "", ""), addOwned(runner, "newer", newerUID, "", started),
		}},
		{name: "its status was written", code: "JM101", base: "running", edits: []edit{addOwned(runner, "newer", newerUID, "", started)}},
		{name: "it was dispatched just now", code: "JM101", base: "running", edits: []edit{addDispatched("")}},
		{name: "it has a mirror", code: "JM101", base: "running", edits: []edit{dispatched(""), addCopy("kwok-w1", "mirror-of-other", "", started)}},
		{name: "its controller has put a finalizer on it", code: "JM101", base: "running", edits: []edit{
			addOwned(runner, "other", otherUID, `finalizers: [flows.example.com/cleanup]`, ""), addOwned(runner, "newer", newerUID, "", started),
		}},
		{name: "suspended", code: "JM101", base: "running", edits: []edit{
			dispatched(""), patch("kwok-mgr", "Job/other", `{spec: {suspend: true}}`),
		}},
		{name: "an unknown owner", code: "JM101", base: "unknown-owner"},
		{name: "MultiKueue's", code: "JM101", base: "no-queue-name"},
	}
}

func mistypedCases() []testCase {
	named := func(owner string, more ...edit) []edit {
		return append(more, addOwned(owner, "other", otherUID, "", ""))
	}
	return []testCase{
		{name: "nearly MultiKueue", code: "JM102", base: "running", fires: true, edits: named("kueue.x-k8s.io/multi-kueue")},
		{name: "nearly another owner, in a queue of MultiKueue", code: "JM102", base: "running", fires: true, edits: []edit{
			addOwned("jobmanagedby.github.io/dispatc", "other", otherUID, "labels: {kueue.x-k8s.io/queue-name: user-queue}", ""),
		}},
		{name: "nearly the built-in one", code: "JM102", base: "running", fires: true, edits: named("kubernetes.io/job-controler")},
		{name: "nearly one that serves others", code: "JM102", base: "running", fires: true, edits: named("flow.example.com/runner",
			addOwned(runner, "newer", newerUID, "", started))},
		{name: "similar to an owner without Jobs", code: "JM102", base: "running", edits: named("flow.example.com/runner",
			addOwned(runner, "newer", newerUID, "", ""))},
		{name: "like no other", code: "JM102", base: "unknown-owner"},
		{name: "nearly another one, and serves", code: "JM102", base: "running", edits: []edit{
			addOwned("flow.example.com/runner", "other", otherUID, "", started), addOwned(runner, "newer", newerUID, "", started),
		}},
		{name: "known", code: "JM102", base: "running", edits: named("jobmanagedby.github.io/dispatch")},
	}
}

func delegatedCases() []testCase {
	delegated := patch("kwok-w1", "Job/train", `{spec: {managedBy: kueue.x-k8s.io/multikueue}, status: null}`)
	return []testCase{
		{name: "MultiKueue's mirror", code: "JM103", base: "running", fires: true, edits: []edit{delegated, remove("kwok-w1", "Pod/train-*")}},
		{name: "a dispatched mirror", code: "JM103", base: "running", fires: true, edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "managedBy: "+runner, ""),
		}},
		{name: "the worker dispatches itself", code: "JM103", base: "running", edits: []edit{
			delegated, add("kwok-w1", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue}}`),
		}},
		{name: "a served check", code: "JM103", base: "running", edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "managedBy: "+runner, started),
		}},
		{name: "not delegated", code: "JM103", base: "running"},
	}
}

// writtenAt has the status of a Job be written at a second.
func writtenAt(context, second string) edit {
	return patch(context, "Job/train", `{metadata: {managedFields: [{manager: kueue, operation: Update, apiVersion: batch/v1,
		fieldsType: FieldsV1, fieldsV1: {}, subresource: status, time: "2026-11-20T23:43:`+second+`Z"}]}}`)
}

// checkLost removes MultiKueue's check from the queue of an admitted Job of the recording "running".
// Kueue then removes it from the Workload, too.
func checkLost() []edit {
	return []edit{
		patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`),
		patch("kwok-mgr", "Workload/default/job-train-1c348", `{status: {admissionChecks: null}}`),
	}
}

func staleCases() []testCase {
	behind := patch("kwok-mgr", "Job/train", `{status: {ready: 0}}`)
	return []testCase{
		{name: "MultiKueue has stopped to copy", code: "JM104", base: "running", fires: true, edits: []edit{
			behind, writtenAt("kwok-mgr", "20"), writtenAt("kwok-w1", "30"),
		}},
		{name: "a counter cannot decrease", code: "JM104", base: "running", fires: true, edits: decreased("failed: 2")},
		{name: "dispatched, and not copied", code: "JM104", base: "running", fires: true, edits: []edit{
			addDispatched(""), addCopy("kwok-w1", "mirror-of-other", "", started),
		}},
		{name: "the queue has no MultiKueue check any more", code: "JM104", base: "running", fires: true, edits: append(checkLost(),
			behind, writtenAt("kwok-mgr", "20"), writtenAt("kwok-w1", "30"))},
		{name: "all is copied", code: "JM104", base: "running"},
		{name: "the mirror has changed just now", code: "JM104", base: "running", edits: []edit{
			behind, writtenAt("kwok-mgr", "20"), writtenAt("kwok-w1", "43"),
		}},
		{name: "its owner has written something else since", code: "JM104", base: "running", edits: []edit{
			behind, writtenAt("kwok-mgr", "31"), writtenAt("kwok-w1", "30"),
		}},
		{name: "the origin is suspended", code: "JM104", base: "running", edits: []edit{
			behind, patch("kwok-mgr", "Job/train", `{spec: {suspend: true}}`),
		}},
		{name: "the manager does not reach the worker", code: "JM104", base: "running", edits: []edit{
			behind, patch("kwok-mgr", "MultiKueueCluster/worker1", `{status: {conditions: [{type: Active, status: "False", reason: ClientConnectionFailed, message: "", lastTransitionTime: "2026-11-20T23:43:30Z"}]}}`),
		}},
		{name: "the worker cannot be read", code: "JM104", base: "worker-lost"},
		{name: "another Job of the same name", code: "JM104", base: "same-name-on-workers", edits: []edit{
			patch("kwok-mgr", "Job/train", `{spec: {managedBy: `+runner+`}, status: {active: 1, startTime: "2026-11-20T23:25:23Z"}}`),
		}},
	}
}

func goneMirrorCases() []testCase {
	noJob, noCopy := remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/job-train-1c348")
	check := func(state string) edit {
		return patch("kwok-mgr", "Workload/job-train-1c348",
			`{status: {admissionChecks: [{name: multikueue, state: `+state+`, message: "Admitting remote no longer exists", lastTransitionTime: "2026-11-20T23:43:40Z"}]}}`)
	}
	return []testCase{
		{name: "deleted on the worker", code: "JM105", base: "running", fires: true, edits: []edit{noJob, noCopy}},
		{name: "its Workload is still there", code: "JM105", base: "running", fires: true, edits: []edit{noJob}},
		{name: "dispatched, and deleted there", code: "JM105", base: "running", fires: true, edits: []edit{addDispatched(started)}},
		{name: "another Job in its place", code: "JM105", base: "running", fires: true, edits: []edit{
			addDispatched(started), addOther("kwok-w1", "default", ""),
		}},
		{name: "the mirror of another Job in its place", code: "JM105", base: "running", fires: true, edits: []edit{
			addDispatched(started), addOther("kwok-w1", "default", "labels: {jobmanagedby.github.io/origin-uid: someone-elses}"),
		}},
		{name: "another Job in its place, in another namespace", code: "JM105", base: "running", fires: true, edits: []edit{
			dispatchedTo("batch"), addOther("kwok-w1", "batch", ""),
		}},
		{name: "of another owner, and another Job in its place", code: "JM105", base: "running", fires: true, edits: []edit{
			addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, started),
			addOther("kwok-w1", "default", ""),
		}},
		{name: "dispatched, and never started", code: "JM105", base: "running", fires: true, edits: []edit{addDispatched("")}},
		{name: "in another namespace, which may not have been read", code: "JM105", base: "running", edits: []edit{dispatchedTo("batch")}},
		{name: "recreated in its place", code: "JM105", base: "running", edits: []edit{addDispatched(started), addCopy("kwok-w1", "newer-mirror", "", started)}},
		{name: "without its mark", code: "JM105", base: "running", edits: []edit{
			addDispatched(started), addOther("kwok-w1", "default", ""), patch("kwok-w1", "Job/other", `{metadata: {uid: mirror-of-other}}`),
		}},
		{name: "there", code: "JM105", base: "running"},
		{name: "dispatched, and there", code: "JM105", base: "running", edits: []edit{addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", started)}},
		{name: "MultiKueue has noticed", code: "JM105", base: "running", edits: []edit{noJob, noCopy, check("Retry")}},
		{name: "the worker cannot be read", code: "JM105", base: "worker-lost"},
		{name: "dispatched to where we cannot look", code: "JM105", base: "running", edits: []edit{addDispatched(started), unreachable("kwok-w1")}},
		{name: "finished, and the mirror deleted", code: "JM105", base: "running", edits: []edit{
			addDispatched(ended), noJob, noCopy,
			patch("kwok-mgr", "Job/train", `{status: {active: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]}}`),
		}},
		{name: "no mirror is known of", code: "JM105", base: "running", edits: []edit{addOwned(runner, "newer", newerUID, "", started)}},
	}
}

func originGoneCases() []testCase {
	copied := addCopy("kwok-w1", "mirror-of-other", "", started)
	again := addOwned("jobmanagedby.github.io/dispatch", "other", newerUID, "", "")
	return []testCase{
		{name: "origin deleted", code: "JM106", base: "running", fires: true, edits: []edit{copied}},
		{name: "origin there", code: "JM106", base: "running", edits: []edit{copied, addDispatched(started)}},
		{name: "finished", code: "JM106", base: "running", edits: []edit{addCopy("kwok-w1", "mirror-of-other", "", ended)}},
		{name: "the origin's cluster does not answer", code: "JM106", base: "running", edits: []edit{copied, unreachable("kwok-mgr")}},
		{name: "MultiKueue's", code: "JM106", base: "origin-deleted-controller-down"},

		{name: "origin created again", code: "JM108", base: "running", fires: true, edits: []edit{copied, again}},
		{name: "of this origin", code: "JM108", base: "running", edits: []edit{copied, addDispatched(started)}},
	}
}

func severalCases() []testCase {
	first, second := addCopy("kwok-w1", "mirror-of-other", "", started), addCopy("kwok-w2", "second-of-other", "", started)
	return []testCase{
		{name: "dispatched twice", code: "JM107", base: "running", fires: true, edits: []edit{addDispatched(started), first, second}},
		{name: "ambiguous mirrors of MultiKueue", code: "JM107", base: "cluster-removed-from-config", fires: true, edits: []edit{
			remove("kwok-mgr", "Workload/job-train-267ae"),
		}},
		{name: "one has finished", code: "JM107", base: "running", edits: []edit{
			addDispatched(started), first, addCopy("kwok-w2", "second-of-other", "", ended),
		}},
		{name: "one is being deleted", code: "JM107", base: "running", edits: []edit{
			addDispatched(started), first, second,
			patch("kwok-w2", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [foregroundDeletion]}}`),
		}},
		{name: "others of the same name", code: "JM107", base: "same-name-on-workers", edits: []edit{
			patch("kwok-mgr", "Job/train", `{spec: {managedBy: `+runner+`}, status: {active: 1, startTime: "2026-11-20T23:25:23Z"}}`),
		}},
		{name: "one", code: "JM107", base: "running"},
	}
}

func writerCases() []testCase {
	pod := func(name, uid string) edit {
		return add("kwok-mgr", fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s-abcde, namespace: default, uid: pod-of-%s, creationTimestamp: "2026-11-20T23:43:30Z",
			labels: {batch.kubernetes.io/job-name: %s},
			ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %s, uid: %s, controller: true}]}, status: {phase: Running}}`, name, name, name, name, uid))
	}
	writer := func(manager string) string {
		return `managedFields: [{manager: ` + manager + `, operation: Update, apiVersion: batch/v1, fieldsType: FieldsV1, fieldsV1: {}, subresource: status, time: "2026-11-20T23:43:31Z"}]`
	}
	return []testCase{
		{name: "pods of MultiKueue's Job", code: "JM109", base: "running", fires: true, edits: []edit{pod("train", "880662c0-8617-4219-bfcd-5b29336ab0fa")}},
		{name: "the built-in controller writes its status", code: "JM109", base: "running", fires: true, edits: []edit{
			addOwned(runner, "newer", newerUID, writer("kube-controller-manager"), started),
		}},
		{name: "a controller that runs pods where the Job is", code: "JM109", base: "running", edits: []edit{
			addOwned(runner, "newer", newerUID, writer("runner"), started), pod("newer", newerUID),
		}},
		{name: "pods on the worker", code: "JM109", base: "running"},
	}
}

// TestSecondWriterByVersion checks that no fix sets a feature gate that is locked: a component that sets it may not start.
func TestSecondWriterByVersion(t *testing.T) {
	for version, fix := range map[string]string{
		"v1.34.2": "enable the feature gate JobManagedBy in kube-controller-manager of kwok-mgr; then ",
		"v1.35.0": "find out which controller of kwok-mgr does that: it may be a kube-controller-manager older than 1.32, or one older than 1.35 with the feature gate JobManagedBy off; then ",
		"":        "before Kubernetes 1.35, enable the feature gate JobManagedBy in kube-controller-manager of kwok-mgr; then ",
	} {
		v := writerCases()[0].make(t)
		v.Facts("kwok-mgr").Version = version
		f := findingOf(t, judge(t, v, rules.All(), 0), "JM109")
		assert.Assert(t, strings.HasPrefix(f.Remedy, fix), "%s: %s", version, f.Remedy)
	}
}

// TestCounterWouldDecrease checks that a status with a smaller counter is reported as one that can
// never be copied, and not as one to wait for.
func TestCounterWouldDecrease(t *testing.T) {
	indexed := patch("kwok-mgr", "Job/train", `{spec: {completionMode: Indexed}}`)
	larger := patch("kwok-mgr", "Job/train", `{spec: {completions: 3}}`)
	for name, tt := range map[string]struct {
		edits []edit
		// want is the counter that would decrease, "" if the status is only late.
		want string
	}{
		"failed":                    {decreased("failed: 2"), "status.failed would decrease from 2 to 0"},
		"succeeded":                 {decreased("succeeded: 1"), "status.succeeded would decrease from 1 to 0"},
		"failed of a scalable Job":  {append(decreased("failed: 2"), indexed), "status.failed would decrease from 2 to 0"},
		"succeeded of one":          {append(decreased("succeeded: 1"), indexed), ""},
		"succeeded of a larger one": {append(decreased("succeeded: 1"), indexed, larger), "status.succeeded would decrease from 1 to 0"},
	} {
		c := testCase{base: "running", edits: tt.edits}
		rule, _ := rules.ByCode("JM104")
		found := judge(t, c.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, name)
		assert.Assert(t, strings.Contains(found[0].Message, tt.want), "%s: %s", name, found[0].Message)
		assert.Equal(t, strings.Contains(found[0].Message, "cannot"), tt.want != "", name)
		assert.Equal(t, found[0].AwaitsActor, tt.want == "", name)
	}
}

// decreased returns the edits of the recording "running" after which the origin counts more Pods than its mirror.
func decreased(counter string) []edit {
	return []edit{patch("kwok-mgr", "Job/train", `{status: {`+counter+`, ready: 0}}`), writtenAt("kwok-mgr", "20"), writtenAt("kwok-w1", "30")}
}
