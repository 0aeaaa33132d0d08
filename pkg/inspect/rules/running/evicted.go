package running

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const (
	// retriedEvicted is part of MultiKueue's message about a Job that a worker has evicted (kueue:
	// pkg/controller/admissionchecks/multikueue/workload.go).
	retriedEvicted = "evicted on worker cluster"
	// evictedForCheck is the reason of the eviction by which MultiKueue takes a
	// Job back.
	evictedForCheck = "AdmissionCheck"
	// manyRestarts is the number of evictions from which on they are no longer normal.
	manyRestarts = 3
)

func evictedOnWorker() view.Rule {
	return view.Rule{
		Code: "JM045", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if s.IsFinished() || !strings.Contains(lastRetry(s), retriedEvicted) {
					continue
				}
				evictions := s.Workload.Status.Evictions(evictedForCheck)
				isNow := s.HasState(kueue.CheckRetry)
				if !isNow && (evictions < manyRestarts || s.HasState(kueue.CheckReady)) || s.Check == nil {
					continue
				}
				v.Report(describeEviction(v, s, evictions))
			}
		},
	}
}

func describeEviction(v *view.View, s view.Submission, evictions int32) view.Sighting {
	j := s.Job()
	cluster, context := retriedBy(v, s)
	where := strings.TrimSpace("MultiKueueCluster " + cluster)
	sighting := view.Sighting{
		Object: view.Of(j), Since: retriedAt(s), Jobs: []*inspect.Job{j},
		Message:  where + " evicted it; MultiKueue offers it again",
		Evidence: append([]string{quote.MultiKueueCheck(s)}, evictionOf(s)...),
	}
	check := checkEviction(where, context, s.Workload)
	sighting.Remedy = command.Say("if this repeats, %s", check)
	if evictions >= manyRestarts {
		sighting.Remedy = check
		sighting.Severity = inspect.Warning
		sighting.Message = fmt.Sprintf("workers evict it again and again, %s the last time: %d times so far", where, evictions)
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.schedulingStats.evictions of Workload %s/%s counts %d for %s",
			j.Context, s.Workload.Namespace, s.Workload.Name, evictions, evictedForCheck))
	}
	quote.AddPreemption(v, s, &sighting)
	return sighting
}

func evictionHangs() view.Rule {
	return view.Rule{
		Code: "JM046", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM045", "JM048"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if !s.IsEvicted() || !s.Workload.Is(kueue.QuotaReserved) || s.Workload.Status.Admission == nil || s.IsFinished() {
					continue
				}
				if s.Job().Row().IsUnmanaged() {
					// Kueue sees without a copy what the Job runs on its own
					// cluster.
					continue
				}
				reportHangingEviction(v, s)
			}
		},
	}
}

// reportHangingEviction reports a submission whose eviction holds quota. If the worker that ran it was not read, its Pods
// may still run there, and the finding is only a warning.
func reportHangingEviction(v *view.View, s view.Submission) {
	if hasPods(s.Pair) {
		return
	}
	sighting := describeHangingEviction(s, s.Workload.Condition(kueue.Evicted))
	switch worker, _ := v.Worker(s.Manager, s.Chosen()); {
	case s.Chosen() != "" && worker == nil:
		addUnreadPods(v, s, &sighting)
	case !allWorkersRead(v, s):
		return
	default:
		addPodsGone(s.Job(), &sighting)
		sighting.Awaits = v.AwaitsKueue(s.Manager, s.Workload, liveness.DutyRelease, "", s.Manager.Context, sighting.Since)
		sighting.IsStuck = isNotCopied(v, s, sighting.Since)
	}
	v.Report(sighting)
}

// isNotCopied reports whether the origin counts Pods although its mirrors, if any, have had none for longer than a
// copy of the status takes. Kueue releases no quota before that count is 0.
func isNotCopied(v *view.View, s view.Submission, evicted time.Time) bool {
	for _, m := range s.Pair.Mirrors {
		if at := m.Job.StatusWrittenAt; at != nil && !hadTimeToReact(v, m.Job.Context, at.Time) {
			return false
		}
	}
	return s.Job().Active > 0 && hadTimeToReact(v, s.Manager.Context, evicted)
}

// hasPodsLeft reports whether a mirror of a Job has Pods, or may have some on
// a worker that could not be read.
func hasPodsLeft(v *view.View, s view.Submission) bool {
	return hasPods(s.Pair) || !allWorkersRead(v, s)
}

// hasPods reports whether a mirror of a pair has Pods, by its status.
func hasPods(p inspect.Pair) bool {
	return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool {
		j := m.Job
		return j.Active > 0 || !j.Row().IsJob() && j.Status != delegation.Suspended && !j.Status.IsFinished()
	})
}

// allWorkersRead reports whether all workers that may have something of a submission could be read.
func allWorkersRead(v *view.View, s view.Submission) bool {
	_, ok := v.MultiKueueClusters(s.Manager)
	for _, name := range v.PossibleClusters(s) {
		worker, _ := v.Worker(s.Manager, name)
		ok = ok && worker != nil
	}
	return ok
}

func describeHangingEviction(s view.Submission, evicted *metav1.Condition) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{
		Object: view.Of(j), Since: evicted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("the %s was evicted, but its Workload still holds quota", j.Kind),
		Evidence: []string{
			quote.WorkloadCondition(s.Manager, s.Workload, evicted), conditionNamed(s.Manager, s.Workload, kueue.QuotaReserved),
		},
	}
	if j.Row().IsJob() {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.active of %s is %d", j.Context, view.Of(j).String(), j.Active))
	} else {
		sighting.Evidence = append(sighting.Evidence, quote.State(j))
	}
	return sighting
}

// addPodsGone adds to the sighting of a hanging eviction that no worker has a mirror with Pods.
func addPodsGone(j *inspect.Job, sighting *view.Sighting) {
	sighting.Remedy = advice.CreateAgain(j)
	if j.Active == 0 {
		return
	}
	are := "are"
	if j.Active == 1 {
		are = "is"
	}
	sighting.Message += fmt.Sprintf(": status.active counts %s that %s gone", inspect.Count(int(j.Active), "Pod"), are)
	sighting.Remedy = clearActive(j, "")
}

// addUnreadPods adds to the sighting of a hanging eviction that the worker which ran the Job was not read.
func addUnreadPods(v *view.View, s view.Submission, sighting *view.Sighting) {
	j, cluster := s.Job(), s.Chosen()
	unread := v.UnreadWorker(s.Manager, cluster)
	sighting.Severity = inspect.Warning
	sighting.Message = fmt.Sprintf("the %s was evicted (%s), but its Workload still holds quota; whether Pods still run on %s is unknown: %s",
		j.Kind, s.Workload.WhyEvicted(), cluster, unread.Reason)
	if s.Check != nil {
		sighting.Evidence = append(sighting.Evidence, quote.MultiKueueCheck(s))
	}
	sighting.Remedy = command.Say("check on %s whether the mirror %s/%s still has Pods", cluster, j.Namespace, j.Name)
	if len(unread.Contexts) > 0 {
		look := command.Kubectl(unread.Contexts[0], j.Namespace, "get", command.KindName(j.Row())+",pods")
		sighting.Remedy = command.Say("%s: %s", sighting.Remedy, look)
	}
	if j.Active > 0 {
		sighting.Remedy = command.Say("%s; or if it has none, set status.active of the origin to 0: %s", sighting.Remedy, setNoneActive(j))
	}
}

// clearActive returns how to release an origin whose status counts Pods that are gone. purpose ends the sentence. The
// roles edit and admin of Kubernetes do not allow to write a status, so the alternative is for users of a namespace.
func clearActive(j *inspect.Job, purpose string) command.Prose {
	return command.Say("set status.active of the origin to 0%s: %s; or %s", purpose, setNoneActive(j), advice.CreateAgain(j))
}

// setNoneActive returns the command that sets the status of an origin to no
// active Pods.
func setNoneActive(j *inspect.Job) command.Command {
	return advice.KubectlJob(j, "patch").With("--subresource=status", "--type=merge", "-p", command.Patch(map[string]any{"active": 0, "ready": 0}, "status"))
}
