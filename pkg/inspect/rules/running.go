package rules

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// running are the ways in which a Job goes wrong once a worker has admitted it
// (JM034 to JM052).
func running() []Rule {
	return []Rule{
		foreignJob(), mirrorRefused(), outOfSync(), staleCopy(), ownerNotFound(), deletedByTTL(), versionSkew(),
		heldBack(), statusRefused(), workerUnreachable(), workerMisconfigured(), evictedOnWorker(), evictionHangs(),
		admittedNowhere(), mirrorVanished(), podsCannotStart(), resizeNotApplied(), otherPriority(),
	}
}

func runningUnseen() []Unseen {
	return []Unseen{{
		Code: "JM051", Title: "a StatefulSet or LeaderWorkerSet is never ready where it was submitted",
		Reason: "MultiKueue does not copy the status of these kinds, by design: their own controller would overwrite it; look at the mirror",
	}}
}

// underWay are the objects that MultiKueue has taken up, and that are neither
// finished nor being deleted.
func underWay(v *View) iter.Seq[Submission] {
	return func(yield func(Submission) bool) {
		for _, s := range v.Submissions() {
			j := s.Job()
			if s.Workload != nil && j.IsOpen() && s.IsMultiKueues() && !yield(s) {
				return
			}
		}
	}
}

// hasState is whether MultiKueue's check stands at a state.
func hasState(s Submission, state string) bool { return s.Check != nil && s.Check.State == state }

// finishedFor is the condition that says that a Workload has finished for a
// reason, nil if it has not.
func finishedFor(w *kueue.Workload, reason string) *metav1.Condition {
	c := w.Condition(kueue.Finished)
	if !isTrue(c) || c.Reason != reason {
		return nil
	}
	return c
}

// lastRetry is what MultiKueue said when it took a Job back the last time, "" if
// it never did, or if somebody else did since. It stands with the check until the
// Workload is evicted, and then with the eviction, also once that is over.
func lastRetry(s Submission) string {
	if hasState(s, kueue.CheckRetry) {
		return s.Check.Message
	}
	c := s.Workload.Condition(kueue.Evicted)
	if c == nil || !strings.Contains(c.Message, "AdmissionCheck in Retry state") {
		return ""
	}
	return c.Message
}

// retriedAt is when that was.
func retriedAt(s Submission) time.Time {
	if c := s.Workload.Condition(kueue.Evicted); c != nil && !hasState(s, kueue.CheckRetry) {
		return c.LastTransitionTime.Time
	}
	if s.Check == nil {
		return time.Time{}
	}
	return s.Check.LastTransitionTime.Time
}

// retriedBy is the MultiKueueCluster that it took the Job back from, and the
// context that reaches that; "" where it does not tell.
func retriedBy(v *View, s Submission) (cluster, context string) {
	found := regexp.MustCompile(`worker cluster:? "([^"]+)"`).FindStringSubmatch(lastRetry(s))
	if found == nil {
		return "", ""
	}
	return found[1], v.ContextOf(s.Manager, found[1])
}

// evictionOf quotes how a Workload was evicted, if it was.
func evictionOf(s Submission) []string {
	c := s.Workload.Condition(kueue.Evicted)
	if c == nil {
		return nil
	}
	return []string{conditionOf(s.Manager, s.Workload, c)}
}

// worksOn is whether the manager reaches a MultiKueueCluster, as far as it knows;
// what it does not tell counts as well.
func worksOn(v *View, s Submission, cluster string) bool {
	active := v.activeOf(s.Manager, cluster)
	return active == nil || isTrue(active)
}

// conditionOf quotes a condition of a Workload.
func conditionOf(f *inspect.Facts, w *kueue.Workload, c *metav1.Condition) string {
	return conditionText(workloadObject(f, w), c)
}

// conditionNamed quotes a condition of a Workload by its type.
func conditionNamed(f *inspect.Facts, w *kueue.Workload, conditionType string) string {
	if c := w.Condition(conditionType); c != nil {
		return conditionOf(f, w, c)
	}
	return fmt.Sprintf("%s: %s has no condition %s", f.Context, named(workloadObject(f, w)), conditionType)
}

// checkOf quotes how MultiKueue's check stands.
func checkOf(s Submission) string {
	text := fmt.Sprintf("%s: status.admissionChecks[%s].state of Workload %s/%s is %s since %s",
		s.Manager.Context, s.Check.Name, s.Workload.Namespace, s.Workload.Name, s.Check.State, stamp(s.Check.LastTransitionTime))
	if s.Check.RetryCount != nil {
		text += fmt.Sprintf(", retryCount %d", *s.Check.RetryCount)
	}
	if s.Check.Message != "" {
		text += ": " + s.Check.Message
	}
	return text
}

// startAgain is how to have a Job from scratch.
func startAgain(j *inspect.Job) command.Prose {
	return command.Say("%s, and create it again", deleteJob(j))
}
