package inspect

import (
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Event holds the needed fields of a Kubernetes event.
type Event struct {
	// ID is the name of the event. Names from one reporter about one object sort in the order of
	// events.
	ID string
	// Kind, Namespace, Name and UID identify the object that the event is about.
	Kind, Namespace, Name, UID string
	// Warning is whether the type is Warning and not Normal.
	Warning         bool
	Reason, Message string
	// Time is when it happened, the last time if it happened Count times.
	Time  time.Time
	Count int32
}

// PreemptedReason is the reason of Kueue's event that says which Workload preempted this one.
const PreemptedReason = "Preempted"

// PreemptorReason is the reason of Kueue's event that says that a Workload preempted another one.
const PreemptorReason = "PreemptedWorkload"

// IsPreemption says whether the event reports which Workload preempted this one.
func (e *Event) IsPreemption() bool { return e.Kind == "Workload" && e.Reason == PreemptedReason }

// PreemptorsName returns the name of the preempting Workload with this UID; ok is false if no event
// names it.
func (f *Facts) PreemptorsName(uid string) (namespace, name string, ok bool) {
	for _, e := range f.Events {
		if e.Kind == "Workload" && e.Reason == PreemptorReason && e.UID == uid {
			return e.Namespace, e.Name, true
		}
	}
	return "", "", false
}

// preemptor matches the UIDs of the preempting Workload and of its Job, both on the cluster that
// preempted (kueue: pkg/scheduler/preemption). A worker that must stop a copy repeats the manager's
// message.
var preemptor = regexp.MustCompile(`\bPreempted to accommodate a workload \(UID: ([^,)]+)(?:, JobUID: ([^,)]+))?`)

// preemptedBy returns the match of preemptor. Most messages have another topic, and there are
// many, so a cheap test comes first.
func preemptedBy(message string) []string {
	if !strings.Contains(message, "Preempted to ") {
		return nil
	}
	return preemptor.FindStringSubmatch(message)
}

// Preemptor returns the UID of the preempting Workload from Kueue's message in a condition or an
// event; "" if the message has another topic.
func Preemptor(message string) string {
	found := preemptedBy(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// PreemptorsJob returns the UID of the preempting Workload's Job; "" if Kueue did not know it.
func PreemptorsJob(message string) string {
	found := preemptedBy(message)
	if len(found) < 3 || found[2] == "UNKNOWN" {
		return ""
	}
	return found[2]
}

// PreemptionsOf returns the events that say which Workloads preempted the Workload of this name.
func (f *Facts) PreemptionsOf(namespace, workload string) []*Event {
	if !f.isIndexed() {
		return nil
	}
	return f.index.preemptions[types.NamespacedName{Namespace: namespace, Name: workload}]
}

// Preemptors returns the UIDs of all preempting Workloads that f mentions.
func (f *Facts) Preemptors() sets.Set[string] {
	uids := sets.New[string]()
	for _, e := range f.Events {
		if e.IsPreemption() {
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
