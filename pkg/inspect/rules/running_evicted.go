package rules

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const (
	// retriedEvicted is what MultiKueue says of a Job that a worker has put out
	// (kueue: pkg/controller/admissionchecks/multikueue/workload.go).
	retriedEvicted = "evicted on worker cluster"
	// evictedForCheck is the reason of the eviction by which it takes a Job back.
	evictedForCheck = "AdmissionCheck"
	// often is how many evictions are no longer a worker's everyday life.
	often = 3
)

func evictedOnWorker() Rule {
	return Rule{
		Code: "JM045", Title: "the worker evicted it", Severity: inspect.Info,
		Holds: "no worker has evicted a Job",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Why: `Kueue on the worker took the quota back: for a Job of higher priority, because the pods did not become
ready in time, or because its queue was stopped. MultiKueue then takes the Job back and offers it to all workers again,
where it starts from scratch. Once that is nothing to worry about; time and again it means that it gets nowhere.`,
		Shows: `The check is Retry and its message says that the Workload was evicted on a worker cluster; or it was
taken back for that at least three times, and has no worker now.`,
		Remedy: `Look at why the worker evicts it: the Evicted condition of the Workload's copy there while it lasts,
the events of its queue, and whether its pods can become ready (JM049). Raise its priority or the worker's quota.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/8302",
		Detect: func(v *View) {
			for s := range underWay(v) {
				if s.IsFinished() || !strings.Contains(lastRetry(s), retriedEvicted) {
					continue
				}
				evictions := s.Workload.Status.Evictions(evictedForCheck)
				isNow := hasState(s, kueue.CheckRetry)
				if !isNow && (evictions < often || hasState(s, kueue.CheckReady)) || s.Check == nil {
					continue
				}
				v.Report(putOut(v, s, evictions))
			}
		},
	}
}

func putOut(v *View, s Submission, evictions int32) Sighting {
	j := s.Job()
	cluster, context := retriedBy(v, s)
	where := strings.TrimSpace("MultiKueueCluster " + cluster)
	sighting := Sighting{
		Object: Of(j), Since: retriedAt(s), Jobs: []*inspect.Job{j},
		Message:  where + " evicted it; MultiKueue takes it back and offers it again",
		Evidence: append([]string{checkOf(s)}, evictionOf(s)...),
		Remedy:   command.Say("see on %s why it was evicted, unless it was for once", where),
	}
	if context != "" {
		sighting.Remedy = command.Say("see on %s why it was evicted, unless it was for once: %s",
			where, command.Kubectl(context, s.Workload.Namespace, "get", "events", "--field-selector", "involvedObject.name="+s.Workload.Name))
	}
	if evictions >= often {
		sighting.Severity = inspect.Warning
		sighting.Message = fmt.Sprintf("workers evict it again and again, %s the last time: %d times so far", where, evictions)
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.schedulingStats.evictions of Workload %s/%s counts %d for %s",
			j.Context, s.Workload.Namespace, s.Workload.Name, evictions, evictedForCheck))
	}
	v.tellPreempted(s, &sighting)
	return sighting
}

func evictionHangs() Rule {
	return Rule{
		Code: "JM046", Title: "an eviction does not finish and holds quota", Severity: inspect.Error,
		Holds: "every eviction has come to its end",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `When Kueue on the management cluster evicts a Job, it gives the quota back once no pod of the Job is left.
It knows that from the origin's status, which is a copy of the mirror's. If the mirror is gone before its last status
was copied, the origin counts active pods forever, so that the quota is held, and the Job is never offered again (kueue
issue 15380). Other kinds have other fields for that.`,
		Shows: `The origin's Workload has Evicted=True and QuotaReserved=True together with an admission, and no worker
has a mirror that still has pods. Mostly the origin's status.active is more than 0.`,
		Remedy: `Set the origin's status to no active pods by hand, or delete the Job and create it again.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/15380",
		Covers: []string{"JM045", "JM048"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				if !isEvicted(s) || !s.Workload.Is(kueue.QuotaReserved) || s.Workload.Status.Admission == nil || s.IsFinished() {
					continue
				}
				if s.Job().Row().IsUnmanaged() {
					// What its own cluster runs of it, Kueue sees without a copy.
					continue
				}
				if !hasPodsLeft(v, s) {
					sighting := hanging(s, s.Workload.Condition(kueue.Evicted))
					sighting.Awaits = v.awaitsKueue(s.Manager, s.Workload, inspect.DutyRelease, "", s.Manager.Context, sighting.Since)
					v.Report(sighting)
				}
			}
		},
	}
}

// hasPodsLeft is whether a mirror of a Job has pods, or may have some where nobody
// could look.
func hasPodsLeft(v *View, s Submission) bool {
	for _, m := range s.Pair.Mirrors {
		if m.Job.Active > 0 || !m.Job.Row().IsJob() && m.Job.Status != delegation.Suspended && !m.Job.Status.IsFinished() {
			return true
		}
	}
	return !allWorkersRead(v, s)
}

// allWorkersRead is whether all workers of a manager could be read.
func allWorkersRead(v *View, s Submission) bool {
	clusters, ok := v.MultiKueueClusters(s.Manager)
	for _, c := range clusters {
		worker, _ := v.Worker(s.Manager, c.Name)
		ok = ok && worker != nil
	}
	return ok
}

func hanging(s Submission, evicted *metav1.Condition) Sighting {
	j := s.Job()
	sighting := Sighting{
		Object: Of(j), Since: evicted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: "it was evicted, but still holds quota",
		Evidence: []string{
			conditionOf(s.Manager, s.Workload, evicted), conditionNamed(s.Manager, s.Workload, kueue.QuotaReserved),
		},
		Remedy: startAgain(j),
	}
	if j.Row().IsJob() {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.active of %s is %d", j.Context, named(Of(j)), j.Active))
	} else {
		sighting.Evidence = append(sighting.Evidence, stateOf(j))
	}
	if j.Active > 0 {
		sighting.Message = fmt.Sprintf("it was evicted, but still holds quota: its origin counts %s as active that are gone", inspect.Count(int(j.Active), "pod"))
		sighting.Remedy = command.Say("set its status to no active Pods: %s; or %s", noneActive(j), startAgain(j))
	}
	return sighting
}

// noneActive sets the status of an origin to no active Pods.
func noneActive(j *inspect.Job) command.Command {
	return kubectlFor(j, "patch").With("--subresource=status", "--type=merge", "-p", command.Patch(map[string]any{"active": 0, "ready": 0}, "status"))
}
