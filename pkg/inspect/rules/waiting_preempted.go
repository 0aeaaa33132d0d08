package rules

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
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
}

// preempted tells who last took the room of a submission, on its own cluster or on a
// worker; ok is false where nothing tells of that. The copy that had it is mostly gone,
// so that events alone tell.
func (v *View) preempted(s Submission) (p preemption, ok bool) {
	places := []*inspect.Facts{s.Manager}
	clusters, _ := v.MultiKueueClusters(s.Manager)
	for _, c := range clusters {
		if worker, _ := v.Worker(s.Manager, c.Name); worker != nil && worker != s.Manager {
			places = append(places, worker)
		}
	}
	var last loss
	for _, f := range places {
		if l := v.lossOn(f, s.Workload); last.at == nil || l.at != nil && l.since.After(last.since) {
			last = l
		}
	}
	if last.at == nil {
		return preemption{}, false
	}
	return preemption{
		text:     fmt.Sprintf("on %s it lost its room to %s", last.at.Context, v.preemptor(s, last)),
		evidence: fmt.Sprintf("%s: of Workload %s/%s, at %s: %s", last.at.Context, s.Workload.Namespace, s.Workload.Name, day(last.since), last.message),
	}, true
}

// lossOn is what a cluster tells last of the preemption of a Workload of that name; the
// zero loss if nothing. Times are by our own clock.
func (v *View) lossOn(f *inspect.Facts, w *kueue.Workload) loss {
	var last loss
	take := func(message string, t time.Time) {
		if ours := v.inventory.Ours(f.Context, t); inspect.Preemptor(message) != "" && (last.at == nil || ours.After(last.since)) {
			last = loss{f, message, ours}
		}
	}
	if known, _ := v.Workload(f, w.Namespace, w.Name); known != nil {
		for _, conditionType := range []string{kueue.Evicted, "Preempted"} {
			if c := meta.FindStatusCondition(known.Status.Conditions, conditionType); c != nil {
				take(c.Message, c.LastTransitionTime.Time)
			}
		}
	}
	for _, e := range v.PreemptionsOf(f, w.Namespace, w.Name) {
		take(e.Message, e.Time)
	}
	return last
}

// preemptor names who took the room: the object, its priority, its queue. Kueue tells the
// uid of a Workload on the cluster that preempted, and that of its Job there if it knows
// it. That may be another cluster than the one which tells: a worker repeats what its
// manager says (reference: capacity.md 6).
func (v *View) preemptor(s Submission, l loss) string {
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
		for _, j := range v.Jobs(f) {
			if j.UID == jobUID {
				text := fmt.Sprintf("%s %s/%s", j.Kind, j.Namespace, j.Name)
				if j.Queue() != "" {
					text += fmt.Sprintf(", in LocalQueue %s/%s", j.Namespace, j.Queue())
				}
				return text
			}
		}
	}
	return "a Workload of uid " + uid
}

func (v *View) describePreemptor(s Submission, f *inspect.Facts, by *kueue.Workload) string {
	text := v.madeForName(f, by)
	if text == named(workloadObject(f, by)) {
		// The copy of what waits for its mirror has no owner: its original has.
		text = v.submittedAs(s.Manager, by)
	}
	if by.Spec.Priority != nil && s.Workload.Spec.Priority != nil {
		text += fmt.Sprintf(", of priority %d and not %d", *by.Spec.Priority, *s.Workload.Spec.Priority)
	}
	if by.Spec.QueueName != "" {
		text += fmt.Sprintf(", in LocalQueue %s/%s", by.Namespace, by.Spec.QueueName)
	}
	return text
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
