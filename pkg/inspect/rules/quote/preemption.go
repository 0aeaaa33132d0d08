package quote

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Preemption is how a Workload lost its quota to another one, with the message that shows it.
type Preemption struct {
	inspect.Preemption
	// Details are Text with the priority and queue of the other Workload, and how often it did.
	Details  string
	Evidence string
}

// loss is a message that another Workload preempted one: where and when.
type loss struct {
	at      *inspect.Facts
	message string
	since   time.Time
	// count is how often the same Workload preempted it.
	count int
}

// LastPreemption returns the last preemption of a submission, on its own cluster or on a worker.
// ok is false if nothing says so. Usually the preempted copy is deleted, and only events are
// left.
func LastPreemption(v *view.View, s view.Submission) (p Preemption, ok bool) {
	places := []*inspect.Facts{s.Manager}
	for _, worker := range v.Workers(s.Manager) {
		if worker.Facts != nil {
			places = append(places, worker.Facts)
		}
	}
	var all []loss
	for _, f := range places {
		all = append(all, lossesOn(v, f, s.Workload)...)
	}
	if len(all) == 0 {
		return Preemption{}, false
	}
	last := slices.MaxFunc(all, func(a, b loss) int { return a.since.Compare(b.since) })
	by, suffix, priorities := preemptorOf(v, s, last)
	short := fmt.Sprintf("%s: preempted by %s", last.at.Context, by)
	text := short + suffix
	if why := inspect.ReclaimedIn(last.message); priorities == "" && why != "" {
		priorities = " (" + why + ")"
	}
	// A worker repeats the events of its manager, so the largest count for a preemptor is used.
	byUID, times := map[string]loss{}, map[string]int{}
	for _, l := range all {
		if uid := inspect.Preemptor(l.message); l.count > byUID[uid].count {
			byUID[uid] = l
		}
	}
	for _, l := range byUID {
		name, _, _ := preemptorOf(v, s, l)
		times[name] += l.count
	}
	if times[by] > 1 {
		text += fmt.Sprintf(", %d times so far", times[by])
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		if name != by && times[name] > 1 {
			text += fmt.Sprintf(", and %d times by %s", times[name], name)
		}
	}
	evidence := fmt.Sprintf("%s: of Workload %s/%s, at %s: %s", last.at.Context, s.Workload.Namespace, s.Workload.Name, MaybeTime(last.since), last.message)
	if uid := inspect.Preemptor(last.message); !strings.Contains(by, uid) {
		evidence += fmt.Sprintf("; %s is the UID of the Workload of %s", uid, by)
	}
	return Preemption{Preemption: inspect.Preemption{Text: short + priorities, Since: last.since}, Details: text, Evidence: evidence}, true
}

// lossesOn returns the preemptions of a Workload that a cluster reports, one for each Workload that
// preempted it. An event says how often, a condition shows the last one only. Times are by our own
// clock.
func lossesOn(v *view.View, f *inspect.Facts, w *kueue.Workload) []loss {
	var byUID map[string]*loss
	take := func(message string, t time.Time, count int) {
		uid := inspect.Preemptor(message)
		if uid == "" {
			return
		}
		if byUID == nil {
			byUID = map[string]*loss{}
		}
		known, ours := byUID[uid], v.ToOurClock(f.Context, t)
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

// preemptorOf returns the name of the Workload that preempted, its priority and queue, which allow
// the preemption, and both priorities in short form if they differ. Kueue's message has the UIDs of
// that Workload and, if known, of its Job. They may be of another cluster, since a worker repeats
// the message of its manager. If the Workload was deleted, its own event has its name (see
// docs/reference/scheduling.md#preemption).
func preemptorOf(v *view.View, s view.Submission, l loss) (name, suffix, priorities string) {
	uid, jobUID := inspect.Preemptor(l.message), inspect.PreemptorsJob(l.message)
	clusters := append([]*inspect.Facts{l.at}, v.Clusters()...)
	for _, f := range clusters {
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			if string(w.UID) == uid {
				name, suffix = describePreemptor(v, s, f, w)
				if hasOtherPriority(w, s.Workload) {
					priorities = fmt.Sprintf(" (priority %d; this %s has %d)", *w.Spec.Priority, s.Job().Kind, *s.Workload.Spec.Priority)
				}
				return name, suffix, priorities
			}
		}
	}
	for _, f := range clusters {
		if j := v.JobByUID(f, jobUID); j != nil {
			if j.Queue() != "" {
				suffix = fmt.Sprintf(", in LocalQueue %s/%s", j.Namespace, j.Queue())
			}
			return fmt.Sprintf("%s %s/%s", j.Kind, j.Namespace, j.Name), ownedBy(j) + suffix, ""
		}
	}
	for _, f := range clusters {
		if namespace, name, ok := v.PreemptorName(f, uid); ok {
			gone := &kueue.Workload{}
			gone.Namespace, gone.Name = namespace, name
			return SubmittedName(v, s.Manager, gone), "", ""
		}
	}
	return "a Workload with UID " + uid, "", ""
}

func hasOtherPriority(w, than *kueue.Workload) bool {
	return w.Spec.Priority != nil && than.Spec.Priority != nil && *w.Spec.Priority != *than.Spec.Priority
}

func describePreemptor(v *view.View, s view.Submission, f *inspect.Facts, by *kueue.Workload) (name, suffix string) {
	name = WorkloadOwner(f, by)
	if name == view.OfWorkload(f, by).String() {
		// A copy whose mirror does not exist yet has no owner, but its original has one.
		name = SubmittedName(v, s.Manager, by)
	}
	for _, f := range v.Clusters() {
		for _, j := range v.Jobs(f) {
			if j.IsDelegated() && view.Of(j).String() == name {
				suffix = ownedBy(j)
			}
		}
	}
	if hasOtherPriority(by, s.Workload) {
		suffix += fmt.Sprintf(", with priority %d (preempted: %d)", *by.Spec.Priority, *s.Workload.Spec.Priority)
	}
	if by.Spec.QueueName != "" {
		suffix += fmt.Sprintf(", in LocalQueue %s/%s", by.Namespace, by.Spec.QueueName)
	}
	return name, suffix
}

// ownedBy names the owner of a Job, unless it is the built-in controller, or MultiKueue, which the
// queue implies.
func ownedBy(j *inspect.Job) string {
	if !j.IsDelegated() || j.ManagedBy == delegation.MultiKueue {
		return ""
	}
	return fmt.Sprintf(", of owner %s", j.ManagedBy)
}

// AddPreemption adds the last preemption of a submission to a sighting, if it is known.
func AddPreemption(v *view.View, s view.Submission, sighting *view.Sighting) {
	if p, ok := LastPreemption(v, s); ok {
		sighting.Message += "; " + p.Details
		sighting.Evidence = append(sighting.Evidence, p.Evidence)
	}
}
