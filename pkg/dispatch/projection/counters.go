package projection

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// count sets the counters of Pods. None is negative (1), a finished Job has no active Pods (11,
// 14), at most the active Pods are ready (15; kubernetes issue 139428), and counters that only
// grow are at least the origin's (29, 30).
func (d *draft) count() {
	s := &d.status
	s.Active = max(s.Active, 0)
	s.Succeeded = max(s.Succeeded, 0)
	s.Failed = max(s.Failed, 0)
	if d.ending {
		s.Active = 0
	}
	s.Ready = clamp(s.Ready, s.Active)
	if d.ending {
		s.Terminating = clamp(s.Terminating, 0)
	} else if s.Terminating != nil {
		s.Terminating = ptr.To(max(*s.Terminating, 0))
	}
	s.Failed = d.neverDecreased("failed", d.origin.Status.Failed, s.Failed)
	if !mayScaleDown(d.origin) {
		s.Succeeded = d.neverDecreased("succeeded", d.origin.Status.Succeeded, s.Succeeded)
	}
}

// neverDecreased returns the larger of the origin's and the mirror's counter, because it cannot
// decrease.
func (d *draft) neverDecreased(what string, origin, mirror int32) int32 {
	if mirror < origin {
		d.diverges(fmt.Sprintf("the mirror counts %d %s Pods, but the origin already %d, which cannot decrease", mirror, what, origin))
	}
	return max(origin, mirror)
}

// indexes sets completedIndexes and failedIndexes as far as the origin's spec allows (16 to 20).
func (d *draft) indexes() {
	s := &d.status
	completed := d.indexesOf("completedIndexes", s.CompletedIndexes, d.origin.Status.CompletedIndexes, indexed(d.origin))
	if completed.cut {
		// The mirror also counts indexes that the origin does not have.
		s.Succeeded = completed.set.count()
		if !mayScaleDown(d.origin) {
			s.Succeeded = max(s.Succeeded, d.origin.Status.Succeeded)
		}
	}
	s.CompletedIndexes = completed.text
	if s.FailedIndexes == nil {
		return
	}
	// Without backoffLimitPerIndex, the server refuses even "" (19).
	perIndex := indexed(d.origin) && d.origin.Spec.BackoffLimitPerIndex != nil
	failed := d.indexesOf("failedIndexes", *s.FailedIndexes, ptr.Deref(d.origin.Status.FailedIndexes, ""), perIndex)
	if !perIndex {
		s.FailedIndexes = nil
		return
	}
	if rest := failed.set.without(completed.set); rest.count() != failed.set.count() {
		d.diverges("the mirror counts indexes as completed and as failed: taken for completed")
		failed.text = rest.String()
	}
	s.FailedIndexes = &failed.text
}

// indexList is a valid list of indexes.
type indexList struct {
	text string
	set  intervals
	// cut is whether the mirror has more indexes.
	cut bool
}

// indexesOf returns the part of a mirror's list that is valid for the origin. If the list is
// malformed, it returns the origin's.
func (d *draft) indexesOf(what, text, stored string, allowed bool) indexList {
	if !allowed {
		if text != "" {
			d.diverges(fmt.Sprintf("the mirror has %s %q, for which the origin's spec has no use", what, text))
		}
		return indexList{}
	}
	completions := ptr.Deref(d.origin.Spec.Completions, 0)
	all, err := parseIndexes(text)
	if err != nil {
		d.diverges(fmt.Sprintf("the mirror's %s cannot be read: %v", what, err))
		if all, err = parseIndexes(stored); err != nil {
			return indexList{}
		}
		all = all.below(completions)
		return indexList{text: all.String(), set: all}
	}
	set := all.below(completions)
	if set.count() == all.count() {
		// The text is kept, because the list may be formatted in another way.
		return indexList{text: text, set: set}
	}
	d.diverges(fmt.Sprintf("the mirror's %s %q go beyond the origin's completions", what, text))
	return indexList{text: set.String(), set: set, cut: true}
}

// indexed reports whether each Pod of a Job has an index.
func indexed(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// mayScaleDown reports whether a Job can be scaled down, which decreases its succeeded counter.
func mayScaleDown(job *batchv1.Job) bool {
	return delegation.MaySucceededDecrease(indexed(job), job.Spec.Completions, job.Spec.Parallelism)
}

// clamp limits a counter to the range from zero to limit. Nil means unknown.
func clamp(counter *int32, limit int32) *int32 {
	if counter == nil {
		return nil
	}
	return ptr.To(max(0, min(*counter, limit)))
}

func value(counter *int32) int32 { return ptr.Deref(counter, 0) }
