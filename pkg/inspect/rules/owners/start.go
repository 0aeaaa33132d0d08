package owners

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func startRefused() view.Rule {
	return view.Rule{
		Code: "JM138", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM104", "JM110"},
		Detect: func(v *view.View) { eachCurrent(v, reportStartRefused) },
	}
}

// reportStartRefused reports a mirror whose status MultiKueue cannot copy. The start time of a Job
// that is not suspended can only change in a write that turns its condition Suspended from true to
// false (kubernetes: pkg/apis/batch/validation). MultiKueue copies the status as it is, so a mirror
// that a worker evicted and started again before the manager knew is refused with every try. The
// validation of other kinds has no such rule, and dispatch writes the condition first.
func reportStartRefused(v *view.View, origin *inspect.Job, p inspect.Pair, m inspect.Mirror) {
	mirror := m.Job
	isRunOrEnded := view.IsLiveJob(mirror) || mirror.Status.IsFinished()
	if !view.IsMultiKueues(p) || !origin.Row().IsJob() || origin.Suspended || mirror.Suspended || !isRunOrEnded ||
		origin.StartTime == nil || mirror.StartTime == nil || origin.StartTime.Equal(mirror.StartTime) {
		return
	}
	f, _ := v.Facts(origin.Context)
	if !isCopied(v, origin, mirror) && !seemsCopied(v, f, mirror) {
		return
	}
	since := v.On(origin.Context, mirror.Context, mirror.StartTime.Time)
	message := fmt.Sprintf("its status cannot be copied from %s: the start time there differs", mirror.Context)
	if mirror.Status.IsFinished() {
		message = fmt.Sprintf("its mirror on %s is %s, which cannot be copied: the start time there differs", mirror.Context, mirror.Status)
	}
	accept := command.Patch([]any{map[string]any{"type": "Suspended", "status": "True"}}, "status", "conditions")
	v.Report(view.Sighting{
		Object: view.Of(origin), Since: since, Jobs: []*inspect.Job{origin},
		Message: message,
		Evidence: []string{
			fmt.Sprintf("%s: status.startTime of %s is %s; %s: it is %s", origin.Context, view.Of(origin).String(),
				quote.Time(*origin.StartTime), mirror.Context, quote.Time(*mirror.StartTime)),
			fmt.Sprintf("%s: spec.suspend is false, so the API server rejects another start time", origin.Context),
			quote.State(mirror), quote.State(origin),
		},
		Remedy: command.Say("have the API server accept the new start time: %s, and then %s",
			advice.KubectlJob(origin, "patch").With("--subresource=status", "-p", accept),
			advice.TriggerReconcile(f, mirror.Namespace, mirror.Prebuilt())),
	})
}

// seemsCopied reports whether the Workload alone shows that MultiKueue has given a Job to the mirror's
// cluster. It is for users who may not read AdmissionChecks or MultiKueueClusters. A lost connection
// does not matter: the status could not be copied over a working one either.
func seemsCopied(v *view.View, f *inspect.Facts, mirror *inspect.Job) bool {
	_, knowsChecks := v.Checks(f)
	_, knowsClusters := v.MultiKueueClusters(f)
	w, _ := v.Workload(f, mirror.Namespace, mirror.Prebuilt())
	if knowsChecks && knowsClusters || w == nil || w.DeletionTimestamp != nil || w.ChosenCluster() == "" || !w.Is(kueue.Admitted) || w.Is(kueue.Evicted) {
		return false
	}
	context := v.ContextOf(f, w.ChosenCluster())
	return context == "" || context == mirror.Context
}
