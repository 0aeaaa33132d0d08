package orphans

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func podsLeft() view.Rule {
	return view.Rule{
		Code: "JM061", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Detect: func(v *view.View) {
			left := leftPods(v)
			for _, p := range v.Pairs() {
				o := p.Origin
				if o.ManagedBy != delegation.MultiKueue || !o.Row().IsJob() {
					continue
				}
				for _, f := range v.Clusters() {
					if pods := left[f][types.NamespacedName{Namespace: o.Namespace, Name: o.Name}]; f.Context != o.Context && len(pods) > 0 {
						v.Report(sightingOfPods(o, f, pods))
					}
				}
			}
		},
	}
}

// leftPods returns the unfinished Pods without a controller whose Job does
// not exist, by namespace and name of the Job.
func leftPods(v *view.View) map[*inspect.Facts]map[types.NamespacedName][]*inspect.Pod {
	left := map[*inspect.Facts]map[types.NamespacedName][]*inspect.Pod{}
	for _, f := range v.Clusters() {
		if !v.KnowsAll(f, delegation.Job()) || !v.CanRead(f, inspect.PartJobs, inspect.PartPods) {
			continue
		}
		left[f] = map[types.NamespacedName][]*inspect.Pod{}
		for _, pod := range f.Pods {
			isThere := func(j *inspect.Job) bool { return j.UID == pod.LeftBy }
			isOver := pod.Phase == corev1.PodSucceeded || pod.Phase == corev1.PodFailed || pod.Reason == inspect.Terminating
			if pod.LeftBy == "" || isOver || slices.ContainsFunc(f.Jobs, isThere) {
				continue
			}
			key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.JobName[len("Job/"):]}
			left[f][key] = append(left[f][key], pod)
		}
	}
	return left
}

func sightingOfPods(o *inspect.Job, f *inspect.Facts, pods []*inspect.Pod) view.Sighting {
	slices.SortFunc(pods, func(a, b *inspect.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	first, uids := pods[0], []string{}
	s := view.Sighting{
		Object: view.Object{Context: f.Context, APIVersion: "v1", Kind: "Pod", Namespace: first.Namespace, Name: first.Name},
		Since:  first.CreationTimestamp.Time, Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("%s of a deleted mirror of %s remain, and no controller owns them", inspect.Count(len(pods), "Pod"), view.Of(o).String()),
		Evidence: []string{quote.Owner(o)},
	}
	var deletes []command.Command
	for _, pod := range pods {
		if !slices.Contains(uids, pod.LeftBy) {
			uids = append(uids, pod.LeftBy)
			deletes = append(deletes, command.Kubectl(f.Context, pod.Namespace, "delete", "pods", "-l", batchv1.ControllerUidLabel+"="+pod.LeftBy))
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: Pod %s/%s is %s since %s and has no controller; no Job has the UID of its label %s=%s",
				f.Context, pod.Namespace, pod.Name, pod.Phase, quote.Time(pod.CreationTimestamp), batchv1.ControllerUidLabel, pod.LeftBy))
		}
	}
	s.Remedy = command.Say("delete these Pods if their results are not needed: %s", command.JoinCommands(deletes, "; "))
	return s
}
