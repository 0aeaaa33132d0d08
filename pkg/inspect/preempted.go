package inspect

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// PreemptedReason is the reason of the event by which Kueue says who took the room of a
// Workload.
const PreemptedReason = "Preempted"

// PreemptorReason is that of the event by which Kueue says of a Workload that it took the room
// of another one.
const PreemptorReason = "PreemptedWorkload"

// IsPreemption says whether the event tells who took the room of a Workload.
func (e *Event) IsPreemption() bool { return e.Kind == "Workload" && e.Reason == PreemptedReason }

// PreemptorsName is what a Workload is called that took room, by its uid; ok is false where no
// event tells.
func (f *Facts) PreemptorsName(uid string) (namespace, name string, ok bool) {
	for _, e := range f.Events {
		if e.Kind == "Workload" && e.Reason == PreemptorReason && e.UID == uid {
			return e.Namespace, e.Name, true
		}
	}
	return "", "", false
}

// preemptor is how Kueue names who took the room: by the uid of its Workload, and that of
// the Job of that, both on the cluster that preempted (kueue: pkg/scheduler/preemption). A
// worker that was told to stop something repeats what its manager says of it.
var preemptor = regexp.MustCompile(`\bPreempted to accommodate a workload \(UID: ([^,)]+)(?:, JobUID: ([^,)]+))?`)

// preemptedBy is what preemptor finds. Most messages tell of something else, and are many.
func preemptedBy(message string) []string {
	if !strings.Contains(message, "Preempted to ") {
		return nil
	}
	return preemptor.FindStringSubmatch(message)
}

// Preemptor is the uid of the Workload that took the room of another one, by what Kueue
// says of the latter in a condition or an event; "" if that is not what it says.
func Preemptor(message string) string {
	found := preemptedBy(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// PreemptorsJob is the uid of what that Workload was made for; "" if Kueue did not know it.
func PreemptorsJob(message string) string {
	found := preemptedBy(message)
	if len(found) < 3 || found[2] == "UNKNOWN" {
		return ""
	}
	return found[2]
}

// PreemptionsOf are the events that say who took the room of a Workload of that name.
func (f *Facts) PreemptionsOf(namespace, workload string) []*Event {
	if !f.isIndexed() {
		return nil
	}
	return f.index.preemptions[types.NamespacedName{Namespace: namespace, Name: workload}]
}

// Preemptors are the uids of those who took the room of what was read.
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
