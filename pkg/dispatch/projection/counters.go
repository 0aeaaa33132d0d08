package projection

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// count sets the numbers of pods: none negative (1), none for a finished Job (11,
// 14), no more ready than active (15; kubernetes issue 139428), and none lower
// than the origin's that only grows (29, 30).
func (d *draft) count() {
	s := &d.status
	s.Active = max(s.Active, 0)
	s.Succeeded = max(s.Succeeded, 0)
	s.Failed = max(s.Failed, 0)
	if d.ending {
		s.Active = 0
	}
	s.Ready = limited(s.Ready, s.Active)
	if d.ending {
		s.Terminating = limited(s.Terminating, 0)
	} else if s.Terminating != nil {
		s.Terminating = ptr.To(max(*s.Terminating, 0))
	}
	s.Failed = d.grown("failed", d.origin.Status.Failed, s.Failed)
	if !elastic(d.origin) {
		s.Succeeded = d.grown("succeeded", d.origin.Status.Succeeded, s.Succeeded)
	}
}

// grown is the larger of what the origin and the mirror count, since a counter
// does not go back.
func (d *draft) grown(what string, origin, mirror int32) int32 {
	if mirror < origin {
		d.diverges(fmt.Sprintf("the mirror counts %d %s pods, but the origin %d already, which is not taken back", mirror, what, origin))
	}
	return max(origin, mirror)
}

// indexes sets completedIndexes and failedIndexes to what the origin's own spec
// allows (16 to 20).
func (d *draft) indexes() {
	s := &d.status
	completed := d.indexesOf("completedIndexes", s.CompletedIndexes, d.origin.Status.CompletedIndexes, indexed(d.origin))
	if completed.cut {
		// The mirror's number counts indexes that the origin does not have.
		s.Succeeded = completed.set.count()
		if !elastic(d.origin) {
			s.Succeeded = max(s.Succeeded, d.origin.Status.Succeeded)
		}
	}
	s.CompletedIndexes = completed.text
	if s.FailedIndexes == nil {
		return
	}
	// Where backoffLimitPerIndex is not set, even "" is refused (19).
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

// indexList is a list of indexes as it may be written.
type indexList struct {
	text string
	set  intervals
	// cut is whether the mirror has more indexes than these.
	cut bool
}

// indexesOf makes of a mirror's list what the origin may have. A list that cannot
// be read leaves the origin's as it was.
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
		// As it is: the list may be written in another way than ours.
		return indexList{text: text, set: set}
	}
	d.diverges(fmt.Sprintf("the mirror's %s %q go beyond the origin's completions", what, text))
	return indexList{text: set.String(), set: set, cut: true}
}

// indexed is whether each pod of a Job has its index.
func indexed(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// elastic is whether a Job may be scaled down, so that its succeeded pods become
// fewer (kubernetes: RejectDecreasingSucceededCounter in strategy.go).
func elastic(job *batchv1.Job) bool {
	return indexed(job) && ptr.Equal(job.Spec.Completions, job.Spec.Parallelism)
}

// limited puts a counter that may be unknown between zero and most.
func limited(counter *int32, most int32) *int32 {
	if counter == nil {
		return nil
	}
	return ptr.To(max(0, min(*counter, most)))
}

func value(counter *int32) int32 { return ptr.Deref(counter, 0) }
