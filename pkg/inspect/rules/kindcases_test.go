package rules_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

func kindCases() []testCase {
	all := slices.Concat(ownRunCases(), returnedCases(), blindCases(), allowedCases(), templateCases(), otherKindCases(), resizedKindCases(), silentCases())
	for i := range all {
		all[i].base = "running"
	}
	return all
}

// podOf adds a pod to the management cluster, with a label and what controls it.
func podOf(name, label, value, owner string) edit {
	return add("kwok-mgr", fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, uid: pod-%s,
		creationTimestamp: "2026-11-20T23:43:33Z", labels: {%s: %s}, ownerReferences: [{apiVersion: v1, kind: Some, name: x, uid: %s, controller: true}]},
		spec: {nodeName: node-1}, status: {phase: Running}}`, name, name, label, value, owner))
}

// ownRunCases are those of JM301 and JM302.
func ownRunCases() []testCase {
	train, ray, set, torch := specimenOf("trainjob"), specimenOf("rayjob"), specimenOf("jobset"), specimenOf("pytorchjob")
	jobSet := func(owner, spec, status string) edit {
		return add("kwok-mgr", strings.NewReplacer("my-jobset", train.name, "uid: x", "uid: its-jobset, ownerReferences: ["+owner+"]").Replace(
			set.object("x", "generation: 1", spec, status)))
	}
	byTrainJob := `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: my-trainjob, uid: ` + train.uid() + `, controller: true}`
	job := add("kwok-mgr", `{apiVersion: batch/v1, kind: Job, metadata: {name: my-trainjob-node-0, namespace: default, uid: its-job, creationTimestamp: "2026-11-20T23:43:33Z",
		ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: my-trainjob, uid: its-jobset, controller: true}]},
		spec: {suspend: false}, status: {active: 1, ready: 1, startTime: "2026-11-20T23:43:33Z"}}`)
	const jobSetName, jobName = "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name"
	pod := podOf("my-trainjob-node-0-0-abcde", jobSetName, train.name, "its-job")
	runs := func(s specimen, more ...edit) []edit { return append(s.running(), more...) }
	given := func(s specimen, owner delegation.Owner, more ...edit) []edit {
		return append([]edit{add("kwok-mgr", s.object(s.uid(), "generation: 1", s.owned(s.spec, owner), s.status))}, more...)
	}
	return []testCase{
		{name: "a JobSet also created on the manager", code: "JM301", kinds: everyKind(), fires: true, edits: runs(train, jobSet(byTrainJob, set.spec, set.status), job, pod)},
		{name: "a JobSet is made here too, and waits", code: "JM301", kinds: everyKind(), fires: true, edits: runs(train, jobSet(byTrainJob, set.suspended, ""))},
		{name: "a foreign JobSet of that name", code: "JM301", kinds: everyKind(), edits: runs(train, jobSet("", set.spec, set.status), job, pod)},
		{name: "whose pods these are is not known", code: "JM301", kinds: []string{"trainjob"}, edits: runs(train, jobSet("", set.spec, set.status), job, pod)},
		{name: "over", code: "JM301", kinds: everyKind(), edits: append(train.over(), jobSet(byTrainJob, set.spec, set.ended))},
		{name: "respected", code: "JM301", kinds: everyKind(), edits: train.running()},
		{name: "a kind whose controller respects managedBy", code: "JM301", kinds: everyKind(), edits: runs(ray, ray.part("kwok-mgr", ray.parts[0], ray.uid(), "generation: 1"))},

		{name: "a RayJob's RayCluster", code: "JM302", kinds: everyKind(), fires: true, edits: runs(ray, ray.part("kwok-mgr", ray.parts[0], ray.uid(), inQueue))},
		{name: "a JobSet's Jobs", code: "JM302", kinds: everyKind(), fires: true, edits: runs(set, set.part("kwok-mgr", set.parts[0], set.uid(), "generation: 1"))},
		{name: "a JobSet's pods, whose Jobs are not read", code: "JM302", kinds: []string{"jobset"}, fires: true, edits: runs(set, podOf("my-jobset-main-0-0-abcde", jobSetName, set.name, "its-job"))},
		{name: "a PyTorchJob's pods", code: "JM302", kinds: []string{"pytorchjob"}, fires: true, edits: runs(torch,
			podOf("my-pytorchjob-worker-0", jobName, torch.name, torch.uid()), podOf("my-pytorchjob-master-0", jobName, torch.name, torch.uid()))},
		{name: "the pods of another kind's object of that name", code: "JM302", kinds: everyKind(), edits: runs(torch, podOf("my-pytorchjob-worker-0", jobName, torch.name, "a-tfjob"))},
		{name: "pods that an older one has left", code: "JM302", kinds: everyKind(), edits: runs(set,
			podOf("my-jobset-main-0-0-abcde", jobSetName, set.name, "its-job"), patch("kwok-mgr", "Pod/default/my-jobset-main-0-0-abcde", `{metadata: {creationTimestamp: "2026-11-20T23:40:00Z"}}`))},
		{name: "an owner that runs it where it is", code: "JM302", kinds: everyKind(), edits: given(set, runner, set.part("kwok-mgr", set.parts[0], set.uid(), "generation: 1"))},
		{name: "not delegated", code: "JM302", kinds: everyKind(), edits: given(ray, "ray.io/kuberay-operator", ray.part("kwok-mgr", ray.parts[0], ray.uid(), "generation: 1"))},
		{name: "a TrainJob", code: "JM302", kinds: everyKind(), edits: runs(train, jobSet(byTrainJob, set.spec, set.status))},
		{name: "nothing there", code: "JM302", kinds: everyKind(), edits: slices.Concat(ray.running(), set.running(), torch.running())},
	}
}

// undelegated is a specimen that was delegated, but is no longer.
func undelegated(s specimen, spec, status string) []edit {
	edits := append(s.workloads("worker1"), add("kwok-mgr", s.object(s.uid(), inQueue, spec, status)))
	return append(edits, s.copied("kwok-w1", s.spec, s.status)...)
}

// returnedCases are those of JM303.
func returnedCases() []testCase {
	ray, train, set := specimenOf("rayjob"), specimenOf("trainjob"), specimenOf("jobset")
	ours := add("kwok-w1", set.object("mirror-of-jobset", `labels: {jobmanagedby.github.io/origin-uid: `+set.uid()+`},
		annotations: {jobmanagedby.github.io/origin: `+managerUID+`/default/my-jobset}`, set.spec, set.status))
	return []testCase{
		{name: "it runs on both", code: "JM303", kinds: everyKind(), fires: true, edits: undelegated(ray, ray.spec, ray.status)},
		{name: "suspended on the manager", code: "JM303", kinds: []string{"rayjob"}, fires: true, edits: undelegated(ray, ray.suspended, "jobDeploymentStatus: Suspended")},
		{name: "its Workload is gone too", code: "JM303", kinds: everyKind(), fires: true, edits: append(undelegated(ray, ray.spec, ray.status), remove("kwok-mgr", "Workload/"+ray.workload()))},
		{name: "its Workload of an earlier size is gone too", code: "JM303", kinds: []string{"rayjob"}, fires: true, edits: append(undelegated(ray, ray.spec, ray.status),
			remove("kwok-mgr", "Workload/"+ray.workload()), patch("kwok-mgr", "RayJob/my-rayjob", `{metadata: {generation: 2, annotations: {`+delegation.ElasticMark+`: "true"}}}`),
			patch("kwok-w1", "RayJob/my-rayjob", `{metadata: {annotations: {`+delegation.PrebuiltWorkload+`: `+ray.row.WorkloadNames(ray.name, ray.uid(), "1")[0]+`}}}`))},
		{name: "dispatched", code: "JM303", kinds: []string{"jobset"}, fires: true, edits: []edit{ours, add("kwok-mgr", set.object(set.uid(), "generation: 1", set.spec, set.status))}},
		{name: "dispatched, and delegated", code: "JM303", kinds: []string{"jobset"}, edits: []edit{
			ours, add("kwok-mgr", set.object(set.uid(), "generation: 1", set.owned(set.spec, delegation.Dispatch), set.status)),
		}},
		{name: "the mirror is suspended", code: "JM303", kinds: everyKind(), edits: append(undelegated(ray, ray.spec, ray.status),
			patch("kwok-w1", "RayJob/my-rayjob", `{spec: {suspend: true}, status: {jobDeploymentStatus: Suspended}}`))},
		{name: "another object of that name", code: "JM303", kinds: everyKind(), edits: append(undelegated(ray, ray.spec, ray.status),
			patch("kwok-mgr", "RayJob/my-rayjob", `{metadata: {uid: another}}`))},
		{name: "it has ended here", code: "JM303", kinds: everyKind(), edits: undelegated(ray, ray.spec, ray.ended)},
		{name: "of a kind whose owner cannot be changed", code: "JM303", kinds: everyKind(), edits: undelegated(train, train.spec, train.status)},
		{name: "delegated", code: "JM303", kinds: everyKind(), edits: ray.running()},
	}
}

// blindCases are those of JM304.
func blindCases() []testCase {
	ray, set := specimenOf("rayjob"), specimenOf("jobset")
	writtenAs := func(version string) string {
		return inQueue + `, managedFields: [{manager: old-client, operation: Update, apiVersion: ` + version + `, time: "2026-11-20T23:43:35Z", fieldsType: FieldsV1, fieldsV1: {}}]`
	}
	submitted := func(s specimen, context, version, spec string) edit {
		return add(context, s.object(s.uid(), writtenAs(version), spec, "jobDeploymentStatus: Running"))
	}
	const old = "ray.io/v1alpha1"
	rejectedHere := addWorkload("kwok-mgr", ray.workload(), `labels: {kueue.x-k8s.io/job-uid: `+ray.uid()+`}`,
		`admissionChecks: [{name: multikueue, state: Rejected, message: "The owner is not managed by Kueue: Expecting spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"\"", lastTransitionTime: `+since+`}]`)
	return []testCase{
		{name: "created", code: "JM304", kinds: everyKind(), fires: true, edits: []edit{submitted(ray, "kwok-mgr", old, ray.spec)}},
		{name: "created, and rejected", code: "JM304", kinds: everyKind(), fires: true, edits: []edit{
			submitted(ray, "kwok-mgr", old, ray.spec), rejectedHere, patch("kwok-mgr", "Workload/"+ray.workload(), `{spec: {active: false}}`),
		}},
		{name: "updated while its mirror ran", code: "JM304", kinds: everyKind(), fires: true, edits: append(undelegated(ray, ray.spec, ray.status),
			patch("kwok-mgr", "RayJob/my-rayjob", `{metadata: {`+writtenAs(old)+`}}`))},
		{name: "set since", code: "JM304", kinds: everyKind(), edits: []edit{submitted(ray, "kwok-mgr", old, ray.owned(ray.spec, delegation.MultiKueue))}},
		{name: "written through the present version", code: "JM304", kinds: everyKind(), edits: []edit{submitted(ray, "kwok-mgr", "ray.io/v1", ray.spec)}},
		{name: "in a queue that does not dispatch", code: "JM304", kinds: everyKind(), edits: []edit{submitted(ray, "kwok-w2", old, ray.spec)}},
		{name: "of a kind that has no such version", code: "JM304", kinds: everyKind(), edits: []edit{submitted(set, "kwok-mgr", "jobset.x-k8s.io/v1alpha1", set.spec)}},
	}
}

// allowedCases are those of JM305 and JM306.
func allowedCases() []testCase {
	given := func(kind string, owner delegation.Owner, status string) []edit {
		s := specimenOf(kind)
		return []edit{add("kwok-mgr", s.object(s.uid(), "generation: 1", s.owned(s.spec, owner), strings.ReplaceAll(status, "RUNS", s.status)))}
	}
	return []testCase{
		{name: "a PyTorchJob for dispatch", code: "JM305", kinds: everyKind(), fires: true, edits: given("pytorchjob", delegation.Dispatch, "")},
		{name: "a TFJob that its owner runs", code: "JM305", kinds: everyKind(), fires: true, edits: given("tfjob", runner, "RUNS")},
		{name: "a JobSet for dispatch", code: "JM305", kinds: everyKind(), edits: given("jobset", delegation.Dispatch, "")},
		{name: "a PyTorchJob for MultiKueue", code: "JM305", kinds: everyKind(), edits: given("pytorchjob", delegation.MultiKueue, "")},
		{name: "a PyTorchJob for its own controller", code: "JM305", kinds: everyKind(), edits: given("pytorchjob", "kubeflow.org/training-operator", "")},
		{name: "of a webhook that refused it, a typo", code: "JM102", kinds: everyKind(), fires: true, edits: given("pytorchjob", "kueue.x-k8s.io/multikeue", "")},

		{name: "the last part of a known owner", code: "JM102", kinds: everyKind(), fires: true, edits: given("appwrapper", "multikueue", "")},
		{name: "the last part of a known owner", code: "JM306", kinds: everyKind(), fires: true, edits: given("appwrapper", "multikueue", "RUNS")},
		{name: "nobody", code: "JM306", kinds: everyKind(), fires: true, edits: given("pipelinerun", "nobody", "")},
		{name: "a controller that runs it", code: "JM306", kinds: everyKind(), fires: true, edits: given("pipelinerun", "builder", "RUNS")},
		{name: "a whole name", code: "JM306", kinds: everyKind(), edits: given("appwrapper", runner, "")},
		{name: "over", code: "JM306", kinds: everyKind(), edits: given("appwrapper", "multikueue", "phase: Succeeded")},
		{name: "a PipelineRun without a controller", code: "JM014", kinds: everyKind(), fires: true, edits: given("pipelinerun", "nobody", "")},
		{name: "a JobSet that waits to be dispatched", code: "JM101", kinds: everyKind(), fires: true, edits: given("jobset", delegation.Dispatch, "")},
		{name: "a JobSet for the controller of Jobs", code: "JM101", kinds: everyKind(), fires: true, edits: given("jobset", "kubernetes.io/job-controller", "")},
		{name: "an MPIJob without a controller", code: "JM014", kinds: everyKind(), fires: true, edits: given("mpijob", runner, "")},
	}
}

// templateCases are those of JM307.
func templateCases() []testCase {
	cronFor := func(owner, suspended string) edit {
		return add("kwok-mgr", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: default, uid: its-cronjob, creationTimestamp: "2026-11-20T23:00:00Z"},
			spec: {suspend: `+suspended+`, concurrencyPolicy: Forbid, jobTemplate: {spec: {managedBy: `+owner+`}}}, status: {active: [{kind: Job, name: nightly-1}]}}`)
	}
	cron := func(suspended string) edit { return cronFor(runner, suspended) }
	made := func(kind, uid, status string) edit {
		return addOwned(runner, "nightly-1", newerUID, `ownerReferences: [{apiVersion: batch/v1, kind: `+kind+`, name: nightly, uid: `+uid+`, controller: true}]`, status)
	}
	return []testCase{
		{name: "an owner without a controller", code: "JM307", kinds: everyKind(), fires: true, edits: []edit{cron("false"), made("CronJob", "its-cronjob", "")}},
		{name: "CronJobs are not read", code: "JM307", fires: true, edits: []edit{cron("false"), made("CronJob", "its-cronjob", "")}},
		{name: "dispatched by no one", code: "JM307", kinds: everyKind(), fires: true, edits: []edit{
			cronFor("jobmanagedby.github.io/dispatch", "false"), made("CronJob", "its-cronjob", ""), patch("kwok-mgr", "Job/nightly-1", `{spec: {managedBy: jobmanagedby.github.io/dispatch}}`),
		}},
		{name: "an owner with a typo", code: "JM307", kinds: everyKind(), fires: true, edits: []edit{
			cronFor("kueue.x-k8s.io/multikeue", "false"), made("CronJob", "its-cronjob", ""), patch("kwok-mgr", "Job/nightly-1", `{spec: {managedBy: kueue.x-k8s.io/multikeue}}`),
		}},
		{name: "more and more are left", code: "JM307", kinds: everyKind(), fires: true, edits: []edit{
			cron("false"), made("CronJob", "its-cronjob", ""), add("kwok-mgr", `{apiVersion: batch/v1, kind: Job,
				metadata: {name: nightly-2, namespace: default, uid: another, creationTimestamp: "2026-11-20T23:43:20Z",
					ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: its-cronjob, controller: true}]},
				spec: {managedBy: `+runner+`, suspend: false}, status: {}}`),
		}},
		{name: "processed", code: "JM307", kinds: everyKind(), edits: []edit{cron("false"), made("CronJob", "its-cronjob", started)}},
		{name: "makes nothing for the time being", code: "JM307", kinds: everyKind(), edits: []edit{cron("true"), made("CronJob", "its-cronjob", "")}},
		{name: "nothing made so far", code: "JM307", kinds: everyKind(), edits: []edit{cron("false")}},
		{name: "not made by a template", code: "JM307", kinds: everyKind(), edits: []edit{made("Other", "its-cronjob", "")}},
	}
}

// otherKindCases are rules of the other families on objects of other kinds, where
// these differ from Jobs.
func otherKindCases() []testCase {
	set, ray, cluster, pod, stateful, leader := specimenOf("jobset"), specimenOf("rayjob"), specimenOf("raycluster"), specimenOf("pod"), specimenOf("statefulset"), specimenOf("leaderworkerset")
	// decoy has a kind served where there is no other object of it.
	decoy := func(s specimen, context string) edit {
		s.name = "other"
		return add(context, s.object("uid-of-decoy", "generation: 1", s.spec, s.status))
	}
	left := func(s specimen) []edit {
		return append(s.running(), decoy(s, "kwok-mgr"), remove("kwok-mgr", s.row.Kind+"/"+s.name), remove("kwok-mgr", "Workload/"+s.workload()))
	}
	twice := func(s specimen) []edit { return append(s.running(), s.copied("kwok-w2", s.spec, s.status)...) }
	older := func(s specimen, marks string) []edit {
		return append(s.running(), patch("kwok-mgr", s.row.Kind+"/"+s.name, `{metadata: {uid: created-again}}`),
			patch("kwok-mgr", "Workload/"+s.workload(), `{metadata: {labels: {kueue.x-k8s.io/job-uid: created-again}, ownerReferences: null}}`),
			patch("kwok-w1", s.row.Kind+"/"+s.name, marks))
	}
	// inTheWay is what another kind's object of that name is not.
	inTheWay := func(other edit) []edit {
		return append(set.waiting(), other, decoy(set, "kwok-w1"), patch("kwok-w1", "Workload/"+set.workload(),
			`{status: {conditions: [{type: QuotaReserved, status: "True", lastTransitionTime: `+since+`}, {type: Admitted, status: "True", reason: Admitted, lastTransitionTime: `+since+`}]}}`))
	}
	sameName := func(s specimen) edit {
		s.name = set.name
		return add("kwok-w1", s.object("somebody-elses", "generation: 1", s.spec, s.status))
	}
	over := patch("kwok-w1", "RayJob/my-rayjob", `{status: {jobDeploymentStatus: Complete, jobStatus: SUCCEEDED, endTime: "2026-11-20T23:43:35Z"}}`)
	return []testCase{
		{name: "a JobSet", code: "JM053", kinds: everyKind(), fires: true, edits: left(set)},
		{name: "a JobSet whose kind is not read", code: "JM053", edits: left(set)},
		{name: "a JobSet whose kind may not be read here", code: "JM053", kinds: everyKind(), edits: append(left(set), forbidden("kwok-mgr", "jobsets.jobset.x-k8s.io"))},
		{name: "a RayJob, and not its RayCluster", code: "JM053", kinds: everyKind(), fires: true, edits: left(ray)},
		{name: "a RayCluster", code: "JM053", kinds: everyKind(), fires: true, edits: left(cluster)},
		{name: "a Pod", code: "JM053", kinds: everyKind(), fires: true, edits: left(pod)},
		{name: "a StatefulSet", code: "JM053", kinds: everyKind(), fires: true, edits: left(stateful)},
		{name: "a JobSet without a Workload", code: "JM057", kinds: everyKind(), fires: true, edits: append(left(set), remove("kwok-w1", "Workload/"+set.workload()))},

		{name: "a StatefulSet", code: "JM107", kinds: everyKind(), fires: true, edits: twice(stateful)},
		{name: "a LeaderWorkerSet", code: "JM107", kinds: everyKind(), fires: true, edits: twice(leader)},
		{name: "an AppWrapper", code: "JM107", kinds: everyKind(), fires: true, edits: twice(specimenOf("appwrapper"))},
		{name: "a RayService", code: "JM107", kinds: everyKind(), fires: true, edits: twice(specimenOf("rayservice"))},

		{name: "a StatefulSet", code: "JM063", kinds: everyKind(), fires: true, edits: older(stateful, `{spec: {replicas: 2}}`)},
		{name: "a LeaderWorkerSet", code: "JM063", kinds: everyKind(), fires: true, edits: older(leader, `{spec: {replicas: 2}}`)},
		{name: "a JobSet", code: "JM063", kinds: everyKind(), fires: true, edits: append(older(set, `{spec: {suspend: false}}`), remove("kwok-mgr", "Workload/"+set.workload()))},

		{name: "a JobSet in the way of a JobSet", code: "JM034", kinds: everyKind(), fires: true, edits: inTheWay(sameName(set))},
		{name: "a RayCluster in the way of a JobSet", code: "JM034", kinds: everyKind(), edits: inTheWay(sameName(cluster))},
		{name: "a JobSet that is refused, next to a RayCluster", code: "JM035", kinds: everyKind(), fires: true, edits: inTheWay(sameName(cluster))},
		{name: "a JobSet where JobSets may not be read", code: "JM035", kinds: []string{"job"}, edits: inTheWay(sameName(cluster))},

		{name: "a RayJob", code: "JM110", kinds: everyKind(), fires: true, edits: append(ray.running(), over)},
		{name: "a PipelineRun", code: "JM110", kinds: everyKind(), fires: true, edits: append(specimenOf("pipelinerun").running(), patch("kwok-w1", "PipelineRun/my-pipelinerun",
			`{status: {conditions: [{type: Succeeded, status: "False", reason: Failed, lastTransitionTime: "2026-11-20T23:43:33Z"}]}}`))},
		{name: "a StatefulSet, which never ends", code: "JM110", kinds: everyKind(), edits: stateful.running()},
		{name: "a JobSet", code: "JM104", kinds: everyKind(), fires: true, edits: append(set.running(), patch("kwok-mgr", "JobSet/my-jobset", `{status: {replicatedJobsStatus: [{active: 0, ready: 0}]}}`))},
		{name: "a LeaderWorkerSet, whose status is not copied", code: "JM104", kinds: everyKind(), edits: leader.running()},
		{name: "an AppWrapper", code: "JM105", kinds: everyKind(), fires: true, edits: append(specimenOf("appwrapper").running(),
			decoy(specimenOf("appwrapper"), "kwok-w1"), remove("kwok-w1", "AppWrapper/my-appwrapper"))},
		{name: "a TaskRun where TaskRuns are not served", code: "JM105", kinds: everyKind(), edits: append(specimenOf("appwrapper").running(), remove("kwok-w1", "AppWrapper/my-appwrapper"))},
		{name: "a JobSet", code: "JM111", kinds: everyKind(), fires: true, edits: append(set.running(), patch("kwok-mgr", "JobSet/my-jobset",
			`{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [example.com/cleanup]}}`))},
		{name: "a JobSet in no queue", code: "JM013", kinds: everyKind(), fires: true, edits: []edit{
			add("kwok-mgr", set.object(set.uid(), "generation: 1", set.owned(set.spec, delegation.MultiKueue), "")),
		}},
		{name: "a RayJob for which Kueue made nothing", code: "JM017", kinds: everyKind(), fires: true, edits: []edit{ray.origin(ray.suspended, "")}},
		{name: "the parts of what was submitted", code: "JM017", kinds: everyKind(), edits: append(ray.running(), ray.part("kwok-mgr", ray.parts[0], ray.uid(), inQueue),
			patch("kwok-mgr", "RayCluster/my-rayjob-abcde", `{spec: {suspend: true}}`))},
		{name: "a template in a queue", code: "JM017", kinds: everyKind(), edits: []edit{
			add("kwok-mgr", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: default, uid: c, `+inQueue+`}, spec: {suspend: true, jobTemplate: {spec: {}}}}`),
		}},
		{name: "a TFJob whose managedBy is not set", code: "JM012", kinds: everyKind(), fires: true, edits: rejectedOf(specimenOf("tfjob"))},
		{name: "a RayJob whose managedBy is not set", code: "JM012", kinds: everyKind(), fires: true, edits: rejectedOf(ray)},
		{name: "a JobSet whose kind is not read", code: "JM012", fires: true, edits: rejectedOf(set)},
		{name: "a JobSet whose kind may not be read", code: "JM012", kinds: everyKind(), fires: true, edits: append(rejectedOf(set), forbidden("kwok-mgr", "jobsets.jobset.x-k8s.io"))},
		{name: "a JobSet where JobSets may not be read", code: "JM105", kinds: everyKind(), edits: append(set.running(),
			remove("kwok-w1", "JobSet/my-jobset"), forbidden("kwok-w1", "jobsets.jobset.x-k8s.io"))},
		{name: "a JobSet that is gone", code: "JM012", kinds: everyKind(), edits: append(rejectedOf(set), decoy(set, "kwok-mgr"), remove("kwok-mgr", "JobSet/my-jobset"))},
	}
}

// rejectedOf is a specimen that was submitted without an owner.
func rejectedOf(s specimen) []edit {
	owner := fmt.Sprintf(`ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]`, s.row.Resource.GroupVersion(), s.row.Kind, s.name, s.uid())
	return []edit{
		add("kwok-mgr", s.object(s.uid(), inQueue, s.suspended, "")),
		addWorkload("kwok-mgr", s.workload(), `labels: {kueue.x-k8s.io/job-uid: `+s.uid()+`}, `+owner,
			`admissionChecks: [{name: multikueue, state: Rejected, message: "The owner is not managed by Kueue: Expecting spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"\"", lastTransitionTime: `+since+`}]`),
		patch("kwok-mgr", "Workload/"+s.workload(), `{spec: {active: false}}`),
	}
}

// resizedKindCases are those of JM125.
func resizedKindCases() []testCase {
	set, torch, ray := specimenOf("jobset"), specimenOf("pytorchjob"), specimenOf("rayjob")
	sized := func(s specimen, object, origin, mirror string, more ...edit) []edit {
		return slices.Concat(s.running(), []edit{patch("kwok-mgr", object, `{spec: `+origin+`}`), patch("kwok-w1", object, `{spec: `+mirror+`}`)}, more)
	}
	jobs := func(replicas string) string {
		return `{replicatedJobs: [{name: driver, replicas: 1}, {name: workers` + replicas + `}]}`
	}
	groups := func(replicas string) string {
		return `{rayClusterSpec: {workerGroupSpecs: [{groupName: small, replicas: ` + replicas + `}]}}`
	}
	return []testCase{
		{name: "a JobSet has more replicas", code: "JM125", kinds: everyKind(), fires: true, edits: sized(set, "JobSet/my-jobset", jobs(", replicas: 3"), jobs(", replicas: 2"))},
		{name: "a PyTorchJob has more workers", code: "JM125", kinds: []string{"pytorchjob"}, fires: true, edits: sized(torch, "PyTorchJob/my-pytorchjob",
			`{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 4}}}`, `{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}`)},
		{name: "a RayJob has more workers", code: "JM125", kinds: []string{"rayjob"}, fires: true, edits: sized(ray, "RayJob/my-rayjob", groups("3"), groups("1"))},
		{name: "a server has filled it in", code: "JM125", kinds: everyKind(), edits: sized(set, "JobSet/my-jobset", jobs(""), jobs(", replicas: 1"))},
		{name: "an elastic RayJob", code: "JM125", kinds: everyKind(), edits: sized(ray, "RayJob/my-rayjob", groups("3"), groups("1"),
			patch("kwok-mgr", "RayJob/my-rayjob", `{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}}`))},
		{name: "the same size", code: "JM125", kinds: everyKind(), edits: sized(set, "JobSet/my-jobset", jobs(", replicas: 3"), jobs(", replicas: 3"))},
	}
}
