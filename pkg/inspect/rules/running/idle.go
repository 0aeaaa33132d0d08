package running

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func podsIgnored() view.Rule {
	return view.Rule{
		Code: "JM122", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Detect: func(v *view.View) {
			eachLiveMirror(v, func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
				pods, _ := v.Pods(f, mirror)
				var waiting *inspect.Pod
				n := 0
				for _, pod := range pods {
					if isIgnored(pod) && hadTimeToReact(v, f.Context, dueSince(pod)) {
						n++
						waiting = cmp.Or(waiting, pod)
					}
				}
				if waiting != nil {
					reportPodsIgnored(v, p.Origin, f, waiting, n)
				}
			})
		},
	}
}

// isIgnored reports whether the component that must act next on a Pod has not
// reacted to it.
func isIgnored(p *inspect.Pod) bool {
	isWaiting := p.Phase == corev1.PodPending && p.Reason == string(corev1.PodPending)
	return isWaiting && (p.Node == "" && !p.HasSchedulerResult || p.Node != "" && p.Started.IsZero())
}

// stepForPod returns the step that must be taken next for a Pod, and since when
// it is due.
func stepForPod(v *view.View, f *inspect.Facts, p *inspect.Pod) (a *view.Awaited, since time.Time) {
	since = dueSince(p)
	t := liveness.PendingAction{Actor: liveness.SchedulerOf(f.Context, p), Duty: liveness.DutySchedule, Subject: p.UID}
	if p.Node != "" {
		t.Actor, t.Duty = liveness.Actor{Role: liveness.RoleKubelet, Context: f.Context, Name: p.Node}, liveness.DutyStart
	}
	return v.Awaits(t, f.Context, since), since
}

// dueSince returns since when a component must act on a Pod.
func dueSince(p *inspect.Pod) time.Time {
	if p.Node != "" {
		return view.Latest(p.CreationTimestamp.Time, p.Scheduled.Time)
	}
	return p.CreationTimestamp.Time
}

func reportPodsIgnored(v *view.View, origin *inspect.Job, f *inspect.Facts, pod *inspect.Pod, n int) {
	a, since := stepForPod(v, f, pod)
	wait := "waits"
	if n > 1 {
		wait = "wait"
	}
	s := view.Sighting{
		Object: view.Of(origin), Since: v.On(origin.Context, f.Context, since), Jobs: []*inspect.Job{origin},
		Cause:   "at " + a.Actor.String(),
		Message: fmt.Sprintf("%s of its mirror on %s %s for %s: no sign of it", inspect.Count(n, "Pod"), f.Context, wait, a.Actor),
		Evidence: []string{
			fmt.Sprintf("%s: Pod %s/%s has no condition PodScheduled and no node since %s", f.Context, pod.Namespace, pod.Name, quote.MaybeTime(since)),
			quote.LastAction(a),
		},
		Remedy: command.Say("check that the scheduler of the Pods runs on %s: %s", f.Context,
			command.Kubectl(f.Context, pod.Namespace, "get", "pod", pod.Name, "-o", "jsonpath={.spec.schedulerName}")),
	}
	if pod.Node != "" {
		s.Evidence[0] = fmt.Sprintf("%s: Pod %s/%s is on node %s since %s, and has no status.startTime", f.Context, pod.Namespace, pod.Name, pod.Node, quote.MaybeTime(since))
		s.Remedy = command.Say("check that the node is ready: %s", command.Kubectl(f.Context, "", "get", "node", pod.Node))
	}
	if a.IsAtWork() {
		s.Severity, s.Cause = inspect.Info, s.Cause+", behind"
		s.Message = fmt.Sprintf("%s works, but has not reached %s of its mirror", a.Actor, inspect.Count(n, "Pod"))
		s.Remedy = command.Say("wait; if it remains, %s", s.Remedy)
	}
	v.Report(s)
}
