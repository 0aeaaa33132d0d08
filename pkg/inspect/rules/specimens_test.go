package rules_test

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// specimen is an object of a kind other than Job that MultiKueue has given to
// the first worker of the recording "running".
type specimen struct {
	row  delegation.Kind
	name string
	// spec and status are those of the mirror. The origin also has the owner.
	// If its status is not copied, the origin has originStatus.
	spec, status, originStatus string
	// ended is the status of a complete object, "" if the kind has none.
	ended string
	// suspended is the spec of a suspended object.
	suspended string
	// parts are the objects that the mirror's controller creates.
	parts []string
	// unprebuilt says that the mirror names no Workload.
	unprebuilt bool
}

// since is when the specimens started.
const since = `"2026-11-20T23:43:31Z"`

func kindRow(name string) delegation.Kind {
	row, ok := delegation.KindNamed(name)
	if !ok {
		panic("there is no kind " + name)
	}
	return row
}

// specimens returns one of each kind that MultiKueue can dispatch.
func specimens() []specimen {
	training := func(kind string) specimen {
		condition := func(of string) string {
			return `startTime: ` + since + `, conditions: [{type: ` + of + `, status: "True", lastTransitionTime: ` + since + `}]`
		}
		return specimen{
			row: kindRow(kind), spec: `runPolicy: {suspend: false}`, suspended: `runPolicy: {suspend: true}`,
			status: condition("Running"), ended: condition("Succeeded") + `, completionTime: ` + since,
		}
	}
	all := []specimen{
		{
			row: kindRow("jobset"), spec: `suspend: false`, suspended: `suspend: true`,
			status: `replicatedJobsStatus: [{name: main, active: 1, ready: 1}]`,
			ended:  `conditions: [{type: Completed, status: "True", lastTransitionTime: ` + since + `}]`,
			parts:  []string{"batch/v1 Job NAME-main-0"},
		},
		{
			row: kindRow("trainjob"), spec: `suspend: false`, suspended: `suspend: true`,
			status: `jobsStatus: [{name: node, active: 1, ready: 1}]`,
			ended:  `conditions: [{type: Complete, status: "True", lastTransitionTime: ` + since + `}]`,
			parts:  []string{"jobset.x-k8s.io/v1alpha2 JobSet NAME"},
		},
		{
			row: kindRow("rayjob"), spec: `suspend: false`, suspended: `suspend: true`,
			status: `jobDeploymentStatus: Running, jobStatus: RUNNING, rayClusterName: NAME-abcde, startTime: ` + since,
			ended:  `jobDeploymentStatus: Complete, jobStatus: SUCCEEDED, rayClusterName: NAME-abcde, startTime: ` + since + `, endTime: ` + since,
			parts:  []string{"ray.io/v1 RayCluster NAME-abcde", "batch/v1 Job NAME"},
		},
		{row: kindRow("raycluster"), spec: `suspend: false`, suspended: `suspend: true`, status: `state: ready`},
		{row: kindRow("rayservice"), spec: `{}`, status: `serviceStatus: Running, conditions: [{type: Ready, status: "True"}]`, parts: []string{"ray.io/v1 RayCluster NAME-fghij"}},
		{
			row: kindRow("appwrapper"), spec: `suspend: false`, suspended: `suspend: true`, status: `phase: Running`, ended: `phase: Succeeded`,
			parts: []string{"batch/v1 Job NAME-wrapped"},
		},
		{
			row: kindRow("pipelinerun"), spec: `params: []`, suspended: `status: PipelineRunPending`,
			status: `startTime: ` + since + `, conditions: [{type: Succeeded, status: Unknown, lastTransitionTime: ` + since + `}]`,
			ended:  `startTime: ` + since + `, completionTime: ` + since + `, conditions: [{type: Succeeded, status: "True", lastTransitionTime: ` + since + `}]`,
			parts:  []string{"tekton.dev/v1 TaskRun NAME-build"},
		},
		{
			row: kindRow("pod"), spec: `nodeName: node-1`, suspended: `schedulingGates: [{name: kueue.x-k8s.io/admission}]`,
			status: `phase: Running, startTime: ` + since, originStatus: `phase: Running, startTime: ` + since, ended: `phase: Succeeded`,
		},
		{row: kindRow("statefulset"), spec: `replicas: 2`, status: `readyReplicas: 2`, originStatus: `replicas: 2, readyReplicas: 0`},
		{
			row: kindRow("leaderworkerset"), spec: `replicas: 2`, status: `conditions: [{type: Available, status: "True"}]`, originStatus: `replicas: 2`,
			unprebuilt: true,
		},
	}
	for _, kind := range []string{"pytorchjob", "tfjob", "xgboostjob", "paddlejob", "jaxjob", "mpijob"} {
		all = append(all, training(kind))
	}
	for i := range all {
		all[i].name = "my-" + all[i].row.Name
	}
	return all
}

func specimenOf(kind string) specimen {
	for _, s := range specimens() {
		if s.row.Name == kind {
			return s
		}
	}
	panic("there is no specimen of " + kind)
}

func (s specimen) uid() string    { return "uid-of-" + s.name }
func (s specimen) mirror() string { return "mirror-of-" + s.name }

func (s specimen) workload() string { return s.row.WorkloadNames(s.name, s.uid(), "")[0] }

// object returns an object of the specimen's kind. spec may include its
// owner.
func (s specimen) object(uid, metadata, spec, status string) string {
	return s.objectAs(s.row.Resource.GroupVersion().String(), uid, metadata, spec, status)
}

func (s specimen) objectAs(apiVersion, uid, metadata, spec, status string) string {
	text := fmt.Sprintf(`{apiVersion: %s, kind: %s,
		metadata: {name: %s, namespace: default, uid: %s, creationTimestamp: "2026-11-20T23:43:30Z", %s},
		spec: {%s}, status: {%s}}`, apiVersion, s.row.Kind, s.name, uid, metadata, spec, status)
	return strings.ReplaceAll(strings.ReplaceAll(text, "NAME", s.name), "{{}}", "{}")
}

// owned returns a spec with an owner, in the field of the kind.
func (s specimen) owned(spec string, owner delegation.Owner) string {
	switch path := s.row.ManagedBy; len(path) {
	case 2:
		return fmt.Sprintf("%s, managedBy: %s", strings.Replace(spec, "{}", "x: y", 1), owner)
	case 3:
		return strings.Replace(spec, path[1]+": {", fmt.Sprintf("%s: {managedBy: %s, ", path[1], owner), 1)
	}
	return spec
}

const inQueue = `labels: {kueue.x-k8s.io/queue-name: user-queue}`

// origin returns the object that was submitted, with a spec and a status.
func (s specimen) origin(spec, status string) edit {
	return add("kwok-mgr", s.object(s.uid(), inQueue, s.owned(spec, delegation.MultiKueue), status))
}

// marks are the labels and annotations that MultiKueue puts on a mirror.
func (s specimen) marks() string {
	prebuilt := ""
	if !s.unprebuilt {
		prebuilt = "kueue.x-k8s.io/prebuilt-workload-name: " + s.workload() + ", "
	}
	if s.row.IsUnmanaged() && s.row.NoStatusSync {
		prebuilt += "kueue.x-k8s.io/multikueue-origin-uid: " + s.uid()
	}
	return `labels: {kueue.x-k8s.io/queue-name: user-queue, kueue.x-k8s.io/multikueue-origin: multikueue}, annotations: {` + strings.TrimSuffix(prebuilt, ", ") + `}`
}

// copied adds the mirror and the objects that its own controller created.
// Those have its marks, as some controllers copy them.
func (s specimen) copied(context, spec, status string) []edit {
	edits := []edit{add(context, s.object(s.mirror(), s.marks(), strings.Replace(spec, "{}", "x: y", 1), status))}
	for _, part := range s.parts {
		edits = append(edits, s.part(context, part, s.mirror(), s.marks()))
	}
	return edits
}

// part adds an object that another object controls, given as "apiVersion Kind
// name".
func (s specimen) part(context, part, owner, metadata string) edit {
	words := strings.Fields(strings.ReplaceAll(part, "NAME", s.name))
	status := map[string]string{
		"Job": `active: 1, ready: 1, startTime: ` + since, "JobSet": `replicatedJobsStatus: [{name: node, active: 1}]`,
		"RayCluster": `state: ready`, "TaskRun": `conditions: [{type: Succeeded, status: Unknown}]`,
	}[words[1]]
	return add(context, fmt.Sprintf(`{apiVersion: %s, kind: %s,
		metadata: {name: %s, namespace: default, uid: part-%s-%s, creationTimestamp: "2026-11-20T23:43:32Z",
			ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}], %s},
		spec: {suspend: false}, status: {%s}}`, words[0], words[1], words[2], words[1], owner,
		s.row.Resource.GroupVersion(), s.row.Kind, s.name, owner, metadata, status))
}

// workloads are the origin's Workload on the management cluster and its copy on the
// first worker.
func (s specimen) workloads(worker string) []edit {
	owner := func(uid string) string {
		return fmt.Sprintf(`ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]`,
			s.row.Resource.GroupVersion(), s.row.Kind, s.name, uid)
	}
	admitted := `conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, lastTransitionTime: ` + since + `},
		{type: Admitted, status: "True", reason: Admitted, lastTransitionTime: ` + since + `}], admission: {clusterQueue: cluster-queue}`
	return []edit{
		addWorkload("kwok-mgr", s.workload(), `labels: {kueue.x-k8s.io/job-uid: `+s.uid()+`}, `+owner(s.uid()),
			admitted+`, clusterName: `+worker+`, admissionChecks: [{name: multikueue, state: Ready, message: "", lastTransitionTime: `+since+`}]`),
		addWorkload("kwok-w"+strings.TrimPrefix(worker, "worker"), s.workload(),
			`labels: {kueue.x-k8s.io/multikueue-origin: multikueue, kueue.x-k8s.io/job-uid: `+s.mirror()+`}, `+owner(s.mirror()), admitted),
	}
}

// running adds the specimen as it runs on the first worker.
func (s specimen) running() []edit {
	status, spec := s.status, s.spec
	if s.originStatus != "" {
		status = s.originStatus
	}
	if s.row.Name == "pod" {
		// It stays gated for good.
		spec = s.suspended
	}
	edits := append(s.workloads("worker1"), s.origin(spec, status))
	return append(edits, s.copied("kwok-w1", s.spec, s.status)...)
}

// waiting adds the specimen before any worker has admitted it.
func (s specimen) waiting() []edit {
	held := s.spec
	if s.suspended != "" {
		held = s.suspended
	}
	return []edit{
		s.origin(held, ""),
		addWorkload("kwok-mgr", s.workload(), `labels: {kueue.x-k8s.io/job-uid: `+s.uid()+`}`,
			`conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, lastTransitionTime: `+since+`}], admission: {clusterQueue: cluster-queue},
			nominatedClusterNames: [worker1, worker2], admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: `+since+`}]`),
		addWorkload("kwok-w1", s.workload(), `labels: {kueue.x-k8s.io/multikueue-origin: multikueue}`, waitsForQuota),
		addWorkload("kwok-w2", s.workload(), `labels: {kueue.x-k8s.io/multikueue-origin: multikueue}`, waitsForQuota),
	}
}

const waitsForQuota = `conditions: [{type: QuotaReserved, status: "False", reason: PendingEvaluation, message: "", lastTransitionTime: ` + since + `}]`

// over adds the specimen after it has ended and MultiKueue has cleaned up.
func (s specimen) over() []edit {
	return []edit{
		s.origin(s.spec, s.ended),
		addWorkload("kwok-mgr", s.workload(), `labels: {kueue.x-k8s.io/job-uid: `+s.uid()+`}`,
			`clusterName: worker1, conditions: [{type: Finished, status: "True", reason: Succeeded, lastTransitionTime: `+since+`}],
			admissionChecks: [{name: multikueue, state: Ready, message: "", lastTransitionTime: `+since+`}]`),
	}
}
