package inspect

import (
	"context"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// preemptedReason is the reason of the event by which Kueue says who took the room of a
// Workload.
const preemptedReason = "Preempted"

func (e *Event) isPreemption() bool { return e.Kind == "Workload" && e.Reason == preemptedReason }

// preemptor is how Kueue names who took the room: by the uid of its Workload, and that of
// the Job of that, both on the cluster that preempted (kueue: pkg/scheduler/preemption). A
// worker that was told to stop something repeats what its manager says of it.
var preemptor = regexp.MustCompile(`\bPreempted to accommodate a workload \(UID: ([^,)]+)(?:, JobUID: ([^,)]+))?`)

// Preemptor is the uid of the Workload that took the room of another one, by what Kueue
// says of the latter in a condition or an event; "" if that is not what it says.
func Preemptor(message string) string {
	found := preemptor.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// PreemptorsJob is the uid of what that Workload was made for; "" if Kueue did not know it.
func PreemptorsJob(message string) string {
	found := preemptor.FindStringSubmatch(message)
	if len(found) < 3 || found[2] == "UNKNOWN" {
		return ""
	}
	return found[2]
}

// PreemptionsOf are the events that say who took the room of a Workload of that name.
func (f *Facts) PreemptionsOf(namespace, workload string) []*Event {
	if f == nil || f.index == nil {
		return nil
	}
	return f.index.preemptions[namespace+"/"+workload]
}

// preemptors are the uids of those who took the room of what was read.
func (f *Facts) preemptors() sets.Set[string] {
	uids := sets.New[string]()
	for _, e := range f.Events {
		if e.isPreemption() {
			uids.Insert(Preemptor(e.Message))
		}
	}
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			for i := range w.Status.Conditions {
				uids.Insert(Preemptor(w.Status.Conditions[i].Message))
			}
		}
	}
	return uids.Delete("")
}

// readWorkloadsByUID reads the Workloads of these uids, in whatever namespace: no server
// selects by uid.
func (r *factReader) readWorkloadsByUID(ctx context.Context, uids sets.Set[string]) {
	r.read(PartWorkloads, func() error {
		known := sets.New[string]()
		for _, w := range r.facts.Kueue.Workloads {
			known.Insert(string(w.UID))
		}
		if known.IsSuperset(uids) {
			return nil
		}
		if c := r.facts.Kueue.Capacity; c != nil && c.Gaps[PartClaims] == nil {
			r.pickWorkloads(ctx, c, uids.Difference(known))
			return nil
		}
		// That others may not be read says nothing of the object itself.
		_ = listObjects(ctx, r.cluster, r.resource("workloads"), "", metav1.ListOptions{}, func(w *kueue.Workload) {
			if uid := string(w.UID); uids.Has(uid) && !known.Has(uid) {
				r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
			}
		})
		return nil
	})
}

// pickWorkloads finds the Workloads of these uids where all were listed before, and asks
// for those of which no more is known than where they are.
func (r *factReader) pickWorkloads(ctx context.Context, c *Capacity, uids sets.Set[string]) {
	keep := func(w *kueue.Workload) {
		r.store(func() { r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w) })
	}
	for _, w := range c.Workloads {
		if uids.Has(string(w.UID)) {
			keep(w)
		}
	}
	for _, uid := range sets.List(uids) {
		place, ok := c.places[uid]
		if !ok {
			continue
		}
		// As above: that one may not be read says nothing of the object itself.
		if w, err := getObject[kueue.Workload](ctx, r.cluster, r.resource("workloads"), place.Namespace, place.Name); err == nil && w != nil && string(w.UID) == uid {
			keep(w)
		}
	}
}
