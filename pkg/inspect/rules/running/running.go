// Package running has the rules about Jobs that a worker was chosen for, until their end.
package running

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Rules returns JM034 to JM052, JM121 to JM127, JM129 to JM131, JM136, JM139 and JM140.
func Rules() []view.Rule {
	return []view.Rule{
		nameConflict(), mirrorRefused(), outOfSync(), staleCopy(), ownerNotFound(), deletedByTTL(), versionSkew(),
		statusHeldBack(), statusRefused(), workerUnreachable(), workerMisconfigured(), evictedOnWorker(), evictionHangs(),
		admittedNowhere(), mirrorVanished(), podsCannotStart(), resizeNotApplied(), otherPriority(),
		mirrorIgnored(), podsIgnored(), finishedEarly(), deactivated(), editedWhileAdmitted(), sameClusterTwice(),
		restartLoop(), stepNotTaken(), runsWithoutQuota(), partGone(), markRemoved(), podsFail(), limitPassed(),
	}
}

// unfinished returns the objects that MultiKueue manages and has picked up, and
// that are neither finished nor being deleted.
func unfinished(v *view.View) iter.Seq[view.Submission] {
	return func(yield func(view.Submission) bool) {
		for _, s := range v.Submissions() {
			j := s.Job()
			if s.Workload != nil && j.IsOpen() && s.IsMultiKueues() && !yield(s) {
				return
			}
		}
	}
}

// finishedFor returns the condition Finished of a Workload that has finished
// for a reason, otherwise nil.
func finishedFor(w *kueue.Workload, reason string) *metav1.Condition {
	c := w.Condition(kueue.Finished)
	if !view.IsTrue(c) || c.Reason != reason {
		return nil
	}
	return c
}

// lastRetry returns MultiKueue's message about the last time that it took a
// Job back. It returns "" if it never did, or if the Job was evicted for
// another reason since. The message is in the check until the Workload is
// evicted, and then in the condition Evicted, even when that is over.
func lastRetry(s view.Submission) string {
	if s.HasState(kueue.CheckRetry) {
		return s.Check.Message
	}
	c := s.Workload.Condition(kueue.Evicted)
	if c == nil || !strings.Contains(c.Message, "AdmissionCheck in Retry state") {
		return ""
	}
	return c.Message
}

// retriedAt returns when MultiKueue last took a Job back.
func retriedAt(s view.Submission) time.Time {
	if c := s.Workload.Condition(kueue.Evicted); c != nil && !s.HasState(kueue.CheckRetry) {
		return c.LastTransitionTime.Time
	}
	if s.Check == nil {
		return time.Time{}
	}
	return s.Check.LastTransitionTime.Time
}

// retriedWorker matches the MultiKueueCluster that MultiKueue took a Job back from.
var retriedWorker = regexp.MustCompile(`worker cluster:? "([^"]+)"`)

// retriedBy returns the MultiKueueCluster that MultiKueue took the Job back
// from, and the context that reaches it. They are "" if unknown.
func retriedBy(v *view.View, s view.Submission) (cluster, context string) {
	found := retriedWorker.FindStringSubmatch(lastRetry(s))
	if found == nil {
		return "", ""
	}
	return found[1], v.ContextOf(s.Manager, found[1])
}

// evictionOf quotes the condition Evicted of a Workload, if it has one.
func evictionOf(s view.Submission) []string {
	c := s.Workload.Condition(kueue.Evicted)
	if c == nil {
		return nil
	}
	return []string{quote.WorkloadCondition(s.Manager, s.Workload, c)}
}

// conditionNamed quotes a condition of a Workload by its type.
func conditionNamed(f *inspect.Facts, w *kueue.Workload, conditionType string) string {
	if c := w.Condition(conditionType); c != nil {
		return quote.WorkloadCondition(f, w, c)
	}
	return fmt.Sprintf("%s: %s has no condition %s", f.Context, view.OfWorkload(f, w).String(), conditionType)
}

// isLiveMirror reports whether MultiKueue made a mirror, and the mirror has not ended.
func isLiveMirror(m inspect.Mirror) bool { return m.Is(inspect.ByMultiKueue) && view.IsLiveJob(m.Job) }
