package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// lives is what holds for every owner, as far as it is about how a Job ends (JM110
// to JM113), and what waits for its turn while nothing is wrong (JM114 to JM116).
func lives() []Rule {
	return []Rule{endUnheard(), deletionHangs(), shortTTL(), clocksApart(), actorBehind(), waitsBehind(), heldOtherwise()}
}

func deletionHangs() Rule {
	return Rule{
		Code: "JM111", Title: "a finalizer blocks its deletion", Severity: inspect.Warning,
		Holds: "every deletion completes",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods, inspect.PartWorkloads},
		Why: `A Job that is deleted stays until each of its finalizers is taken off, by who has put it on. That
controller does not run any more, or waits for something itself. Also, pods that a delegated Job controls are never
let go by the built-in controller as long as the Job is there, so that deleting it in the foreground never ends.`,
		Shows: `metadata.deletionTimestamp is set, and metadata.finalizers is not empty.`,
		Remedy: `See that the controller whose finalizer it is runs. If it is gone for good, take the finalizer off; what
it would have cleaned up is then yours to clean up.`,
		Link: "https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				for _, j := range v.Jobs(f) {
					if j.DeletedAt == nil || len(j.Finalizers) == 0 || !j.IsMirror() && !j.IsDelegated() {
						continue
					}
					reportHanging(v, f, j)
				}
			}
		},
	}
}

// foreground is the finalizer of a deletion that waits for what the object owns.
const foreground = "foregroundDeletion"

func reportHanging(v *View, f *inspect.Facts, j *inspect.Job) {
	isForeground := len(j.Finalizers) == 1 && j.Finalizers[0] == foreground
	pods, known := v.Pods(f, j)
	if isForeground && j.ManagedBy.IsBuiltIn() && (len(pods) > 0 || !known) {
		// Its pods have as long to end as they are given.
		return
	}
	s := Sighting{
		Object: Of(j), Since: j.DeletedAt.Time, Jobs: []*inspect.Job{j},
		Message: "its deletion waits for " + strings.Join(j.Finalizers, " and "),
		Evidence: []string{
			fmt.Sprintf("%s: metadata.deletionTimestamp of %s is %s", j.Context, named(Of(j)), stamp(*j.DeletedAt)),
			fmt.Sprintf("%s: metadata.finalizers of it is [%s]", j.Context, strings.Join(j.Finalizers, ", ")),
		},
		Remedy: command.Say("see that the controller that takes %s off runs; if it is gone for good: %s",
			strings.Join(j.Finalizers, ", "), set(j, []string{"metadata", "finalizers"}, nil)),
	}
	if isForeground {
		v.tellOwned(f, j, &s)
	}
	if len(pods) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: it controls %d pods, such as %s", j.Context, len(pods), pods[0].Name))
	}
	v.Report(s)
}

// tellOwned tells of a deletion in the foreground that waits for a Workload which Kueue has
// to let go. To take the finalizer off would leave that where it is.
func (v *View) tellOwned(f *inspect.Facts, j *inspect.Job, s *Sighting) {
	workloads, _ := v.MadeFor(f, j)
	for _, w := range workloads {
		for _, next := range lettingGo(f, w) {
			s.Message = fmt.Sprintf("its deletion waits for its Workload, which Kueue on %s keeps", f.Context)
			s.Evidence = append(s.Evidence, next.evidence...)
			s.Remedy = seeKueue(f.Context, v.awaitsKueue(f, w, inspect.DutyRemove, "", f.Context, next.since))
			return
		}
		s.Message = fmt.Sprintf("its deletion waits for what it owns, such as Workload %s/%s", w.Namespace, w.Name)
		s.Remedy = command.Say("see that kube-controller-manager runs on %s, whose garbage collector deletes what a deleted object owns: %s", f.Context,
			leaseOfControllers(f.Context))
	}
}

// shortest is the least TTL that leaves a controller time to see how a Job ended.
const shortest = time.Minute

func shortTTL() Rule {
	return Rule{
		Code: "JM112", Title: "the mirror may be deleted before its end is copied", Severity: inspect.Warning,
		Holds: "no mirror is deleted before its end is known",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `The mirror has a short ttlSecondsAfterFinished. Its cluster deletes it so many seconds after it has
finished, whether its last status was copied to the origin by then or not. The origin of a dispatched Job then shows
forever that it runs. MultiKueue copies the origin's TTL to the mirror. If the mirror is gone before MultiKueue has copied
its end, the Job runs again.`,
		Shows: `The mirror's spec.ttlSecondsAfterFinished is less than a minute, and the origin is not finished.`,
		Remedy: `Remove the TTL from the mirror. That of the origin is enough: it counts from the end of the Job, and its
deletion is the time to delete the mirror. For MultiKueue, create further Jobs with a TTL of a minute or more.`,
		Link: "https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/",
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					j := m.Job
					isOpen := p.Origin.IsOpen() && j.DeletedAt == nil
					if !isOpen || !m.Is(inspect.ByDispatch) && !m.Is(inspect.ByMultiKueue) || j.TTL == nil || time.Duration(*j.TTL)*time.Second >= shortest {
						continue
					}
					v.Report(Sighting{
						Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j, p.Origin},
						Message: ttlRisk(p.Origin, m),
						Evidence: []string{
							ttlOf(j), markOf(j), stateOf(p.Origin),
						},
						Remedy: withoutTTL(j).Prose(),
					})
				}
			}
		},
	}
}

// ttlRisk describes what a mirror's TTL may do.
func ttlRisk(origin *inspect.Job, m inspect.Mirror) string {
	if m.Is(inspect.ByMultiKueue) {
		return fmt.Sprintf("its TTL deletes it %ds after it finished; if MultiKueue is slower, the %s runs again", *m.Job.TTL, m.Job.Kind)
	}
	return fmt.Sprintf("it is deleted %ds after it finished, perhaps before %s copied its status", *m.Job.TTL, origin.Context)
}
