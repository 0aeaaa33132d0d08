package running

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reportGrowth reports a running elastic Job whose new Workload can never be admitted, on the manager or on the worker
// that runs the Job. Until it is, the Job keeps its size.
func reportGrowth(v *view.View, s view.Submission) {
	running := admittedSize(v, s)
	if running == nil || running == s.Workload {
		return
	}
	candidates := []view.Copy{{Worker: s.Manager, Workload: s.Workload}}
	for _, c := range v.Copies(s) {
		if c.Cluster == running.ChosenCluster() && c.Workload.Name == s.Workload.Name {
			candidates = append(candidates, c)
		}
	}
	for _, c := range candidates {
		wait, isHeld := view.HoldOf(c.Workload)
		if !isHeld || !wait.IsForQuota() {
			continue
		}
		queue, _ := v.ClusterQueue(c.Worker, v.ClusterQueueOf(c.Worker, c.Workload, &wait))
		if wait.IsPermanentIn(queue) {
			v.Report(describeGrowth(v, s, running, c, &wait))
			return
		}
	}
}

// admittedSize returns the unfinished Workload with which an elastic Job runs; nil if none is admitted.
func admittedSize(v *view.View, s view.Submission) *kueue.Workload {
	workloads, _ := v.WorkloadsOf(s.Pair, s.Manager)
	i := slices.IndexFunc(workloads, func(w *kueue.Workload) bool { return w.Is(kueue.Admitted) && !w.Is(kueue.Finished) })
	if i < 0 {
		return nil
	}
	return workloads[i]
}

func describeGrowth(v *view.View, s view.Submission, running *kueue.Workload, c view.Copy, wait *kueue.Wait) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{
		Object: view.Of(j), Severity: inspect.Warning, Jobs: []*inspect.Job{j},
		Since:   v.On(j.Context, c.Worker.Context, wait.Since),
		Message: fmt.Sprintf("its new size does not fit on %s, so it keeps the old one: %s", c.Worker.Context, wait.Text()),
		Evidence: []string{
			quote.WorkloadCondition(c.Worker, c.Workload, wait.Condition), conditionNamed(s.Manager, running, kueue.Admitted),
		},
	}
	_, pods := running.PartialStart()
	sighting.Remedy = command.Say("set parallelism to %d again: %s; or %s", pods, advice.SetField(j, []string{"spec", "parallelism"}, pods), makeRoom(v, j, c, wait))
	return sighting
}

// makeRoom returns how to let the new size run. It leaves out smaller requests: the old size has them.
func makeRoom(v *view.View, j *inspect.Job, c view.Copy, wait *kueue.Wait) command.Prose {
	all := wait.Fixes(j.FixTarget(advice.FixTargetOf(v, c.Worker, c.Workload, wait, "")))
	if raise := slices.DeleteFunc(slices.Clone(all), func(f command.Fix) bool { return len(f.Command) == 0 }); len(raise) > 0 {
		all = raise
	}
	return command.Alternatives(all)
}
