package rules

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func podsNotTakenUp() Rule {
	return Rule{
		Code: "JM122", Title: "no controller picks up the mirror's Pods", Severity: inspect.Error,
		Holds: "the Pods of every mirror are picked up",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `Once a mirror's pods are there, the scheduler of the worker has to say where they run, or why they cannot,
and then the kubelet of their node has to start them. Here one of them has said nothing at all: the scheduler stands
still, or does not exist under the name that the pods give it; or the node is gone, and nobody has noticed so far.`,
		Shows: `A pod of the mirror has no node, and not even the condition PodScheduled; or it has a node, and no
status.startTime. Where the same scheduler or node has acted on other pods since, it is only behind.`,
		Remedy: `See whether the scheduler that the pods name runs on the worker, or whether the node is ready.`,
		Link:   "https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/",
		Detect: func(v *View) {
			v.eachLiveMirror(func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
				pods, _ := v.Pods(f, mirror)
				var waiting *inspect.Pod
				n := 0
				for _, pod := range pods {
					if isIgnored(pod) && v.hadTime(f.Context, turnOf(pod)) {
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

// isIgnored says whether nobody whose turn it is has said anything of a pod.
func isIgnored(p *inspect.Pod) bool {
	isWaiting := p.Phase == corev1.PodPending && p.Reason == string(corev1.PodPending)
	return isWaiting && (p.Node == "" && !p.IsLookedAt || p.Node != "" && p.Started.IsZero())
}

// turnWith is whose turn it is with a pod, and since when.
func (v *View) turnWith(f *inspect.Facts, p *inspect.Pod) (a *Awaited, since time.Time) {
	since = turnOf(p)
	t := inspect.Turn{Actor: inspect.SchedulerOf(f.Context, p), Duty: inspect.DutySchedule, Subject: p.UID}
	if p.Node != "" {
		t.Actor, t.Duty = inspect.Actor{Role: inspect.RoleKubelet, Context: f.Context, Name: p.Node}, inspect.DutyStart
	}
	return v.awaits(t, f.Context, since), since
}

// turnOf returns since when somebody has to act on a pod.
func turnOf(p *inspect.Pod) time.Time {
	if p.Node != "" {
		return newest(p.CreationTimestamp.Time, p.Scheduled.Time)
	}
	return p.CreationTimestamp.Time
}

func reportPodsIgnored(v *View, origin *inspect.Job, f *inspect.Facts, pod *inspect.Pod, n int) {
	a, since := v.turnWith(f, pod)
	s := Sighting{
		Object: Of(origin), Since: v.On(origin.Context, f.Context, since), Jobs: []*inspect.Job{origin},
		Cause:   "at " + a.Actor.String(),
		Message: fmt.Sprintf("no sign of %s, for which %s of its mirror on %s must wait", a.Actor, inspect.Count(n, "Pod"), f.Context),
		Evidence: []string{
			fmt.Sprintf("%s: Pod %s/%s has no condition PodScheduled and no node since %s", f.Context, pod.Namespace, pod.Name, day(since)),
			a.trace(),
		},
		Remedy: command.Say("see that the scheduler that the pods name runs on %s: %s", f.Context,
			command.Kubectl(f.Context, pod.Namespace, "get", "pod", pod.Name, "-o", "jsonpath={.spec.schedulerName}")),
	}
	if pod.Node != "" {
		s.Evidence[0] = fmt.Sprintf("%s: Pod %s/%s is on node %s since %s, and has no status.startTime", f.Context, pod.Namespace, pod.Name, pod.Node, day(since))
		s.Remedy = command.Say("see whether the node is ready: %s", command.Kubectl(f.Context, "", "get", "node", pod.Node))
	}
	if a.isAtWork() {
		s.Severity, s.Cause = inspect.Info, s.Cause+", behind"
		s.Message = fmt.Sprintf("%s works, but has not reached %s of its mirror", a.Actor, inspect.Count(n, "Pod"))
		s.Remedy = command.Say("wait; if it stays, %s", s.Remedy)
	}
	v.Report(s)
}
