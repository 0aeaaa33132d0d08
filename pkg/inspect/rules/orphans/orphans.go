// Package orphans has the rules about mirrors that MultiKueue leaves behind,
// and Jobs that it runs twice.
package orphans

import (
	"fmt"
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

// Rules returns JM053 to JM063, and JM141.
func Rules() []view.Rule {
	return []view.Rule{
		originGone(), mirrorOnUnknownCluster(), mirrorOnUnconfiguredCluster(), mirrorOnReturnedWorker(), withoutWorkload(), rejectedLeftovers(), renamedOrigin(),
		sharedOrigin(), podsLeft(), keptByWorkload(), olderIncarnation(), completedElsewhere(),
	}
}

func originGone() view.Rule {
	return view.Rule{
		Code: "JM053", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for d, s := range e.withoutOrigin(append(e.strays(), e.strayCopies()...)) {
				if !d.covers(s) || e.lacksWorkload(s) {
					continue
				}
				if s.dying != nil {
					v.Report(describeDying(v, d, s))
				} else {
					v.Report(describeStray(v, d, s))
				}
			}
		},
	}
}

// covers reports whether the garbage collection of a management cluster
// covers a stray: it still reaches the worker and uses the mark of the stray.
func (d *dispatcher) covers(s stray) bool {
	return !d.isCutOff(s.worker.Context) && d.names.IsCurrent(s.origin)
}

// describeStray returns the sighting of a stray whose origin was deleted.
func describeStray(v *view.View, d *dispatcher, s stray) view.Sighting {
	sighting := view.Sighting{
		Object: s.object(), Since: s.since(),
		Evidence: []string{s.mark(), s.original(d)},
		Message:  fmt.Sprintf("its Workload on %s is gone, but the copy on %s still waits or holds quota", d.Context, s.worker.Context),
		Remedy:   command.Say("wait one minute, then %s", d.deletion(&s, " if it still exists")),
	}
	if cluster, active := d.lostConnection(v, s.worker.Context); active != nil {
		s.describeLost(d, cluster, active, &sighting)
		return sighting
	}
	if last := v.LastSeen(liveness.Actor{Role: liveness.RoleKueue, Context: d.Context}); v.Now().Sub(last) < gcInterval {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: Kueue works: its last action was at %s", d.Context, quote.Time(last)))
		if v.Age(s.worker.Context, s.since()) < gcInterval {
			// The garbage collection cannot have skipped it yet.
			sighting.Severity = inspect.Info
		}
	} else {
		sighting.Remedy = command.Say("check that Kueue runs on %s (it deletes orphans every minute): %s; or %s", d.Context, kueue.ShowPods(d.Context), sighting.Remedy)
	}
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: Kueue deletes orphans every minute, unless gcInterval is 0s", d.Context))
	s.describeJob(d, &sighting)
	return sighting
}

// describeJob adds the mirror to the sighting of a stray, if there is one.
func (s *stray) describeJob(d *dispatcher, sighting *view.Sighting) {
	if s.job == nil {
		return
	}
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: there is no %s of MultiKueue", d.Context, view.Of(s.job).String()), quote.State(s.job))
	sighting.Jobs, sighting.Message = []*inspect.Job{s.job}, fmt.Sprintf("%s: its origin on %s is gone", s.title(), d.Context)
}

// lostConnection returns a MultiKueueCluster that reaches a context, and its condition Active, if the management
// cluster has lost the connection. The condition is nil if any MultiKueueCluster still reaches the context, or if
// none is known to.
func (d *dispatcher) lostConnection(v *view.View, context string) (cluster string, lost *metav1.Condition) {
	for _, name := range d.at(context) {
		active := v.Connection(d.Facts, name)
		if !view.IsFalse(active) {
			return "", nil
		}
		cluster, lost = name, active
	}
	return cluster, lost
}

// describeLost makes the sighting of a stray one that Kueue cannot delete: its garbage collection needs the
// connection to the worker (kueue: pkg/controller/admissionchecks/multikueue/multikueuecluster.go, runGC).
func (s *stray) describeLost(d *dispatcher, cluster string, active *metav1.Condition, sighting *view.Sighting) {
	s.describeJob(d, sighting)
	why := fmt.Sprintf("and Kueue on %s cannot delete it: MultiKueueCluster %s is not connected (%s)", d.Context, cluster, kueue.Fault(active))
	sighting.Message += ", " + why
	if s.job != nil {
		sighting.Message, sighting.Clause = s.title()+": its origin is gone, "+why, "its origin is gone, "+why
	}
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: condition Active of MultiKueueCluster %s is False since %s, %s: %s",
		d.Context, cluster, quote.Time(active.LastTransitionTime), active.Reason, active.Message))
	sighting.Remedy = command.Say("restore the connection from %s to %s (%s), and Kueue deletes it: %s; or %s",
		d.Context, cluster, view.ClusterFault(active), kueue.Kubectl(d.Context, "describe", "MultiKueueCluster", "", cluster), d.deletion(s, ""))
}

// title names an orphan with its state.
func (s *stray) title() string {
	title := "orphan on " + s.worker.Context
	if state := s.state(); state != "" {
		title += ", " + state
	}
	return title
}

// stateRunning is the state of a mirror whose Pods run.
const stateRunning = "running"

// state returns the state of a mirror in one word, "" if unknown.
func (s *stray) state() string {
	switch {
	case s.job.Status.IsFinished():
		return "finished"
	case s.job.Status == delegation.Suspended:
		return "suspended"
	case s.job.Row().IsJob() || s.job.Status == delegation.Running:
		return stateRunning
	default:
		return ""
	}
}

// gcInterval is the interval of Kueue's garbage collection by default
// (gcInterval).
const gcInterval = time.Minute

// lacksWorkload reports whether a mirror has no Workload. Kueue's garbage
// collection does not find such a mirror.
func (e *multiKueue) lacksWorkload(s stray) bool {
	w, known := e.Workload(s.worker, s.namespace, s.name)
	return s.job != nil && w == nil && known
}

// object returns the mirror or, if there is none, the copy of the Workload.
func (s *stray) object() view.Object {
	if s.job != nil {
		return view.Of(s.job)
	}
	return view.OfKueue(s.worker, "Workload", s.namespace, s.name)
}

// mark quotes the label that shows that MultiKueue created the stray.
func (s *stray) mark() string {
	created := s.since()
	if s.job != nil {
		created = s.job.CreationTimestamp.Time
	}
	return fmt.Sprintf("%s: label %s of %s is %s since %s", s.worker.Context, delegation.MultiKueueOriginLabel, s.object().String(), s.origin, quote.MaybeTime(created))
}

// original quotes the stray's Workload on the manager, or that there is none.
func (s *stray) original(d *dispatcher) string {
	if s.dying != nil {
		return quote.HeldByKueue(d.Facts, s.dying)
	}
	return fmt.Sprintf("%s: there is no Workload %s/%s", d.Context, s.namespace, s.name)
}

// delete returns the commands that delete the stray.
func (s *stray) delete() command.Prose {
	switch {
	case s.job == nil:
		return deleteWorkload(s.worker, s.namespace, s.name).Prose()
	case s.copied == nil:
		return advice.DeleteJob(s.job).Prose()
	}
	return deleteBoth(s.job, s.name)
}

// deletion returns how to delete a stray, and when: " if it still exists" for strays that Kueue
// deletes. If it is not certain that the
// management cluster created it, the user must check that first.
func (d *dispatcher) deletion(s *stray, when string) command.Prose {
	if _, certain := d.names.MayLabel(s.origin); certain {
		return command.Say("delete it%s: %s", when, s.delete())
	}
	return command.Say("delete it%s, %s: %s", when, unlessUsed(s.worker.Context, s.origin), s.delete())
}

// unlessUsed returns when an object on a worker must not be deleted: another management cluster
// may have created it. The text of JM053 says how to find out.
func unlessUsed(worker, origin string) command.Prose {
	return command.Say(`unless another manager that uses %s also has multiKueue.origin %s ("explain JM053")`, worker, origin)
}

// deleteWorkload returns the command that deletes a Workload.
func deleteWorkload(f *inspect.Facts, namespace, name string) command.Command {
	return advice.KubectlObject(view.OfKueue(f, "Workload", namespace, name), "delete")
}

// deleteBoth returns the commands that delete a mirror and then the Workload
// that it runs under. The mirror owns the Workload, so the Workload may no
// longer exist by then.
func deleteBoth(mirror *inspect.Job, workload string) command.Prose {
	return command.Say("%s, and then %s",
		advice.DeleteJob(mirror), command.Kubectl(mirror.Context, mirror.Namespace, "delete", "--ignore-not-found", "workloads.kueue.x-k8s.io", workload))
}

func withoutWorkload() view.Rule {
	return view.Rule{
		Code: "JM057", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for d, s := range e.withoutOrigin(e.strays()) {
				if !d.covers(s) || !e.lacksWorkload(s) {
					continue
				}
				v.Report(view.Sighting{
					Object: s.object(), Since: s.since(), Jobs: []*inspect.Job{s.job},
					Message: "its origin and its Workload are gone: Kueue's garbage collection never finds it",
					Evidence: []string{
						s.mark(), quote.State(s.job),
						fmt.Sprintf("%s: there is no Workload %s/%s, which annotation %s of the %s names", s.worker.Context, s.namespace, s.name, delegation.PrebuiltWorkload, s.job.Kind),
						fmt.Sprintf("%s: there is no %s of MultiKueue", d.Context, view.Of(s.job).String()), s.original(d),
					},
					Remedy: d.deletion(&s, ""),
				})
			}
		},
	}
}
