package rules

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// rejection is a Workload that MultiKueue will not dispatch.
type rejection struct {
	manager  *inspect.Facts
	workload *kueue.Workload
	state    kueue.CheckState
	// owner is what the Workload was made for, as far as it tells.
	owner metav1.OwnerReference
	// job is that, where it was read.
	job *inspect.Job
}

// rejections are those with a message that says so.
func rejections(v *View, says string) []rejection {
	var found []rejection
	for _, f := range v.Clusters() {
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			state := rejectedBy(v, f, w)
			if state == nil || !strings.Contains(state.Message, says) {
				continue
			}
			r := rejection{manager: f, workload: w, state: *state}
			if owner := metav1.GetControllerOf(w); owner != nil {
				r.owner = *owner
			}
			if r.settle(v) {
				found = append(found, r)
			}
		}
	}
	return found
}

// rejectedBy is the state of MultiKueue's check on a Workload that waits for
// nothing else; nil if it has not rejected it.
func rejectedBy(v *View, f *inspect.Facts, w *kueue.Workload) *kueue.CheckState {
	if w.DeletionTimestamp != nil || w.Is(kueue.Finished) {
		return nil
	}
	if state := v.checkState(f, w); state != nil && state.State == kueue.CheckRejected {
		return state
	}
	return nil
}

// settle finds the owner; false if it is gone, or wants nothing any more. One whose
// kind was not read has to be taken as there: what has no owner is collected.
func (r *rejection) settle(v *View) bool {
	if r.job = v.jobOf(r.manager, r.workload); r.job == nil {
		row, known := delegation.KindOf(r.ownerKind())
		return !known || !v.KnowsAll(r.manager, row)
	}
	return !r.job.Status.IsFinished() && r.job.Status != delegation.Terminating
}

func (r *rejection) ownerKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.owner.APIVersion, r.owner.Kind)
}

// kind is the kind of the owner.
func (r *rejection) kind() string {
	if r.owner.Kind == "" {
		return "object"
	}
	return r.owner.Kind
}

// sighting begins the report of it: about the owner, or else the Workload.
func (r *rejection) sighting() Sighting {
	s := Sighting{
		Object: OfKueue(r.manager, "Workload", r.workload.Namespace, r.workload.Name), Since: r.state.LastTransitionTime.Time,
		Evidence: []string{fmt.Sprintf("%s: admission check %s of Workload %s/%s is %s since %s: %s",
			r.manager.Context, r.state.Name, r.workload.Namespace, r.workload.Name, r.state.State, stamp(r.state.LastTransitionTime), r.state.Message)},
	}
	if r.job != nil {
		s.Object, s.Jobs = Of(r.job), []*inspect.Job{r.job}
	}
	return s
}

// again is how to have it tried again.
func (r *rejection) again() command.Command {
	return kueue.Activate(r.manager.Context, r.workload)
}

func kindHasNoAdapter() Rule {
	return Rule{
		Code: "JM015", Title: "MultiKueue cannot dispatch this kind", Severity: inspect.Error,
		Holds:  "MultiKueue dispatches every delegated kind",
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues},
		Covers: []string{"JM021", "JM029", "JM030", "JM058", "JM116", "JM124"},
		Why: `MultiKueue copies objects with an adapter for each kind. There is none for this kind, or its integration is
not enabled in the manager's configuration.`,
		Shows: `MultiKueue's admission check of the Workload is Rejected with "No multikueue adapter found", and the
Workload is deactivated.`,
		Remedy: `Enable the framework in integrations.frameworks of the manager's configuration, or name the kind in
multiKueue.externalFrameworks if it has spec.managedBy. Else submit it to a queue that does not dispatch. If the Workload
is a copy that another management cluster made, this cluster is its worker: give it a queue without a MultiKueue check.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for _, r := range rejections(v, "No multikueue adapter found") {
				reportNoAdapter(v, r)
			}
		},
	}
}

func reportNoAdapter(v *View, r rejection) {
	s := r.sighting()
	if r.owner.Kind == "" && r.workload.Labels[delegation.MultiKueueOriginLabel] != "" {
		reportChain(v, r, s)
		return
	}
	if r.owner.Kind == "" {
		s.Message = fmt.Sprintf("Workload %s/%s belongs to nothing that MultiKueue on %s can copy", r.workload.Namespace, r.workload.Name, r.manager.Context)
		s.Remedy = command.Say("%s, and submit what it was made for to a queue that does not dispatch",
			kubectlOn(workloadObject(r.manager, r.workload), "delete"))
		v.Report(s)
		return
	}
	kind := r.ownerKind()
	s.Message = fmt.Sprintf("it will never run: MultiKueue on %s has no adapter for kind %s of %s", r.manager.Context, kind.Kind, kind.GroupVersion())
	s.Remedy = command.Say("enable kind %s in integrations.frameworks of the Kueue manager on %s, or add %s.%s.%s to its multiKueue.externalFrameworks; restart it, and then %s",
		kind.Kind, r.manager.Context, kind.Kind, kind.Version, kind.Group, r.again())
	s.Cause = "no adapter for " + kind.String() + " on " + r.manager.Context
	v.Report(s)
}

// reportChain reports a worker whose queue dispatches again: MultiKueue there can copy only
// objects of its own cluster, not the copy of a Workload.
func reportChain(v *View, r rejection, s Sighting) {
	w, context := r.workload, r.manager.Context
	queue := "the ClusterQueue"
	fix := command.Kubectl(context, "", "get", kueue.Resource("ClusterQueue"))
	if local, _ := v.LocalQueue(r.manager, w.Namespace, w.Spec.QueueName); local != nil {
		queue = "ClusterQueue " + local.Spec.ClusterQueue
		fix = kueue.Kubectl(context, "edit", "ClusterQueue", "", local.Spec.ClusterQueue)
	}
	for _, upstream := range v.Submissions() {
		if upstream.Manager != r.manager && upstream.Workload != nil && upstream.Workload.Namespace == w.Namespace && upstream.Workload.Name == w.Name {
			s.Jobs = append(s.Jobs, upstream.Job())
		}
	}
	s.Object = OfKueue(r.manager, "LocalQueue", w.Namespace, w.Spec.QueueName)
	s.Cause = strings.Join([]string{"chain", context, w.Namespace, w.Spec.QueueName}, " ")
	s.Message = fmt.Sprintf("%s of worker %s has a MultiKueue check: it dispatches what it should run", queue, context)
	s.Remedy = command.Say("remove the MultiKueue check from %s, or recreate LocalQueue %s/%s with a ClusterQueue that has none: %s", queue, w.Namespace, w.Spec.QueueName, fix)
	v.Report(s)
}

func customJobsGateOff() Rule {
	return Rule{
		Code: "JM016", Title: "MultiKueue's support for this kind is disabled", Severity: inspect.Error,
		Holds: "MultiKueue's support for delegated kinds is on",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Why: `The kind is named in multiKueue.externalFrameworks, and the manager's feature gate
MultiKueueAdaptersForCustomJobs, which serves those, is off. It is on by default since Kueue 0.15.`,
		Shows: `MultiKueue's admission check of the Workload is Rejected with "MultiKueueAdaptersForCustomJobs feature gate
is disabled".`,
		Remedy: `Turn the feature gate on, restart the manager, and activate the Workload again.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/tree/main/keps/2349-multikueue-external-custom-job-support",
		Detect: func(v *View) {
			for _, r := range rejections(v, "MultiKueueAdaptersForCustomJobs") {
				s := r.sighting()
				s.Message = fmt.Sprintf("feature gate MultiKueueAdaptersForCustomJobs is off on %s: %s is not dispatched", r.manager.Context, r.kind())
				s.Remedy = command.Say("start the Kueue manager on %s with --feature-gates=MultiKueueAdaptersForCustomJobs=true, and then %s", r.manager.Context, r.again())
				s.Cause = "gate off on " + r.manager.Context
				v.Report(s)
			}
		},
	}
}
