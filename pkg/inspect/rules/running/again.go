package running

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func restartLoop() view.Rule {
	return view.Rule{
		Code: "JM127", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Covers: []string{"JM048", "JM129", "JM130", "JM131"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if n := restartsOf(s.Workload); !s.IsFinished() && s.Workload.IsActive() && n >= manyRestarts && mayRestart(v, s, n) {
					v.Report(describeRestarts(v, s, n))
				}
			}
		},
	}
}

// restartsOf returns how often a Workload was started in vain: the largest of
// the counts that its status has. Preemptions do not count, because a
// preempted Workload gets quota again.
func restartsOf(w *kueue.Workload) int32 {
	var n int32
	for _, state := range w.Status.AdmissionChecks {
		if state.RetryCount != nil {
			n = max(n, *state.RetryCount)
		}
	}
	if w.Status.Requeue != nil && w.Status.Requeue.Count != nil {
		n = max(n, *w.Status.Requeue.Count)
	}
	return max(n, w.Status.Evictions(evictedForCheck), w.Status.Evictions(kueue.PodsReadyTimeout))
}

// mayRestart reports whether the next restart may be near: the current state has
// not lasted much longer than the average round.
func mayRestart(v *view.View, s view.Submission, n int32) bool {
	if s.Check == nil {
		return false
	}
	age, calm := v.Age(s.Manager.Context, s.Workload.CreationTimestamp.Time), v.Age(s.Manager.Context, s.Check.LastTransitionTime.Time)
	if j := s.Job(); j.Status == delegation.Running && j.StartTime != nil {
		// The check may have changed for another reason while the Job runs.
		calm = max(calm, v.Age(s.Manager.Context, j.StartTime.Time))
	}
	return calm <= 3*(age-calm)/time.Duration(n)+time.Minute
}

func describeRestarts(v *view.View, s view.Submission, n int32) view.Sighting {
	j, w := s.Job(), s.Workload
	// A count is not a state that must last: it reports what has already
	// happened.
	sighting := view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j},
		Message: countRestarts(s, n),
		Evidence: append([]string{
			quote.MultiKueueCheck(s),
			fmt.Sprintf("%s: %s was created %s", s.Manager.Context, view.OfWorkload(s.Manager, w).String(), quote.Time(w.CreationTimestamp)),
		}, evictionOf(s)...),
		Remedy: findEvictionCause(v, s),
	}
	// Kueue tries again by itself.
	wait := w.Waiting()
	sighting.MayPass = wait.IsTransient()
	if wait.HasKnownEnd() {
		sighting.Message += "; " + wait.EndText()
	}
	quote.AddPreemption(v, s, &sighting)
	return sighting
}

// countRestarts describes how often a Workload was evicted, and why the last time.
func countRestarts(s view.Submission, n int32) string {
	w, since := s.Workload, quote.Time(s.Workload.CreationTimestamp)
	isUnready := w.Status.Evictions(kueue.PodsReadyTimeout) == n
	text := fmt.Sprintf("it was evicted %d times since %s", n, since)
	if isUnready {
		text = fmt.Sprintf("it was evicted %d times because its Pods were not ready in time (by Kueue on %s since %s)", n, s.Manager.Context, since)
	}
	if s.HasState(kueue.CheckReady) && s.Chosen() != "" {
		text += fmt.Sprintf(", and now runs on MultiKueueCluster %s", s.Chosen())
	}
	wait := w.Waiting()
	if why := lastRetry(s); why != "" {
		return text + "; the last time: " + why
	}
	if wait.IsUnready() && !isUnready {
		return text + "; the last time: its Pods were not ready in time"
	}
	for _, state := range w.Status.AdmissionChecks {
		if state.State == kueue.CheckRetry {
			text += fmt.Sprintf("; AdmissionCheck %s %s", state.Name, w.Answer(state))
		}
	}
	return text
}

// describeWorkload returns the command that shows what Kueue on a context
// reports about a Workload with the same namespace and name.
func describeWorkload(context string, w *kueue.Workload) command.Command {
	return kueue.Kubectl(context, "describe", "Workload", w.Namespace, w.Name)
}

// eventsOf returns the command that shows the events on a context of a Workload with the same namespace and
// name. They remain for an hour, also those of a deleted Workload.
func eventsOf(context string, w *kueue.Workload) command.Command {
	return command.Kubectl(context, w.Namespace, "get", "events", "--field-selector", "involvedObject.name="+w.Name)
}

// checkEviction returns how to find out why a worker has evicted a Workload. context is "" if unknown.
func checkEviction(worker, context string, w *kueue.Workload) command.Prose {
	check := command.Say("check on %s why it was evicted", worker)
	if context == "" {
		return check
	}
	return command.Say("%s: %s", check, eventsOf(context, w))
}

// findEvictionCause returns how to find out why a Job is restarted again and
// again. It depends on the message about the last time.
func findEvictionCause(v *view.View, s view.Submission) command.Prose {
	w, why, wait := s.Workload, lastRetry(s), s.Workload.Waiting()
	cluster, context := retriedBy(v, s)
	switch {
	case strings.Contains(why, retriedEvicted) && context != "":
		if c, ok := v.CopyOn(s, cluster); ok && c.Workload == nil {
			return checkEviction("MultiKueueCluster "+cluster, context, w)
		}
		return command.Say("while its copy exists, check why MultiKueueCluster %s evicts it: %s; later, read its events: %s",
			cluster, describeWorkload(context, w), eventsOf(context, w))
	case strings.Contains(why, "no longer exists"):
		find := command.Say("find out who deletes %s or Workloads on the workers, and check that each MultiKueueCluster points to a different cluster: %s", quote.Plural(s.Job()),
			command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
		if isDeletedByTTL(v, s) {
			return command.Say("%s; or %s", removeTTL(s), find)
		}
		return find
	case strings.Contains(why, "remote lost"):
		return command.Say("check that the workers stay connected: %s", command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
	case wait.IsUnready(), w.Status.Evictions(kueue.PodsReadyTimeout) > 0:
		return command.Alternatives(s.Manager.FixTargetOf(s.Job(), w, nil).FixUnready())
	}
	return command.Say("check why Kueue evicts it: %s", describeWorkload(s.Manager.Context, w))
}
