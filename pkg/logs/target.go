package logs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Target is an object whose Pods' logs are read, with a client of its cluster.
type Target struct {
	Job    *inspect.Job
	Client kubernetes.Interface
}

// isPod reports whether an object is the Pod itself.
func isPod(j *inspect.Job) bool {
	return j.Row().Resource.GroupResource() == corev1.SchemeGroupVersion.WithResource("pods").GroupResource()
}

// hasPods reports whether the target can have Pods by now.
func (t Target) hasPods() bool { return t.Job.Row().PodLabel == "" || t.Job.PodLabelValue() != "" }

// options returns list options that select the target's Pods, and possibly others, which owns
// excludes.
func (t Target) options() metav1.ListOptions {
	row := t.Job.Row()
	label := row.PodLabel
	switch {
	case isPod(t.Job):
		return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, t.Job.Name).String()}
	case label != "" && !row.HasSubmitter:
		return metav1.ListOptions{LabelSelector: labels.Set{label: t.Job.PodLabelValue()}.String()}
	}
	return metav1.ListOptions{}
}

// owns reports whether a selected Pod belongs to the target: an earlier Job may have had its
// name. The controllers of other kinds' Pods have their own controllers, so only the label
// identifies them.
func (t Target) owns(p *corev1.Pod) bool {
	if isPod(t.Job) {
		return string(p.UID) == t.Job.UID
	}
	row, owner := t.Job.Row(), metav1.GetControllerOf(p)
	switch {
	case row.HasSubmitter:
		isSubmitter := owner != nil && owner.Kind == delegation.Job().Kind && owner.Name == t.Job.Name
		return isSubmitter || t.hasPods() && p.Labels[row.PodLabel] == t.Job.PodLabelValue()
	case row.PodLabel != "" && !row.IsJob():
		return true
	}
	return owner != nil && string(owner.UID) == t.Job.UID
}

// list reads the target's Pods, in the order of display.
func (t Target) list(ctx context.Context) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	err := wire.EachItem(ctx, t.Client.CoreV1().Pods(t.Job.Namespace).List, t.options(), func(pod *corev1.Pod) {
		if t.owns(pod) {
			trim(pod)
			pods = append(pods, pod)
		}
	})
	if err != nil {
		return nil, t.failed("list Pods in namespace "+strconv.Quote(t.Job.Namespace), err)
	}
	sortPods(pods)
	return pods, nil
}

// failed returns an error of the target's context.
func (t Target) failed(doing string, err error) error {
	return kubecontext.InContext(t.Job.Context, doing, err)
}

// String returns the kind and the name of the target.
func (t Target) String() string {
	return fmt.Sprintf("%s %s/%s", t.Job.Row().Name, t.Job.Namespace, t.Job.Name)
}

// trim removes the fields that are not used, which are most of a Pod.
func trim(p *corev1.Pod) {
	p.ManagedFields, p.Spec.Volumes, p.Spec.Tolerations, p.Spec.Affinity = nil, nil, nil, nil
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			containers[i] = corev1.Container{Name: containers[i].Name}
		}
	}
	for i := range p.Spec.EphemeralContainers {
		name := p.Spec.EphemeralContainers[i].Name
		p.Spec.EphemeralContainers[i] = corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name}}
	}
}

// sortPods sorts by completion index, and retries of an index by age.
func sortPods(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(completionIndex(a), completionIndex(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

func completionIndex(p *corev1.Pod) int {
	if index, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
		return index
	}
	return -1
}
