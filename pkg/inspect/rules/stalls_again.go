package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func startedAgainAndAgain() Rule {
	return Rule{
		Code: "JM127", Title: "restarts again and again", Severity: inspect.Warning,
		Holds: "no Job is started again and again",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Why: `Each time that MultiKueue takes a Job back from a worker, or that its pods are not ready in time, it is
queued anew and starts from scratch. Once that is everyday life. Time and again it means that it gets nowhere, even
though each single state that it is in looks young and healthy.`,
		Shows: `retryCount of its admission check, requeueState.count or schedulingStats.evictions of its Workload
count three or more, and it does not run now for longer than it took to be put out so often.`,
		Remedy: `Look at what the last eviction says, and at the worker's own Workload and events.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/workload/",
		// Each round passes through what they tell of.
		Covers: []string{"JM129", "JM130", "JM131"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				if n := restartsOf(s.Workload); !s.IsFinished() && s.Workload.IsActive() && n >= often && goesOn(v, s, n) {
					v.Report(startedAgain(v, s, n))
				}
			}
		},
	}
}

// restartsOf is how often a Workload was started in vain, by whoever counts most. To be
// preempted is none of that: its turn comes.
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
	return max(n, w.Status.Evictions(evictedForCheck), w.Status.Evictions("PodsReadyTimeout"))
}

// goesOn says whether the next time may be near: it has not been as it is for much
// longer than such a round takes, on average.
func goesOn(v *View, s Submission, n int32) bool {
	if s.Check == nil {
		return false
	}
	age, calm := v.Age(s.Manager.Context, s.Workload.CreationTimestamp.Time), v.Age(s.Manager.Context, s.Check.LastTransitionTime.Time)
	return calm <= 3*(age-calm)/time.Duration(n)+time.Minute
}

func startedAgain(v *View, s Submission, n int32) Sighting {
	j, w := s.Job(), s.Workload
	age := v.Age(s.Manager.Context, w.CreationTimestamp.Time).Round(time.Second)
	// A count is no state that has to last: it tells of what has happened already.
	sighting := Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("it was started %d times in %s, and evicted each time", n, age),
		Evidence: append([]string{
			checkOf(s),
			fmt.Sprintf("%s: %s was created %s", s.Manager.Context, named(workloadObject(s.Manager, w)), stamp(w.CreationTimestamp)),
		}, evictionOf(s)...),
		Remedy: seeWhatPutsOut(v, s),
	}
	if why := lastRetry(s); why != "" {
		sighting.Message += fmt.Sprintf("; the last time: %s", why)
	}
	v.tellPreempted(s, &sighting)
	return sighting
}

// describeWorkload is the command that shows what Kueue on a context says of a Workload of
// that namespace and name.
func describeWorkload(context string, w *kueue.Workload) command.Command {
	return kueue.Kubectl(context, "describe", "Workload", w.Namespace, w.Name)
}

// seeWhatPutsOut is how to find out why a Job is started again and again, by what is said
// of the last time.
func seeWhatPutsOut(v *View, s Submission) command.Prose {
	w, why := s.Workload, lastRetry(s)
	cluster, context := retriedBy(v, s)
	switch {
	case strings.Contains(why, retriedEvicted) && context != "":
		return command.Say("see why MultiKueueCluster %s puts it out, while its copy is there: %s; and after that: %s", cluster, describeWorkload(context, w),
			command.Kubectl(context, w.Namespace, "get", "events", "--field-selector", "involvedObject.name="+w.Name))
	case strings.Contains(why, "no longer exists"):
		return command.Say("see that nobody deletes %s or Workloads on the workers, and that no two of these lead to one cluster: %s", plural(s.Job()),
			command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
	case strings.Contains(why, "remote lost"):
		return command.Say("see that the connections to the workers last: %s", command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io"))
	case w.Status.Evictions("PodsReadyTimeout") > 0:
		return command.Say("see on the worker why its pods are not ready in time, or give them longer (waitForPodsReady.timeout of Kueue's configuration): %s", ours("trace", s.Job()))
	}
	return command.Say("see what puts it out: %s", describeWorkload(s.Manager.Context, w))
}
