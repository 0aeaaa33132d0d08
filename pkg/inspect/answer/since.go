package answer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// since returns since when a Job is in a state.
func (q *Question) since(j *inspect.Job, s inspect.JobState) *metav1.Time {
	if s == inspect.StateTerminating {
		return j.DeletedAt.DeepCopy()
	}
	isStopped := j.ManagedBy.IsBuiltIn() && j.Status == delegation.Suspended
	if !isStopped && (s == inspect.StateWaiting || s == inspect.StateBlocked || s == inspect.StateUnknown) {
		return q.waitsSince(j)
	}
	if j.Since != nil {
		return j.Since.DeepCopy()
	}
	return j.CreationTimestamp.DeepCopy()
}

// waitsSince returns when Kueue last stopped a Job, or the creation of a Job that it never stopped. The
// status of a delegated Job shows neither: no controller writes it while the Job waits.
func (q *Question) waitsSince(j *inspect.Job) *metav1.Time {
	since := j.CreationTimestamp.DeepCopy()
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, q.Inventory.Facts(j.Context)))
	if w == nil {
		return since
	}
	if stop := w.Stop(); stop != nil && stop.LastTransitionTime.After(since.Time) {
		return stop.LastTransitionTime.DeepCopy()
	}
	return since
}

// sinceOn returns a time of a mirror by the clock of its origin's cluster, by which an answer is dated; nil if that is
// unknown.
func (q *Question) sinceOn(mirror *inspect.Job, t *metav1.Time) *metav1.Time {
	o := q.Pair.Origin
	if o == nil || t == nil || o.Context == mirror.Context {
		return t.DeepCopy()
	}
	for _, context := range []string{o.Context, mirror.Context} {
		if f := q.Inventory.Facts(context); f != nil && f.SkewProof != "" {
			return nil
		}
	}
	return &metav1.Time{Time: q.Inventory.On(o.Context, mirror.Context, t.Time)}
}
