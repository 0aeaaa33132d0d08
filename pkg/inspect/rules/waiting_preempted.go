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

// preempted tells who last took the room of a submission, on its own cluster or on a
// worker; ok is false where nothing tells of that. The copy that had it is mostly gone,
// so that events alone tell.
func (v *View) preempted(w waiter) (p preemption, ok bool) {
	var at *inspect.Facts
	var message string
	var since time.Time
	take := func(f *inspect.Facts, text string, t time.Time) {
		if ours := v.inventory.Ours(f.Context, t); inspect.Preemptor(text) != "" && (at == nil || ours.After(since)) {
			at, message, since = f, text, ours
		}
	}
	places := []*inspect.Facts{w.Manager}
	for _, o := range w.offers {
		if o.worker != nil {
			places = append(places, o.worker)
		}
	}
	for _, f := range places {
		if known, _ := v.Workload(f, w.Workload.Namespace, w.Workload.Name); known != nil {
			for _, conditionType := range []string{kueue.Evicted, "Preempted"} {
				if c := meta.FindStatusCondition(known.Status.Conditions, conditionType); c != nil {
					take(f, c.Message, c.LastTransitionTime.Time)
				}
			}
		}
		for _, e := range v.PreemptionsOf(f, w.Workload.Namespace, w.Workload.Name) {
			take(f, e.Message, e.Time)
		}
	}
	if at == nil {
		return preemption{}, false
	}
	uid := inspect.Preemptor(message)
	by := "a Workload of uid " + uid
	workloads, _ := v.Workloads(at)
	for _, other := range workloads {
		if string(other.UID) == uid {
			by = v.describePreemptor(at, other, w.Workload)
		}
	}
	return preemption{
		text:     fmt.Sprintf("on %s it lost its room to %s", at.Context, by),
		evidence: fmt.Sprintf("%s: of Workload %s/%s, at %s: %s", at.Context, w.Workload.Namespace, w.Workload.Name, day(since), message),
	}, true
}

// describePreemptor names who took the room: the object, its priority, its queue.
func (v *View) describePreemptor(f *inspect.Facts, by, victim *kueue.Workload) string {
	text := v.madeForName(f, by)
	if by.Spec.Priority != nil && victim.Spec.Priority != nil {
		text += fmt.Sprintf(", of priority %d and not %d", *by.Spec.Priority, *victim.Spec.Priority)
	}
	if by.Spec.QueueName != "" {
		text += fmt.Sprintf(", in LocalQueue %s/%s", by.Namespace, by.Spec.QueueName)
	}
	return text
}

// PreemptionsOf are the events that say who took the room of a Workload, of whatever
// incarnation: MultiKueue makes copies anew.
func (v *View) PreemptionsOf(f *inspect.Facts, namespace, workload string) []*inspect.Event {
	v.note(f, inspect.PartEvents)
	return f.PreemptionsOf(namespace, workload)
}
