package rules_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

func engagementCases() []testCase {
	return slices.Concat(managedByCases(), queueNameCases(), unknownOwnerCases(), adapterCases(), noWorkloadCases(), ownWorkerCases())
}

// rejected makes MultiKueue reject the Workload of a recording.
func rejected(workload, message string) edit {
	return patch("kwok-mgr", "Workload/default/"+workload, fmt.Sprintf(`{spec: {active: false}, status: {admission: null, clusterName: null,
		admissionChecks: [{name: multikueue, state: Rejected, message: %q, lastTransitionTime: "2026-11-20T23:50:26Z"}],
		conditions: [{type: QuotaReserved, status: "False", reason: Deactivated, message: The workload is deactivated, lastTransitionTime: "2026-11-20T23:50:26Z"}]}}`, message))
}

const notManaged = `The owner is not managed by Kueue: Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "", Previously: "Pending"`

// ownedBy makes another kind the owner of a Workload.
func ownedBy(workload, apiVersion, kind string) edit {
	return patch("kwok-mgr", "Workload/default/"+workload, fmt.Sprintf(
		`{metadata: {labels: null, ownerReferences: [{apiVersion: %s, kind: %s, name: x, uid: "1", controller: true}]}}`, apiVersion, kind))
}

func managedByCases() []testCase {
	const workload = "job-train-f2552"
	return []testCase{
		{name: "webhook unavailable", code: "JM012", base: "managed-by-missing", fires: true},
		{name: "a JobSet", code: "JM012", base: "managed-by-missing", fires: true, edits: []edit{ownedBy(workload, "jobset.x-k8s.io/v1alpha2", "JobSet")}},
		{name: "finished", code: "JM012", base: "managed-by-missing", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:50:26Z"}]}}`),
		}},
		{name: "being deleted", code: "JM012", base: "managed-by-missing", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {deletionTimestamp: "2026-11-20T23:50:26Z", finalizers: [example.com/x]}}`),
		}},
		{name: "its Job is gone", code: "JM012", base: "managed-by-missing", edits: []edit{remove("kwok-mgr", "Job/default/train")}},
		{name: "a check of another controller", code: "JM012", base: "managed-by-missing", edits: []edit{
			patch("kwok-mgr", "AdmissionCheck/multikueue", `{spec: {controllerName: example.com/other}}`),
		}},
		{name: "left its queue, as the fix says", code: "JM012", base: "managed-by-missing", edits: []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}, spec: {managedBy: example.com/unknown, suspend: false}}`),
		}},
		{name: "left its queue, to run where it is", code: "JM012", base: "managed-by-missing", edits: []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}, spec: {suspend: false}, status: {active: 1}}`),
		}},
		{name: "out of its queue, and suspended", code: "JM012", base: "managed-by-missing", fires: true, edits: []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}, spec: {managedBy: example.com/unknown, suspend: true}}`),
		}},
		{name: "set", code: "JM012", base: "running"},
		{name: "in a queue that does not dispatch", code: "JM012", base: "wrong-queue"},
	}
}

// admittedHere makes the manager admit the Workload of the recording
// "running" for itself.
func admittedHere() []edit {
	return []edit{
		patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`),
		patch("kwok-mgr", "Job/default/train", `{status: null}`),
		patch("kwok-mgr", "Workload/default/job-train-1c348", `{status: {admissionChecks: null, clusterName: null}}`),
		remove("kwok-w1", "Job/default/train"),
		remove("kwok-w1", "Workload/default/job-train-1c348"),
	}
}

// withoutKueue removes all objects of Kueue from a recording's manager.
func withoutKueue() []edit {
	return []edit{
		remove("kwok-mgr", "ClusterQueue/*"), remove("kwok-mgr", "LocalQueue/*"), remove("kwok-mgr", "AdmissionCheck/*"),
		remove("kwok-mgr", "MultiKueueConfig/*"), remove("kwok-mgr", "MultiKueueCluster/*"),
	}
}

func queueNameCases() []testCase {
	return []testCase{
		{name: "no queue", code: "JM013", base: "no-queue-name", fires: true},
		{name: "no queue, and the Workloads are unreadable", code: "JM013", base: "no-queue-name", fires: true, edits: []edit{forbidden("kwok-mgr", "workloads.kueue.x-k8s.io")}},
		{name: "suspended, and the Workloads are unreadable", code: "JM013", base: "no-queue-name", edits: []edit{
			forbidden("kwok-mgr", "workloads.kueue.x-k8s.io"), patch("kwok-mgr", "Job/default/train", `{spec: {suspend: true}}`),
		}},
		{name: "in a queue, and the Workloads are unreadable", code: "JM013", base: "no-queue-name", edits: []edit{
			forbidden("kwok-mgr", "workloads.kueue.x-k8s.io"), patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}}`),
		}},
		{name: "the queue does not dispatch", code: "JM013", base: "running", fires: true, edits: admittedHere()},
		{name: "it requests nothing of the queue's", code: "JM013", base: "running", fires: true, edits: append(admittedHere()[1:],
			patch("kwok-mgr", "Workload/default/job-train-1c348", `{status: {admission: {podSetAssignments: [{name: main, count: 1}]}}}`))},
		{name: "it has a flavor, and the check will follow", code: "JM013", base: "running", edits: admittedHere()[1:]},
		{name: "no Kueue", code: "JM013", base: "no-queue-name", fires: true, edits: withoutKueue()},
		{name: "no Kueue, and dispatched in its place", code: "JM013", base: "no-queue-name", edits: append(withoutKueue(),
			patch("kwok-mgr", "Job/default/train", `{metadata: {annotations: {jobmanagedby.github.io/mirror: c/default/train/u}}}`))},
		{name: "a Workload was made", code: "JM013", base: "running"},
		{name: "another owner", code: "JM013", base: "unknown-owner"},
		{name: "a queue", code: "JM013", base: "no-queue-name", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}}`),
		}},
		{name: "being deleted", code: "JM013", base: "no-queue-name", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {deletionTimestamp: "2026-11-20T23:50:26Z", finalizers: [example.com/x]}}`),
		}},
		{
			name: "the queue dispatches, since lately", code: "JM013", base: "running",
			edits: append(admittedHere(), patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}}`)),
		},
		{
			name: "it was given to a worker before the queue ceased to dispatch", code: "JM013", base: "running",
			edits: []edit{patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`)},
		},
	}
}

func unknownOwnerCases() []testCase {
	const other = `{apiVersion: batch/v1, kind: Job, metadata: {name: other, namespace: default, uid: "2", creationTimestamp: "2026-11-20T23:25:00Z"},
		spec: {managedBy: batch.example.com/nobody, completions: 1, parallelism: 1, selector: {}, template: {metadata: {}, spec: {containers: []}}}, status: %s}`
	owner := func(value string) edit {
		return patch("kwok-mgr", "Job/default/train", fmt.Sprintf(`{spec: {managedBy: %q}}`, value))
	}
	return []testCase{
		{name: "nobody", code: "JM014", base: "unknown-owner", fires: true},
		{name: "nobody, twice", code: "JM014", base: "unknown-owner", fires: true, edits: []edit{add("kwok-mgr", fmt.Sprintf(other, `{}`))}},
		{name: "suspended by a queue", code: "JM014", base: "unknown-owner", fires: true, edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}, spec: {suspend: true}}`),
		}},
		{name: "suspended by its author", code: "JM014", base: "unknown-owner", edits: []edit{patch("kwok-mgr", "Job/default/train", `{spec: {suspend: true}}`)}},
		{name: "another one is claimed", code: "JM014", base: "unknown-owner", edits: []edit{
			add("kwok-w1", fmt.Sprintf(other, `{active: 1, startTime: "2026-11-20T23:25:10Z"}`)),
		}},
		{name: "claimed", code: "JM014", base: "unknown-owner", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{status: {active: 2, startTime: "2026-11-20T23:25:40Z"}}`),
		}},
		{name: "MultiKueue", code: "JM014", base: "no-queue-name"},
		{name: "dispatch", code: "JM014", base: "unknown-owner", edits: []edit{owner("jobmanagedby.github.io/dispatch")}},
		{name: "built-in", code: "JM014", base: "unknown-owner", edits: []edit{owner("kubernetes.io/job-controller")}},
		{name: "of another kind", code: "JM014", base: "unknown-owner", edits: []edit{owner("jobset.sigs.k8s.io/jobset-controller")}},
		{name: "being deleted", code: "JM014", base: "unknown-owner", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {deletionTimestamp: "2026-11-20T23:50:26Z", finalizers: [example.com/x]}}`),
		}},
	}
}

func adapterCases() []testCase {
	const (
		workload = "job-train-f2552"
		spark    = `No multikueue adapter found for owner kind "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication", Previously: "Pending"`
		job      = `No multikueue adapter found for owner kind "batch/v1, Kind=Job", Previously: "Pending"`
		gate     = `The owner is not managed by Kueue: MultiKueueAdaptersForCustomJobs feature gate is disabled, Previously: "Pending"`
	)
	finished := patch("kwok-mgr", "Workload/default/"+workload, `{status: {conditions: [{type: Finished, status: "True", reason: Succeeded, message: done, lastTransitionTime: "2026-11-20T23:51:26Z"}]}}`)
	return []testCase{
		{name: "a Job", code: "JM015", base: "managed-by-missing", fires: true, edits: []edit{rejected(workload, job)}},
		{name: "another kind", code: "JM015", base: "managed-by-missing", fires: true, edits: []edit{
			rejected(workload, spark), ownedBy(workload, "sparkoperator.k8s.io/v1beta2", "SparkApplication"),
		}},
		{name: "of nobody", code: "JM015", base: "managed-by-missing", fires: true, edits: []edit{
			rejected(workload, "No multikueue adapter found"), patch("kwok-mgr", "Workload/default/"+workload, `{metadata: {labels: null, ownerReferences: null}}`),
		}},
		{name: "finished", code: "JM015", base: "managed-by-missing", edits: []edit{rejected(workload, job), finished}},
		{name: "rejected for another reason", code: "JM015", base: "managed-by-missing"},
		{name: "gate off", code: "JM016", base: "managed-by-missing", fires: true, edits: []edit{
			rejected(workload, gate), ownedBy(workload, "tekton.dev/v1", "PipelineRun"),
		}},
		{name: "not rejected", code: "JM016", base: "running"},
		{name: "rejected for another reason", code: "JM016", base: "managed-by-missing"},
		{name: "the gate is no missing managedBy", code: "JM012", base: "managed-by-missing", edits: []edit{
			rejected(workload, gate), ownedBy(workload, "tekton.dev/v1", "PipelineRun"),
		}},
		{name: "rejected a second time", code: "JM012", base: "managed-by-missing", fires: true, edits: []edit{rejected(workload, notManaged)}},
	}
}

// names has the origin of a recording name its Workload.
func names(workload string) edit {
	return patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/prebuilt-workload-name: `+workload+`}}}`)
}

func noWorkloadCases() []testCase {
	const workload = "Workload/default/job-train-f2552"
	const warning = `{apiVersion: v1, kind: Event, metadata: {name: w, namespace: default}, type: Warning, reason: ErrWorkloadCompose, message: "no such priority class",
		involvedObject: {kind: Job, namespace: default, name: train, uid: eb478f4d-5da0-488b-bba9-661edac7e86b}, lastTimestamp: "2026-11-20T23:50:27Z"}`
	return []testCase{
		{name: "suspended", code: "JM017", base: "managed-by-missing", fires: true, edits: []edit{remove("kwok-mgr", workload)}},
		{name: "with a warning", code: "JM017", base: "managed-by-missing", fires: true, edits: []edit{remove("kwok-mgr", workload), add("kwok-mgr", warning)}},
		{name: "delegated", code: "JM017", base: "no-queue-name", fires: true, edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}, spec: {suspend: true}}`),
		}},
		{name: "finished", code: "JM017", base: "running", edits: []edit{
			patch("kwok-mgr", "Job/default/train", `{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:50:26Z"}]}}`),
			remove("kwok-mgr", "Workload/default/job-train-1c348"),
		}},
		{name: "no queue", code: "JM017", base: "no-queue-name"},
		{name: "no Kueue", code: "JM017", base: "no-queue-name", edits: append(withoutKueue(),
			patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}}`))},
		{name: "a queue that does not dispatch", code: "JM017", base: "managed-by-missing", edits: []edit{
			remove("kwok-mgr", workload), patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`),
		}},
		{name: "it runs where it is", code: "JM017", base: "managed-by-missing", edits: []edit{
			remove("kwok-mgr", workload), patch("kwok-mgr", "Job/default/train", `{spec: {suspend: false}, status: {active: 2, startTime: "2026-11-20T23:50:30Z", conditions: null}}`),
		}},
		{name: "the Workload that it names does not exist", code: "JM017", base: "running", fires: true, edits: []edit{
			names("team-wl"), patch("kwok-mgr", "Job/default/train", `{spec: {suspend: true}, status: null}`), remove("kwok-mgr", "Workload/default/job-train-1c348"),
		}},
		{name: "the Workload that it names belongs to another Job", code: "JM017", base: "running", fires: true, edits: []edit{
			names("team-wl"), patch("kwok-mgr", "Job/default/train", `{spec: {suspend: true}, status: null}`),
			patch("kwok-mgr", "Workload/default/job-train-1c348", `{metadata: {name: team-wl, labels: null, ownerReferences: [
				{apiVersion: batch/v1, kind: Job, name: other, uid: another, controller: true}]}}`),
		}},
		{name: "the Workload that it names exists", code: "JM017", base: "running", edits: []edit{names("job-train-1c348")}},
		{name: "a Workload waits", code: "JM017", base: "no-quota-on-workers"},
	}
}

// pointsTo gives a MultiKueueCluster's Secret another server.
func pointsTo(secret, server string) edit {
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: x\n  cluster: {server: %q}\n", server)
	return patch("kwok-mgr", "Secret/kueue-system/"+secret, fmt.Sprintf(`{data: {kubeconfig: %s}}`, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
}

func ownWorkerCases() []testCase {
	const manager = "https://127.0.0.1:32764"
	return []testCase{
		{name: "the same server", code: "JM018", base: "running", fires: true, edits: []edit{pointsTo("worker2-secret", manager)}},
		{name: "and a Job was given to it", code: "JM018", base: "running", fires: true, edits: []edit{pointsTo("worker1-secret", manager)}},
		{name: "by the name that every cluster has for itself", code: "JM018", base: "running", fires: true, edits: []edit{
			pointsTo("worker2-secret", "https://kubernetes.default.svc:443"), patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`),
		}},
		{name: "another server", code: "JM018", base: "running"},
		{name: "the same address in another network", code: "JM018", base: "running", edits: []edit{
			pointsTo("worker2-secret", manager), cannotUse("worker2", "ClientConnectionFailed", lost),
		}},
		{name: "being deleted", code: "JM018", base: "running", edits: []edit{
			pointsTo("worker2-secret", manager),
			patch("kwok-mgr", "MultiKueueCluster/worker2", `{metadata: {deletionTimestamp: "2026-11-20T23:40:00Z"}}`),
		}},
		{name: "its Secret cannot be read", code: "JM018", base: "one-worker-unusable"},
	}
}

// TestQueueToJoin checks that a Job without a queue label gets a queue through which it can run, or the fix
// says what is missing: a request that the queue covers, or the queue on the workers.
func TestQueueToJoin(t *testing.T) {
	const deletion = "`kubectl --context kwok-mgr -n default delete job train`"
	recreate := func(queue string) string {
		return "with a queue label: `kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue " + queue + "`"
	}
	only := func(resource string) edit {
		return patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {resourceGroups: [{coveredResources: [`+resource+`], flavors: [{name: default-flavor, resources: [{name: `+resource+`, nominalQuota: 4}]}]}]}}`)
	}
	requests := func(resources string) edit {
		return patch("kwok-mgr", "Job/default/train", `{spec: {template: {spec: {containers: [{name: main, image: i, resources: `+resources+`}]}}}}`)
	}
	other := add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {namespace: default, name: another, uid: "9"}, spec: {clusterQueue: cluster-queue}}`)
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"it requests what the queue covers": {nil, "recreate it " + recreate("user-queue")},
		"it requests nothing": {
			[]edit{requests("{}")},
			"delete the Job: " + deletion + ", and create the Job again with label kueue.x-k8s.io/queue-name=user-queue and a request for cpu or memory",
		},
		"it requests something else": {
			[]edit{requests("{limits: {example.com/gpu: 1}}"), only("nvidia.com/gpu")},
			"delete the Job: " + deletion + ", and create the Job again with label kueue.x-k8s.io/queue-name=user-queue and a request for nvidia.com/gpu",
		},
		"a limit is a request":       {[]edit{requests("{limits: {cpu: 1}}")}, "recreate it " + recreate("user-queue")},
		"the queue counts Pods":      {[]edit{requests("{}"), only("pods")}, "recreate it " + recreate("user-queue")},
		"a queue that no worker has": {[]edit{other}, "recreate it " + recreate("user-queue")},
		"no queue exists on the workers": {
			[]edit{other, remove("kwok-mgr", "LocalQueue/default/user-queue")},
			"create LocalQueue default/another on kwok-w1: `printf '%s\\n' '{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"another\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"cluster-queue\"}}' | kubectl --context kwok-w1 create -f -`, and then recreate the Job " + recreate("another"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCase{name: name, code: "JM013", base: "no-queue-name", edits: tt.edits}
			f := findingOf(t, judge(t, c.make(t), rules.All(), 0), "JM013")
			assert.Equal(t, f.Remedy, tt.want)
		})
	}
}
