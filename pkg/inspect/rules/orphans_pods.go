package rules

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func podsLeft() Rule {
	return Rule{
		Code: "JM061", Undated: true, Title: "Pods remain after their mirror was deleted", Severity: inspect.Warning,
		Holds: "no Pods outlive their mirror",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `Who deletes a Job without saying what is to become of its pods leaves these, for so it is with batch/v1:
nothing controls them any more, nothing ends them, and they use up the worker's resources beside those of the next
mirror. MultiKueue deleted mirrors so before Kueue 0.13, and so does whoever deletes one with --cascade=orphan.`,
		Shows: `On a worker a pod runs, or is to run, that nothing controls; it has the label
batch.kubernetes.io/controller-uid of a Job that is not there, and the namespace and the Job's name of an origin that is
MultiKueue's. Where the origin is gone too, nothing tells such pods from what somebody else has left on purpose; and
pods are read only of clusters that have another mirror, or an origin. Neither is judged.`,
		Remedy: `See that nobody needs them, and delete the pods that have this label. Upgrade Kueue on the management
cluster, if it is older than 0.13.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/5484",
		Detect: func(v *View) {
			left := v.leftPods()
			for _, p := range v.Pairs() {
				o := p.Origin
				if o.ManagedBy != delegation.MultiKueue || !o.Row().IsJob() {
					continue
				}
				for _, f := range v.Clusters() {
					if pods := left[f][types.NamespacedName{Namespace: o.Namespace, Name: o.Name}]; f.Context != o.Context && len(pods) > 0 {
						v.Report(podsOfGone(o, f, pods))
					}
				}
			}
		},
	}
}

// leftPods are the pods that run and that nothing controls, of Jobs that are not there,
// by the namespaces and names of these.
func (v *View) leftPods() map[*inspect.Facts]map[types.NamespacedName][]*inspect.Pod {
	left := map[*inspect.Facts]map[types.NamespacedName][]*inspect.Pod{}
	for _, f := range v.Clusters() {
		if !v.KnowsAll(f, delegation.Job()) || !v.note(f, inspect.PartJobs, inspect.PartPods) {
			continue
		}
		left[f] = map[types.NamespacedName][]*inspect.Pod{}
		for _, pod := range f.Pods {
			isThere := func(j *inspect.Job) bool { return j.UID == pod.LeftBy }
			isOver := pod.Phase == corev1.PodSucceeded || pod.Phase == corev1.PodFailed || pod.Reason == "Terminating"
			if pod.LeftBy == "" || isOver || slices.ContainsFunc(f.Jobs, isThere) {
				continue
			}
			key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.JobName[len("Job/"):]}
			left[f][key] = append(left[f][key], pod)
		}
	}
	return left
}

func podsOfGone(o *inspect.Job, f *inspect.Facts, pods []*inspect.Pod) Sighting {
	slices.SortFunc(pods, func(a, b *inspect.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	first, uids := pods[0], []string{}
	s := Sighting{
		Object: Object{Context: f.Context, APIVersion: "v1", Kind: "Pod", Namespace: first.Namespace, Name: first.Name},
		Since:  first.CreationTimestamp.Time, Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("%s of a deleted mirror of %s remain, and no controller owns them", inspect.Count(len(pods), "pod"), named(Of(o))),
		Evidence: []string{ownerOf(o)},
	}
	var deletes []command.Command
	for _, pod := range pods {
		if !slices.Contains(uids, pod.LeftBy) {
			uids = append(uids, pod.LeftBy)
			deletes = append(deletes, command.Kubectl(f.Context, pod.Namespace, "delete", "pods", "-l", batchv1.ControllerUidLabel+"="+pod.LeftBy))
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: pod %s/%s is %s since %s, has no controller, and its label %s is %s, of which there is no Job",
				f.Context, pod.Namespace, pod.Name, pod.Phase, stamp(pod.CreationTimestamp), batchv1.ControllerUidLabel, pod.LeftBy))
		}
	}
	s.Remedy = command.Say("if nobody needs them: %s", command.JoinCommands(deletes, "; "))
	return s
}
