package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TimelineEntry is something that happened to one of the objects on the way.
type TimelineEntry struct {
	// Time is as the cluster's own clock had it.
	Time metav1.Time `json:"time"`
	// Context is where it happened.
	Context string `json:"context"`
	// Object is what it happened to, such as "Workload/job-train-1c348".
	Object string `json:"object"`
	// Event says what happened.
	Event string `json:"event"`
}

// timeline merges what creation times, conditions, managedFields and events of
// all objects on the way tell, over all clusters, in the order of their times.
// Clocks are not corrected; Trace.Clocks tells which are off.
func (v *Inventory) timeline(p Pair) []TimelineEntry {
	t := timeline{entries: []TimelineEntry{}}
	jobs := p.Jobs()
	for _, j := range jobs {
		t.job(j, j == p.Origin)
	}
	for _, f := range v.Clusters {
		for _, w := range v.WorkloadsOf(p, f) {
			t.workload(f, w)
		}
		for _, j := range jobs {
			if j.Context == f.Context {
				t.pods(f, j)
			}
		}
		t.events(f, v.about(p, f))
	}
	slices.SortStableFunc(t.entries, func(a, b TimelineEntry) int { return a.Time.Compare(b.Time.Time) })
	return slices.CompactFunc(t.entries, func(a, b TimelineEntry) bool { return a == b })
}

type timeline struct{ entries []TimelineEntry }

func (t *timeline) add(when time.Time, context, object, format string, args ...any) {
	if when.IsZero() {
		return
	}
	t.entries = append(t.entries, TimelineEntry{
		Time: metav1.NewTime(when.UTC()), Context: context, Object: object, Event: fmt.Sprintf(format, args...),
	})
}

func (t *timeline) job(j *Job, isOrigin bool) {
	object := j.Kind + "/" + j.Name
	role := "mirror "
	if isOrigin {
		role = ""
	}
	t.add(j.CreationTimestamp.Time, j.Context, object, "%screated", role)
	if j.StartTime != nil {
		t.add(j.StartTime.Time, j.Context, object, "%sstarted", role)
	}
	conditions := j.conditions()
	t.conditions(j.Context, object, conditions)
	if j.FinishedTime != nil && len(conditions) == 0 {
		t.add(j.FinishedTime.Time, j.Context, object, "%s", j.Status)
	}
	if j.Object == nil {
		return
	}
	for _, f := range j.Object.GetManagedFields() {
		if f.Subresource == "status" && f.Time != nil {
			t.add(f.Time.Time, j.Context, object, "status last changed by %s", f.Manager)
		}
	}
	if d := j.Object.GetDeletionTimestamp(); d != nil {
		t.add(d.Time, j.Context, object, "deletion requested")
	}
}

func (t *timeline) conditions(context, object string, conditions []metav1.Condition) {
	for _, c := range conditions {
		if isBeginning(c) {
			continue
		}
		event := c.Type
		if c.Status != metav1.ConditionTrue {
			event = "not " + event
		}
		if c.Reason != "" && c.Reason != c.Type {
			event += " (" + c.Reason + ")"
		}
		if c.Message != "" {
			event += ": " + c.Message
		}
		t.add(c.LastTransitionTime.Time, context, object, "%s", event)
	}
}

// isBeginning says whether a condition only tells that something has not happened
// so far, as it is written when a Workload is made.
func isBeginning(c metav1.Condition) bool {
	if c.Status == metav1.ConditionTrue {
		return false
	}
	switch c.Type {
	case kueue.Admitted:
		return true
	case kueue.PodsReady, kueue.PodsScheduled:
		// WaitForScheduling is from Kueue 0.20 on (KEP-13502).
		return c.Reason == "WaitForStart" || c.Reason == "WaitForScheduling"
	}
	return false
}

func (t *timeline) workload(f *Facts, w *kueue.Workload) {
	object := "Workload/" + w.Name
	t.add(w.CreationTimestamp.Time, f.Context, object, "created")
	t.conditions(f.Context, object, w.Status.Conditions)
	for _, c := range w.Status.AdmissionChecks {
		event := fmt.Sprintf("check %s %s", c.Name, c.State)
		if c.Message != "" {
			event += ": " + c.Message
		}
		t.add(c.LastTransitionTime.Time, f.Context, object, "%s", event)
	}
}

// pods tells of a Job's pods in a line or two, however many there are; of an object that
// makes Jobs, in as many for each of these.
func (t *timeline) pods(f *Facts, j *Job) {
	made := map[string][]*Pod{}
	for _, p := range f.PodsOf(j) {
		object := j.Kind + "/" + j.Name
		if p.JobUID != j.UID {
			object = cmp.Or(p.JobName, object)
		}
		made[object] = append(made[object], p)
	}
	for _, object := range slices.Sorted(maps.Keys(made)) {
		pods := made[object]
		slices.SortStableFunc(pods, func(a, b *Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		first, last := pods[0], pods[len(pods)-1]
		t.add(first.CreationTimestamp.Time, f.Context, object, "first pod created: %s", first.Name)
		if len(pods) > 1 {
			t.add(last.CreationTimestamp.Time, f.Context, object, "last of %d pods created: %s", len(pods), last.Name)
		}
	}
}

func (t *timeline) events(f *Facts, about func(*Event) bool) {
	type key struct{ object, reason, message string }
	told := map[key]bool{}
	// The latest first, so that of those that repeat it is the one that is told.
	events := slices.Clone(f.Events)
	slices.SortStableFunc(events, func(a, b *Event) int { return b.Time.Compare(a.Time) })
	for _, e := range events {
		k := key{e.Kind + "/" + e.Name, e.Reason, e.Message}
		if e.Kind == "Pod" {
			// The same warning of 200 pods is one line.
			k.object = "Pod"
		}
		if !about(e) || told[k] || !e.Warning && e.Reason == "SuccessfulCreate" {
			// Of pods that were created, the pods themselves tell.
			continue
		}
		told[k] = true
		event := e.Reason
		if e.Message != "" {
			event = cmp.Or(event, "event") + ": " + e.Message
		}
		if e.Count > 1 {
			event += fmt.Sprintf(" (%d times)", e.Count)
		}
		t.add(e.Time, f.Context, e.Kind+"/"+e.Name, "%s", event)
	}
}

// about picks the events of a cluster that are about a pair.
func (v *Inventory) about(p Pair, f *Facts) func(*Event) bool {
	uids := map[string]bool{}
	for _, j := range p.Jobs() {
		if j.Context == f.Context {
			uids[j.UID] = true
			for _, pod := range f.PodsOf(j) {
				// What controls it may be a Job that the object has made.
				uids[pod.UID], uids[pod.JobUID] = true, pod.JobUID != ""
			}
		}
	}
	for _, w := range v.WorkloadsOf(p, f) {
		uids[string(w.UID)] = true
	}
	return func(e *Event) bool { return uids[e.UID] }
}
