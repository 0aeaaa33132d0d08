package engagement

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// rejection is a Workload that MultiKueue will not dispatch.
type rejection struct {
	manager  *inspect.Facts
	workload *kueue.Workload
	state    kueue.CheckState
	// owner is the object that the Workload was made for, as far as it is
	// known.
	owner metav1.OwnerReference
	// job is the owner, nil if it was not read.
	job *inspect.Job
}

// rejections returns the rejections whose message contains a text.
func rejections(v *view.View, text string) []rejection {
	var found []rejection
	for _, f := range v.Clusters() {
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			state := rejectedBy(v, f, w)
			if state == nil || !strings.Contains(state.Message, text) {
				continue
			}
			r := rejection{manager: f, workload: w, state: *state}
			if owner := metav1.GetControllerOf(w); owner != nil {
				r.owner = *owner
			}
			if r.findOwner(v) {
				found = append(found, r)
			}
		}
	}
	return found
}

// rejectedBy returns the state of MultiKueue's check on an unfinished
// Workload, nil if MultiKueue has not rejected it.
func rejectedBy(v *view.View, f *inspect.Facts, w *kueue.Workload) *kueue.CheckState {
	if w.DeletionTimestamp != nil || w.Is(kueue.Finished) {
		return nil
	}
	if state := v.CheckState(f, w); state != nil && state.State == kueue.CheckRejected {
		return state
	}
	return nil
}

// findOwner finds the owner, and reports whether it still wants to run. An owner
// whose kind was not read counts as existing, because Workloads without an
// owner are garbage-collected.
func (r *rejection) findOwner(v *view.View) bool {
	if r.job = v.JobOf(r.manager, r.workload); r.job == nil {
		row, known := delegation.KindOf(r.ownerKind())
		return !known || !v.KnowsAll(r.manager, row)
	}
	return !r.job.Status.IsFinished() && r.job.Status != delegation.Terminating
}

func (r *rejection) ownerKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.owner.APIVersion, r.owner.Kind)
}

// kind returns the kind of the owner, "object" if unknown.
func (r *rejection) kind() string {
	if r.owner.Kind == "" {
		return "object"
	}
	return r.owner.Kind
}

// sighting returns an incomplete sighting of the owner, or of the Workload if
// the owner was not read.
func (r *rejection) sighting() view.Sighting {
	s := view.Sighting{
		Object: view.OfKueue(r.manager, "Workload", r.workload.Namespace, r.workload.Name), Since: r.state.LastTransitionTime.Time,
		Evidence: []string{fmt.Sprintf("%s: admission check %s of Workload %s/%s is %s since %s: %s",
			r.manager.Context, r.state.Name, r.workload.Namespace, r.workload.Name, r.state.State, quote.Time(r.state.LastTransitionTime), r.state.Message)},
	}
	if r.job != nil {
		s.Object, s.Jobs = view.Of(r.job), []*inspect.Job{r.job}
	}
	return s
}

// recreateCommand returns the command that makes MultiKueue try again.
func (r *rejection) recreateCommand() command.Command {
	return kueue.Activate(r.manager.Context, r.workload)
}

func kindHasNoAdapter() view.Rule {
	return view.Rule{
		Code: "JM015", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues},
		Covers: []string{"JM021", view.NeverAdmitted, "JM030", "JM058", "JM116", "JM124"},
		Detect: func(v *view.View) {
			for _, r := range rejections(v, "No multikueue adapter found") {
				reportNoAdapter(v, r)
			}
		},
	}
}

func reportNoAdapter(v *view.View, r rejection) {
	s := r.sighting()
	if r.owner.Kind == "" && r.workload.Labels[delegation.MultiKueueOriginLabel] != "" {
		reportChain(v, r, s)
		return
	}
	if r.owner.Kind == "" {
		s.Message = fmt.Sprintf("Workload %s/%s has no owner that MultiKueue on %s can copy", r.workload.Namespace, r.workload.Name, r.manager.Context)
		s.Remedy = command.Say("delete the Workload: %s, and submit its object to a queue without MultiKueue",
			advice.KubectlObject(view.OfWorkload(r.manager, r.workload), "delete"))
		v.Report(s)
		return
	}
	kind := r.ownerKind()
	s.Message = fmt.Sprintf("it will never run: MultiKueue on %s has no adapter for kind %s of %s", r.manager.Context, kind.Kind, kind.GroupVersion())
	enable := command.Say("enable kind %s in integrations.frameworks of Kueue on %s, or add %s.%s.%s to its multiKueue.externalFrameworks",
		kind.Kind, r.manager.Context, kind.Kind, kind.Version, kind.Group)
	if row, _ := delegation.KindOf(kind); row.Integration != "" {
		enable = command.Say("add %s.%s.%s to multiKueue.externalFrameworks of Kueue on %s", kind.Kind, kind.Version, kind.Group, r.manager.Context)
	}
	s.Remedy = command.Say("%s; restart it, and then %s", enable, r.recreateCommand())
	s.Cause = "no adapter for " + kind.String() + " on " + r.manager.Context
	v.Report(s)
}

// reportChain reports a worker whose queue dispatches again: MultiKueue there can copy only
// objects of its own cluster, not the copy of a Workload.
func reportChain(v *view.View, r rejection, s view.Sighting) {
	w, context := r.workload, r.manager.Context
	queue, own := "the ClusterQueue", ""
	fix := command.Kubectl(context, "", "get", kueue.Resource("ClusterQueue"))
	if local, _ := v.LocalQueue(r.manager, w.Namespace, w.Spec.QueueName); local != nil {
		queue = "ClusterQueue " + local.Spec.ClusterQueue
		fix = kueue.Kubectl(context, "edit", "ClusterQueue", "", local.Spec.ClusterQueue)
		if q, _ := v.ClusterQueue(r.manager, local.Spec.ClusterQueue); q != nil && v.HasDelegatedWorkloads(r.manager, q) {
			own = fmt.Sprintf(" (strands the Jobs that %s itself gives to workers)", context)
		}
	}
	for _, upstream := range v.Submissions() {
		if upstream.Manager != r.manager && upstream.Workload != nil && upstream.Workload.Namespace == w.Namespace && upstream.Workload.Name == w.Name {
			s.Jobs = append(s.Jobs, upstream.Job())
		}
	}
	s.Object = view.OfKueue(r.manager, "LocalQueue", w.Namespace, w.Spec.QueueName)
	s.Cause = strings.Join([]string{"chain", context, w.Namespace, w.Spec.QueueName}, " ")
	s.Message = fmt.Sprintf("%s of worker %s has a MultiKueue check: it dispatches Workloads that it should run", queue, context)
	s.Remedy = command.Say("remove the MultiKueue check from %s%s, or recreate LocalQueue %s/%s with a ClusterQueue that has none: %s", queue, own, w.Namespace, w.Spec.QueueName, fix)
	v.Report(s)
}

func customJobsGateOff() view.Rule {
	return view.Rule{
		Code: "JM016", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Detect: func(v *view.View) {
			for _, r := range rejections(v, "MultiKueueAdaptersForCustomJobs") {
				s := r.sighting()
				s.Message = fmt.Sprintf("feature gate MultiKueueAdaptersForCustomJobs is off on %s: %s is not dispatched", r.manager.Context, r.kind())
				s.Remedy = command.Say("start Kueue on %s with --feature-gates=MultiKueueAdaptersForCustomJobs=true, and then %s", r.manager.Context, r.recreateCommand())
				s.Cause = "gate off on " + r.manager.Context
				v.Report(s)
			}
		},
	}
}
