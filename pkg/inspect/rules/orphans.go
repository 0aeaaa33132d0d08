package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// orphans are what MultiKueue leaves behind, and what it runs twice (JM053 to
// JM063).
func orphans() []Rule {
	return []Rule{
		originGone(), cutOff(), takenOut(), cameBack(), withoutWorkload(), rejectedLeaves(), renamedOrigin(),
		sharedOrigin(), podsLeft(), keptByWorkload(), olderIncarnation(),
	}
}

func originGone() Rule {
	return Rule{
		Code: "JM053", Undated: true, Title: "orphan: the origin is gone, and the mirror is not", Severity: inspect.Warning,
		Holds: "no mirror outlives its origin",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `When an origin is deleted, MultiKueue deletes what it has made of it on the worker. If the worker was not
reachable then, or Kueue was not running on the management cluster, that is left to a garbage collection once a minute
(gcInterval), which needs the connection too. Until then the mirror runs on, and holds quota, for nobody.`,
		Shows: `On the worker there is a Job or a Workload with the label kueue.x-k8s.io/multikueue-origin; the management
cluster that dispatches to this worker has neither the Job nor the Workload of that name.`,
		Remedy: `If Kueue runs on the management cluster and reaches the worker, it is gone within a minute. Else delete
the Job on the worker, and then the Workload.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/2320",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for d, s := range e.lost(append(e.strays(), e.strayCopies()...)) {
				if d.collects(s) && !e.lacksWorkload(s) {
					v.Report(gone(v, d, s))
				}
			}
		},
	}
}

// collects says whether a management cluster's garbage collection looks where a stray is,
// for what has its mark.
func (d *dispatcher) collects(s stray) bool {
	return !d.isCutOff(s.worker.Context) && d.marks.isNow(s.origin)
}

// gone tells of what is left of an origin that was deleted.
func gone(v *View, d *dispatcher, s stray) Sighting {
	sighting := Sighting{
		Object: s.object(), Since: s.since(),
		Evidence: []string{s.mark(), fmt.Sprintf("%s: there is no Workload %s/%s", d.Context, s.namespace, s.name)},
		Message:  fmt.Sprintf("it is gone on %s, but its copy on %s still waits or holds quota", d.Context, s.worker.Context),
		Remedy:   command.Say("see that Kueue runs on %s: it deletes this within a minute (gcInterval, unless that is 0s); or %s", d.Context, d.deleting(&s)),
	}
	if last := v.lastSeen(inspect.Actor{Role: inspect.RoleKueue, Context: d.Context}); v.Now().Sub(last) < collected {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: Kueue is at work there: it last did something at %s", d.Context, stamp(last)))
		sighting.Remedy = command.Say("wait: Kueue on %s is at work, and deletes it within a minute (gcInterval) if it reaches %s; if it is still there then, %s",
			d.Context, s.worker.Context, d.deleting(&s))
		if v.Age(s.worker.Context, s.since()) < collected {
			// It cannot have been left out yet.
			sighting.Severity = inspect.Info
		}
	}
	if s.job == nil {
		return sighting
	}
	sighting.Jobs = []*inspect.Job{s.job}
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: there is no %s of MultiKueue's", d.Context, named(Of(s.job))), stateOf(s.job))
	switch {
	case s.job.Status.IsFinished():
		sighting.Message = fmt.Sprintf("orphan on %s, finished: its origin on %s is gone", s.worker.Context, d.Context)
	case s.job.Row().IsJob() || s.job.Status == delegation.Running:
		sighting.Message = fmt.Sprintf("orphan on %s, running: its origin on %s is gone", s.worker.Context, d.Context)
	default:
		sighting.Message = fmt.Sprintf("orphan on %s: its origin on %s is gone", s.worker.Context, d.Context)
	}
	return sighting
}

// collected is within how long Kueue's garbage collection comes by, unless gcInterval
// says otherwise.
const collected = time.Minute

// lastSeen is when an actor was last seen to act, by our own clock; the zero time if
// it never was.
func (v *View) lastSeen(a inspect.Actor) time.Time {
	if r := v.inventory.RecordOf(a); r != nil && len(r.Deeds) > 0 {
		return r.Deeds[len(r.Deeds)-1].Done
	}
	return time.Time{}
}

// lacksWorkload is whether a mirror has no Workload, without which Kueue's garbage
// collection does not find it.
func (e *multiKueue) lacksWorkload(s stray) bool {
	w, known := e.Workload(s.worker, s.namespace, s.name)
	return s.job != nil && w == nil && known
}

// object is the stray itself.
func (s *stray) object() Object {
	if s.job != nil {
		return Of(s.job)
	}
	return OfKueue(s.worker, "Workload", s.namespace, s.name)
}

// mark quotes what says that MultiKueue made it.
func (s *stray) mark() string {
	created := s.since()
	if s.job != nil {
		created = s.job.CreationTimestamp.Time
	}
	return fmt.Sprintf("%s: label %s of %s is %s since %s", s.worker.Context, delegation.MultiKueueOriginLabel, named(s.object()), s.origin, day(created))
}

// delete are the commands that delete it.
func (s *stray) delete() command.Prose {
	switch {
	case s.job == nil:
		return deleteWorkload(s.worker, s.namespace, s.name).Prose()
	case s.copied == nil:
		return deleteJob(s.job).Prose()
	}
	return deleteBoth(s.job, s.name)
}

// deleting is how a stray is deleted that a management cluster made, as far as is known:
// who else has to be asked first, where it is not certain.
func (d *dispatcher) deleting(s *stray) command.Prose {
	if _, certain := d.marks.may(s.origin); certain {
		return s.delete()
	}
	return command.Say("%s, %s", ifNobodyElse(s.worker.Context, s.origin), s.delete())
}

// ifNobodyElse is what has to hold where it is not known whether a management cluster
// made what is on a worker.
func ifNobodyElse(worker, origin string) command.Prose {
	return command.Say("if no other management cluster dispatches to %s as %s (multiKueue.origin of its Kueue's configuration)", worker, origin)
}

// deleteWorkload is the command that deletes a Workload.
func deleteWorkload(f *inspect.Facts, namespace, name string) command.Command {
	return kubectlOn(OfKueue(f, "Workload", namespace, name), "delete")
}

// deleteBoth are the commands that delete a mirror and then the Workload that it
// runs under. The mirror owns that, so that it may be gone by then.
func deleteBoth(mirror *inspect.Job, workload string) command.Prose {
	return command.Say("%s, and then %s",
		deleteJob(mirror), command.Kubectl(mirror.Context, mirror.Namespace, "delete", "--ignore-not-found", "workloads.kueue.x-k8s.io", workload))
}

func withoutWorkload() Rule {
	return Rule{
		Code: "JM057", Undated: true, Title: "a mirror without a Workload, which Kueue never deletes", Severity: inspect.Warning,
		Holds: "every mirror of MultiKueue has a Workload",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue's garbage collection looks for Workloads on the workers that carry the name of the management cluster,
and deletes each with the Job it belongs to. A mirror whose Workload was deleted first is never found. Kueue before
0.16.2 left such Jobs behind now and then.`,
		Shows: `A Job on the worker has the label kueue.x-k8s.io/multikueue-origin, and the Workload that its annotation
kueue.x-k8s.io/prebuilt-workload-name names exists neither there nor on the management cluster.`,
		Remedy: `Delete the Job on the worker; nobody else will.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/releases/tag/v0.16.2",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for d, s := range e.lost(e.strays()) {
				if !d.collects(s) || !e.lacksWorkload(s) {
					continue
				}
				v.Report(Sighting{
					Object: s.object(), Since: s.since(), Jobs: []*inspect.Job{s.job},
					Message: "its origin and its Workload are gone: Kueue's garbage collection never finds it",
					Evidence: []string{
						s.mark(), stateOf(s.job),
						fmt.Sprintf("%s: there is no Workload %s/%s, which annotation %s of the %s names", s.worker.Context, s.namespace, s.name, delegation.PrebuiltWorkload, s.job.Kind),
						fmt.Sprintf("%s: there is no %s of MultiKueue's, and no Workload %s/%s", d.Context, named(Of(s.job)), s.namespace, s.name),
					},
					Remedy: d.deleting(&s),
				})
			}
		},
	}
}
