package inspect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// Pod holds the needed fields of a Pod.
type Pod struct {
	Namespace, Name, UID string
	// JobUID is the UID of the object that controls the Pod.
	JobUID string
	// JobName is the kind and name of that object, such as Job/train-workers-0.
	JobName string
	// LeftBy is the UID of the Job that the Pod was created for, if no object controls it any more.
	// JobName is then that Job's.
	LeftBy string
	// OfKinds are the Pod's labels by which kinds find their Pods (delegation.Kind.PodLabel).
	OfKinds map[string]string
	Node    string
	Phase   corev1.PodPhase
	// Reason is the status that kubectl would show, such as ImagePullBackOff or Unschedulable.
	Reason string
	// Message explains Reason, if the API has an explanation.
	Message string
	// ExitCode is how the first container that failed has ended, now or before its restart; zero if
	// none has. ExitReason is the kubelet's word for it, such as OOMKilled, and ExitedAt the time.
	ExitCode   int32
	ExitReason string
	ExitedAt   metav1.Time
	// ExitContainer is the name of that container. IsExitHidden is whether kubectl shows the log of another one if the
	// user names none.
	ExitContainer string
	IsExitHidden  bool
	Ready         bool
	// Restarts is how often its containers were restarted in total.
	Restarts      int32
	RestartPolicy corev1.RestartPolicy
	// Claims are the names of its PersistentVolumeClaims.
	Claims []string
	// Gates are the names of its scheduling gates: controllers must remove them before the scheduler acts.
	Gates             []string
	CreationTimestamp metav1.Time
	// Scheduled is when the scheduler found a node, or last reported that there is none; the zero
	// time if it did neither.
	Scheduled metav1.Time
	// Changed is when a condition, such as Ready, last changed.
	Changed metav1.Time
	// Scheduler is the name of the scheduler that must find a node.
	Scheduler string
	// HasSchedulerResult is whether a scheduler has chosen a node, or said why there is none.
	HasSchedulerResult bool
	// Started is when the kubelet of the node picked the Pod up; zero if it has not.
	Started metav1.Time
	// DeletedBy is when the grace period of its deletion ends; zero if it is not being deleted.
	DeletedBy metav1.Time
}

// Containers returns the names of all containers of a Pod, in the order in which they start.
func Containers(p *corev1.Pod) (names []string) {
	for i := range p.Spec.InitContainers {
		names = append(names, p.Spec.InitContainers[i].Name)
	}
	for i := range p.Spec.Containers {
		names = append(names, p.Spec.Containers[i].Name)
	}
	for i := range p.Spec.EphemeralContainers {
		names = append(names, p.Spec.EphemeralContainers[i].Name)
	}
	return names
}

// DefaultContainer returns the container of a Pod that kubectl uses if the user names none: that of its annotation,
// or the first (kubectl: pkg/cmd/util/podcmd).
func DefaultContainer(p *corev1.Pod) string {
	if name := p.Annotations["kubectl.kubernetes.io/default-container"]; slices.Contains(Containers(p), name) {
		return name
	}
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// IsUnschedulable reports whether the scheduler has found no node so far.
func (p *Pod) IsUnschedulable() bool {
	return p.Node == "" && p.Phase == corev1.PodPending && p.Reason == corev1.PodReasonUnschedulable
}

// GateNames returns scheduling gates in words.
func GateNames(gates []string) string {
	if len(gates) == 1 {
		return "scheduling gate " + gates[0]
	}
	return "scheduling gates " + And(gates)
}

// IsGated reports whether the Pod waits for the removal of a scheduling gate. With a gate of its admission, it waits in
// a queue of Kueue instead.
func (p *Pod) IsGated() bool {
	isQueued := slices.Contains(p.Gates, delegation.AdmissionGate) || slices.Contains(p.Gates, delegation.ElasticGate)
	return p.Reason == corev1.PodReasonSchedulingGated && !isQueued
}

// IsCreating reports whether the Pod has a node that is creating its containers.
func (p *Pod) IsCreating() bool {
	return p.Phase == corev1.PodPending && (p.Reason == "ContainerCreating" || p.Reason == "PodInitializing")
}

// NodeGone is the reason of a Pod whose node no longer exists. The API server still shows such a Pod as
// Running, until the garbage collector of Pods deletes it.
const NodeGone = "NodeGone"

// IsLost reports whether the node of the Pod no longer exists. It is false if the nodes were not read.
func (p *Pod) IsLost() bool { return p.Reason == NodeGone }

// Terminating is the reason of a Pod that is being deleted.
const Terminating = "Terminating"

// IsTerminating reports whether the Pod is being deleted and has not ended.
func (p *Pod) IsTerminating() bool { return p.Reason == Terminating && p.IsOpen() }

// IsUnconfirmed reports whether nothing shows that the Pod still runs, because its node does not report:
// the Pod should have ended by now, or its phase is Unknown.
func (p *Pod) IsUnconfirmed() bool {
	return p.Message != "" && (p.IsTerminating() || p.Phase == corev1.PodUnknown)
}

// HasLostNode reports whether nothing shows that the Pod still runs: its node is gone, or does not report.
func (p *Pod) HasLostNode() bool { return p.IsLost() || p.IsUnconfirmed() }

// IsRunning reports whether the Pod runs, ready or not. A Pod that is being deleted does not count: its
// Job needs another one.
func (p *Pod) IsRunning() bool {
	return p.Phase == corev1.PodRunning && p.Message == "" && !p.IsTerminating()
}

// hasRun reports whether the Pod runs or has run, as far as its node is known to exist.
func (p *Pod) hasRun() bool { return p.Phase == corev1.PodRunning && !p.IsLost() }

// IsOpen reports whether the Pod has not ended.
func (p *Pod) IsOpen() bool { return p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed }

// newNode is how long a Pod's node may be missing in a list of nodes that was read at the same time.
const newNode = time.Minute

// confirmation is how long a node may take to report the end of a Pod after its grace period.
const confirmation = time.Minute

// markLostPods sets the reason and the message of the unfinished Pods whose node does not report about them:
// nodes that do not exist, and nodes that do not confirm the end of a deleted Pod.
func (f *Facts) markLostPods(now time.Time) {
	nodes := sets.New[string]()
	areRead := f.Environment != nil && f.Environment.Nodes != nil
	if areRead {
		for _, n := range f.Environment.Nodes {
			nodes.Insert(n.Name)
		}
	}
	now = clusterTime(now, f.Skew)
	for _, p := range f.Pods {
		isLate := p.IsTerminating() && now.Sub(p.DeletedBy.Time) >= confirmation
		switch {
		case p.Node == "" || !p.IsOpen() || p.IsTerminating() && !isLate:
		case areRead && !nodes.Has(p.Node) && now.Sub(p.Scheduled.Time) >= newNode:
			p.Reason, p.Message = NodeGone, fmt.Sprintf("node %s no longer exists", p.Node)
		case isLate:
			p.Message = fmt.Sprintf("node %s does not confirm its end", p.Node)
		case p.Phase == corev1.PodUnknown:
			p.Message = fmt.Sprintf("node %s does not report its state", p.Node)
		}
	}
}

// Environment is what a cluster has for Pods, apart from quota: namespaces and nodes.
type Environment struct {
	// Namespaces are the namespaces that were requested by name, nil for one that does not exist.
	Namespaces map[string]*Namespace
	// Nodes are all nodes; nil if not requested. NodesErr is why they could not be listed.
	Nodes    []*podfit.Node
	NodesErr error
}

// clone returns a copy that can be extended; nil for nil.
func (s *Environment) clone() *Environment {
	if s == nil {
		return nil
	}
	c := *s
	c.Namespaces = maps.Clone(s.Namespaces)
	return &c
}

// Event holds the needed fields of a Kubernetes event.
type Event struct {
	// ID is the name of the event. Names from one reporter about one object sort in the order of
	// events.
	ID string
	// Kind, Namespace, Name and UID identify the object that the event is about.
	Kind, Namespace, Name, UID string
	// Warning is whether the type is Warning and not Normal.
	Warning         bool
	Reason, Message string
	// Time is when it happened, the last time if it happened Count times.
	Time  time.Time
	Count int32
}

// FailedCreate is the reason of a controller's warning about an object of which it cannot create a Pod.
const FailedCreate = "FailedCreate"

// PodShortage is how many of the Pods that a Job should have now could not be created.
type PodShortage struct {
	Missing, Wanted int32
	// Warning is the last refusal.
	Warning *Event
}

// PodShortage returns the shortage of a Job that has fewer Pods than it should, because the API server
// refused the others: a ResourceQuota, a webhook or another admission check. It returns nil if nothing
// is missing, or if the last refusal is older than the last Pod.
func (f *Facts) PodShortage(j *Job) *PodShortage {
	warning := f.LastWarning(j)
	if warning == nil || warning.Reason != FailedCreate || !j.Row().IsJob() || j.Suspended || !j.IsOpen() {
		return nil
	}
	unfinished := int32(0)
	for _, p := range f.PodsOf(j) {
		if warning.Time.Before(p.CreationTimestamp.Time) {
			return nil
		}
		if p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed {
			unfinished++
		}
	}
	wanted := j.PodsWanted()
	missing := wanted - max(unfinished, j.Active)
	if missing <= 0 {
		return nil
	}
	return &PodShortage{Missing: missing, Wanted: wanted, Warning: warning}
}

// PodsWanted returns how many Pods a Job should have now.
func (j *Job) PodsWanted() int32 {
	wanted := ptr.Deref(j.Parallelism, 1)
	if j.Completions != nil {
		return min(wanted, *j.Completions-j.Succeeded)
	}
	if j.Succeeded > 0 {
		// The first success ends the Job, and no Pod is replaced from then on.
		return 0
	}
	return wanted
}

// Why returns why the Pods are refused, without the name of the refused Pod, which changes with each
// attempt.
func (s *PodShortage) Why() string {
	text := refusedPod.ReplaceAllString(s.Warning.Message, "")
	return strings.TrimSuffix(text, ".")
}

// refusedPod matches the beginning of a refusal (kubernetes: pkg/controller/controller_utils.go).
var refusedPod = regexp.MustCompile(`^pods? "[^"]*" is forbidden: `)

// PreemptedReason is the reason of Kueue's event that says which Workload preempted this one.
const PreemptedReason = "Preempted"

// PreemptorReason is the reason of Kueue's event that says that a Workload preempted another one.
const PreemptorReason = "PreemptedWorkload"

// isPreemption reports whether the event reports which Workload preempted this one.
func (e *Event) isPreemption() bool { return e.Kind == "Workload" && e.Reason == PreemptedReason }

// PreemptorsName returns the name of the preempting Workload with this UID; ok is false if no event
// names it.
func (f *Facts) PreemptorsName(uid string) (namespace, name string, ok bool) {
	for _, e := range f.Events {
		if e.Kind == "Workload" && e.Reason == PreemptorReason && e.UID == uid {
			return e.Namespace, e.Name, true
		}
	}
	return "", "", false
}

// preemptor matches the UIDs of the preempting Workload and of its Job, both on the cluster that
// preempted (kueue: pkg/scheduler/preemption). A worker that must stop a copy repeats the manager's
// message.
var preemptor = regexp.MustCompile(`\bPreempted to accommodate a workload \(UID: ([^,)]+)(?:, JobUID: ([^,)]+))?`)

// preemptedBy returns the match of preemptor. Most messages have another topic, and there are
// many, so a cheap test comes first.
func preemptedBy(message string) []string {
	if !strings.Contains(message, "Preempted to ") {
		return nil
	}
	return preemptor.FindStringSubmatch(message)
}

// Preemptor returns the UID of the preempting Workload from Kueue's message in a condition or an
// event; "" if the message has another topic.
func Preemptor(message string) string {
	found := preemptedBy(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// PreemptorsJob returns the UID of the preempting Workload's Job; "" if Kueue did not know it.
func PreemptorsJob(message string) string {
	found := preemptedBy(message)
	if len(found) < 3 || found[2] == "UNKNOWN" {
		return ""
	}
	return found[2]
}

// ReclaimedIn says that Kueue preempted a Workload for another ClusterQueue of its cohort, according to its
// message; "" if it did so for another reason (kueue: pkg/scheduler/preemption/preemption.go).
func ReclaimedIn(message string) string {
	const inCohort = "the cohort"
	_, rest, _ := strings.Cut(message, " due to ")
	why, paths, _ := strings.Cut(rest, "; preemptor path: ")
	if !strings.Contains(why, inCohort) {
		return ""
	}
	// With one level of cohorts, the path is that of the cohort and its ClusterQueue.
	if parts := strings.Split(strings.Split(paths, ";")[0], "/"); len(parts) == 3 {
		why = strings.Replace(why, inCohort, "cohort "+parts[1], 1)
	}
	return why
}

// PreemptionsOf returns the events that say which Workloads preempted the Workload of this name.
func (f *Facts) PreemptionsOf(namespace, workload string) []*Event {
	if !f.isIndexed() {
		return nil
	}
	return f.index.preemptions[types.NamespacedName{Namespace: namespace, Name: workload}]
}

// Preemptors returns the UIDs of all preempting Workloads that f mentions.
func (f *Facts) Preemptors() sets.Set[string] {
	uids := sets.New[string]()
	for _, e := range f.Events {
		if e.isPreemption() {
			uids.Insert(Preemptor(e.Message))
		}
	}
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			for i := range w.Status.Conditions {
				uids.Insert(Preemptor(w.Status.Conditions[i].Message))
			}
		}
	}
	return uids.Delete("")
}
