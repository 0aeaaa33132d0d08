package rules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// preemption is how a Workload lost its room to another one.
type preemption struct {
	// text says who took it, in a sentence about the object.
	text     string
	evidence string
}

// loss is what says of a Workload that another one took its room, and where and when.
type loss struct {
	at      *inspect.Facts
	message string
	since   time.Time
	// count is how often the same one took it.
	count int
}

// preempted tells who last took the room of a submission, on its own cluster or on a
// worker; ok is false where nothing tells of that. The copy that had it is mostly gone,
// so that events alone tell.
func (v *View) preempted(s Submission) (p preemption, ok bool) {
	places := []*inspect.Facts{s.Manager}
	for _, worker := range v.workersOf(s.Manager) {
		if worker.facts != nil {
			places = append(places, worker.facts)
		}
	}
	var all []loss
	for _, f := range places {
		all = append(all, v.lossesOn(f, s.Workload)...)
	}
	if len(all) == 0 {
		return preemption{}, false
	}
	last := slices.MaxFunc(all, func(a, b loss) int { return a.since.Compare(b.since) })
	by, how := v.preemptor(s, last)
	text := fmt.Sprintf("on %s it lost its room to %s%s", last.at.Context, by, how)
	// A worker repeats what its manager says: of one Workload the most that somebody tells counts.
	byUID, times := map[string]loss{}, map[string]int{}
	for _, l := range all {
		if uid := inspect.Preemptor(l.message); l.count > byUID[uid].count {
			byUID[uid] = l
		}
	}
	for _, l := range byUID {
		who, _ := v.preemptor(s, l)
		times[who] += l.count
	}
	if times[by] > 1 {
		text += fmt.Sprintf(", %d times so far", times[by])
	}
	for _, who := range slices.Sorted(maps.Keys(times)) {
		if who != by && times[who] > 1 {
			text += fmt.Sprintf(", and %d times to %s", times[who], who)
		}
	}
	return preemption{
		text:     text,
		evidence: fmt.Sprintf("%s: of Workload %s/%s, at %s: %s", last.at.Context, s.Workload.Namespace, s.Workload.Name, day(last.since), last.message),
	}, true
}

// lossesOn are the preemptions of a Workload of that name that a cluster tells of, by who
// took the room. An event tells how often, a condition only of the last. Times are by our
// own clock.
func (v *View) lossesOn(f *inspect.Facts, w *kueue.Workload) []loss {
	var byUID map[string]*loss
	take := func(message string, t time.Time, count int) {
		uid := inspect.Preemptor(message)
		if uid == "" {
			return
		}
		if byUID == nil {
			byUID = map[string]*loss{}
		}
		known, ours := byUID[uid], v.inventory.Ours(f.Context, t)
		if known == nil {
			known = &loss{at: f}
			byUID[uid] = known
		}
		if known.at = f; !ours.Before(known.since) {
			known.message, known.since = message, ours
		}
		known.count += count
	}
	for _, e := range v.PreemptionsOf(f, w.Namespace, w.Name) {
		take(e.Message, e.Time, int(e.Count))
	}
	if known, _ := v.Workload(f, w.Namespace, w.Name); known != nil {
		for _, conditionType := range []string{kueue.Evicted, "Preempted"} {
			if c := known.Condition(conditionType); c != nil {
				take(c.Message, c.LastTransitionTime.Time, 0)
			}
		}
	}
	losses := make([]loss, 0, len(byUID))
	for _, uid := range slices.Sorted(maps.Keys(byUID)) {
		l := byUID[uid]
		l.count = max(1, l.count)
		losses = append(losses, *l)
	}
	return losses
}

// preemptor names who took the room, and says what gave it that right: its priority, its
// queue. Kueue tells the uid of a Workload on the cluster that preempted, and that of its Job
// there if it knows it. That may be another cluster than the one which tells: a worker repeats
// what its manager says. Of a Workload that is gone, its own event tells the name (see
// docs/reference/scheduling.md#preemption).
func (v *View) preemptor(s Submission, l loss) (name, how string) {
	uid, jobUID := inspect.Preemptor(l.message), inspect.PreemptorsJob(l.message)
	clusters := append([]*inspect.Facts{l.at}, v.Clusters()...)
	for _, f := range clusters {
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			if string(w.UID) == uid {
				return v.describePreemptor(s, f, w)
			}
		}
	}
	for _, f := range clusters {
		if j := v.jobOfUID(f, jobUID); j != nil {
			if j.Queue() != "" {
				how = fmt.Sprintf(", in LocalQueue %s/%s", j.Namespace, j.Queue())
			}
			return fmt.Sprintf("%s %s/%s", j.Kind, j.Namespace, j.Name), ownedBy(j) + how
		}
	}
	for _, f := range clusters {
		if namespace, name, ok := v.preemptorsName(f, uid); ok {
			gone := &kueue.Workload{}
			gone.Namespace, gone.Name = namespace, name
			return v.submittedAs(s.Manager, gone), ""
		}
	}
	return "a Workload of uid " + uid, ""
}

func (v *View) describePreemptor(s Submission, f *inspect.Facts, by *kueue.Workload) (name, how string) {
	name = v.madeForName(f, by)
	if name == named(workloadObject(f, by)) {
		// The copy of what waits for its mirror has no owner: its original has.
		name = v.submittedAs(s.Manager, by)
	}
	for _, f := range v.Clusters() {
		for _, j := range v.Jobs(f) {
			if j.IsDelegated() && named(Of(j)) == name {
				how = ownedBy(j)
			}
		}
	}
	if by.Spec.Priority != nil && s.Workload.Spec.Priority != nil && *by.Spec.Priority != *s.Workload.Spec.Priority {
		how += fmt.Sprintf(", of priority %d and not %d", *by.Spec.Priority, *s.Workload.Spec.Priority)
	}
	if by.Spec.QueueName != "" {
		how += fmt.Sprintf(", in LocalQueue %s/%s", by.Namespace, by.Spec.QueueName)
	}
	return name, how
}

// ownedBy says who reconciles a Job, if that is not the built-in controller or MultiKueue, of
// which the queue tells.
func ownedBy(j *inspect.Job) string {
	if !j.IsDelegated() || j.ManagedBy == delegation.MultiKueue {
		return ""
	}
	return fmt.Sprintf(", of owner %s", j.ManagedBy)
}

// tellPreempted adds who took the room of a submission to what is said of it, where that
// is known.
func (v *View) tellPreempted(s Submission, sighting *Sighting) {
	if p, ok := v.preempted(s); ok {
		sighting.Message += "; " + p.text
		sighting.Evidence = append(sighting.Evidence, p.evidence)
	}
}

// PreemptionsOf are the events that say who took the room of a Workload, of whatever
// incarnation: MultiKueue makes copies anew.
func (v *View) PreemptionsOf(f *inspect.Facts, namespace, workload string) []*inspect.Event {
	v.note(f, inspect.PartEvents)
	return f.PreemptionsOf(namespace, workload)
}

// preemptorsName is what a Workload was called that took the room of others, by its uid.
func (v *View) preemptorsName(f *inspect.Facts, uid string) (namespace, name string, ok bool) {
	v.note(f, inspect.PartEvents)
	return f.PreemptorsName(uid)
}
