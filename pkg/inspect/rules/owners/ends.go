package owners

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func deletionHangs() view.Rule {
	return view.Rule{
		Code: "JM111", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods, inspect.PartWorkloads, inspect.PartKueue},
		Detect: func(v *view.View) {
			pairs := map[*inspect.Job]inspect.Pair{}
			for _, p := range v.Pairs() {
				for _, j := range p.Jobs() {
					pairs[j] = p
				}
			}
			for _, f := range v.Clusters() {
				for _, j := range v.Jobs(f) {
					if j.DeletedAt == nil || len(j.Finalizers) == 0 || !j.IsMirror() && !j.IsDelegated() {
						continue
					}
					reportHanging(v, f, j, pairs[j])
				}
			}
		},
	}
}

func reportHanging(v *view.View, f *inspect.Facts, j *inspect.Job, p inspect.Pair) {
	isForeground := len(j.Finalizers) == 1 && j.Finalizers[0] == metav1.FinalizerDeleteDependents
	pods, known := v.Pods(f, j)
	var left podsLeft
	if isForeground && j.ManagedBy.IsBuiltIn() {
		if left = podsLeftOf(v, j, pods); !known || left.mayEnd {
			return
		}
	}
	s := view.Sighting{
		Object: view.Of(j), Since: j.DeletedAt.Time, Jobs: []*inspect.Job{j},
		Message:  deletionOf(j) + " waits for " + inspect.And(j.Finalizers),
		Evidence: quote.Deletion(j),
	}
	if advice.IsBlocked(j) {
		effect, evidence := endOfPods(j, p)
		s.Remedy, s.Evidence = advice.Unblock(j, effect), append(s.Evidence, evidence...)
	} else {
		s.Message = deletionOf(j) + " waits for the garbage collector, which removes " + quote.Finalizers(j)
		s.Remedy = checkGarbageCollector(v, f, j)
	}
	if isForeground {
		describeOwned(v, f, j, &s)
	}
	if left.count > 0 {
		left.describe(j, &s)
	} else if len(pods) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: it controls %d Pods, such as %s", j.Context, len(pods), pods[0].Name))
	}
	v.Report(s)
}

// endOfPods describes which Pods end when a Job of a pair is gone, and quotes the mirrors that run them. It returns
// nothing if none run, or if another controller than MultiKueue decides about them.
func endOfPods(j *inspect.Job, p inspect.Pair) (effect string, evidence []string) {
	if p.Origin == nil || !view.IsMultiKueues(p) {
		return "", nil
	}
	var texts []string
	for _, m := range p.Mirrors {
		if j != p.Origin && j != m.Job || !m.Current || m.Job.Status.IsFinished() || m.Job.Active == 0 {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s on %s", inspect.Count(int(m.Job.Active), "Pod"), m.Job.Context))
		evidence = append(evidence, quote.State(m.Job))
	}
	switch {
	case len(texts) == 0:
		return "", nil
	case j != p.Origin && p.Origin.IsOpen():
		return "this ends " + inspect.And(texts) + ", and MultiKueue restarts the " + p.Origin.Kind + " from scratch", evidence
	}
	return "this ends " + inspect.And(texts), evidence
}

// podsLeft are the Pods that a deletion in the foreground waits for.
type podsLeft struct {
	// count is how many Pods exist although their grace period is over. name is one of them.
	count int
	name  string
	// since is when the last grace period ended.
	since time.Time
	// mayEnd is whether the deletion of the Pods has just begun, or their grace period is not over.
	mayEnd bool
}

func podsLeftOf(v *view.View, j *inspect.Job, pods []*inspect.Pod) (left podsLeft) {
	for _, p := range pods {
		since := j.DeletedAt.Time
		if !p.DeletedBy.IsZero() {
			since = p.DeletedBy.Time
			left.since = view.Latest(left.since, since)
			left.count, left.name = left.count+1, cmp.Or(left.name, p.Name)
		}
		left.mayEnd = left.mayEnd || v.Age(j.Context, since) < inspect.Settling
	}
	return left
}

// describe describes a deletion that waits for Pods.
func (left *podsLeft) describe(j *inspect.Job, s *view.Sighting) {
	s.Since = view.Latest(s.Since, left.since)
	s.Message = fmt.Sprintf("%s waits for %s, such as %s", deletionOf(j), inspect.Count(left.count, "Pod"), left.name)
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the grace period of Pod %s/%s ended at %s", j.Context, j.Namespace, left.name, quote.Time(left.since)))
	s.Remedy = command.Say("check what keeps the Pods, such as a lost node or a finalizer: %s",
		command.Kubectl(j.Context, j.Namespace, "describe", "pod", left.name))
}

// deletionOf returns the subject of a message about the deletion of a Job. It names the worker of a
// mirror, because the message begins with the name that origin and mirror share.
func deletionOf(j *inspect.Job) string {
	if j.IsMirror() {
		return "its deletion on " + j.Context
	}
	return "its deletion"
}

// checkGarbageCollector returns how to find out why a Job keeps a finalizer of the garbage collector.
// If Kueue hangs, its webhook rejects the change, and the garbage collector is not at fault.
func checkGarbageCollector(v *view.View, f *inspect.Facts, j *inspect.Job) command.Prose {
	collector := command.Say("check that kube-controller-manager runs on %s: it contains the garbage collector: %s", f.Context, advice.ShowControllerLease(f.Context))
	if has, _ := v.HasKueue(f); !has || v.LastSeen(liveness.Actor{Role: liveness.RoleKueue, Context: f.Context}).After(v.ToOurClock(f.Context, j.DeletedAt.Time)) {
		return collector
	}
	return command.Say("check that Kueue answers on %s: changes of Jobs fail while its webhook hangs: %s; otherwise %s", f.Context, kueue.ShowPods(f.Context), collector)
}

// describeOwned describes a foreground deletion that waits for a Workload that
// Kueue must release. Removing the finalizer of the Job would leave the
// Workload behind.
func describeOwned(v *view.View, f *inspect.Facts, j *inspect.Job, s *view.Sighting) {
	workloads, _ := v.MadeFor(f, j)
	for _, w := range workloads {
		if view.IsHeldByKueue(w) {
			s.Message = fmt.Sprintf("its deletion waits for its Workload, which Kueue on %s keeps", f.Context)
			s.Evidence = append(s.Evidence, quote.HeldByKueue(f, w))
			s.Remedy = advice.CheckKueue(v, f.Context, v.AwaitsKueue(f, w, liveness.DutyRemove, "", f.Context, w.DeletionTimestamp.Time))
			return
		}
		s.Message = fmt.Sprintf("%s waits for the objects that it owns, such as Workload %s/%s", deletionOf(j), w.Namespace, w.Name)
		s.Remedy = command.Say("check that kube-controller-manager runs on %s: it deletes the objects that a deleted object owns: %s", f.Context,
			advice.ShowControllerLease(f.Context))
	}
}

// shortest is the shortest TTL that leaves a controller time to copy the
// final status of a Job.
const shortest = time.Minute

func shortTTL() view.Rule {
	return view.Rule{
		Code: "JM112", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					j := m.Job
					isOpen := p.Origin.IsOpen() && j.DeletedAt == nil
					if !isOpen || !m.Is(inspect.ByDispatch) && !m.Is(inspect.ByMultiKueue) || j.TTL == nil || time.Duration(*j.TTL)*time.Second >= shortest {
						continue
					}
					v.Report(view.Sighting{
						Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j, p.Origin},
						Message: ttlRisk(p.Origin, m),
						Evidence: []string{
							quote.TTL(j), quote.Mark(j), quote.State(p.Origin),
						},
						Remedy: command.Say("remove the TTL: %s", advice.RemoveTTL(j)),
					})
				}
			}
		},
	}
}

// ttlRisk describes what a mirror's TTL may do.
func ttlRisk(origin *inspect.Job, m inspect.Mirror) string {
	if m.Is(inspect.ByMultiKueue) {
		return fmt.Sprintf("its TTL deletes the mirror on %s %ds after it finished; if MultiKueue copies the end later, the %s runs again", m.Job.Context, *m.Job.TTL, m.Job.Kind)
	}
	return fmt.Sprintf("it is deleted %ds after it finished, perhaps before %s copied its status", *m.Job.TTL, origin.Context)
}

func clocksApart() view.Rule {
	return view.Rule{
		Code: "JM113", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				f, _ := v.Facts(p.Origin.Context)
				for _, m := range p.Mirrors {
					if worker, ok := v.Facts(m.Job.Context); ok && f != nil && m.Relation != inspect.ByName && view.ClocksApart(f, worker) {
						v.Report(view.DescribeSkew(v, f, worker, p.Origin))
					}
				}
			}
		},
	}
}
