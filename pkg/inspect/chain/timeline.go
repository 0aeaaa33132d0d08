package chain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// timelineOf merges creation times, conditions, managedFields and events of all objects on the chain,
// over all clusters, in the order of time. It does not correct clocks; Trace.Clocks lists the wrong
// ones.
func timelineOf(v *inspect.Inventory, p inspect.Pair) []inspect.TimelineEntry {
	t := timeline{entries: []inspect.TimelineEntry{}}
	jobs := p.Jobs()
	for _, j := range jobs {
		t.addJob(j, j == p.Origin)
	}
	for _, f := range v.Clusters {
		for _, w := range v.WorkloadsOf(p, f) {
			t.addWorkload(f, w)
		}
		for _, j := range jobs {
			if j.Context == f.Context {
				t.addPods(f, j)
			}
		}
		t.addEvents(f, isAbout(v, p, f))
	}
	slices.SortStableFunc(t.entries, func(a, b inspect.TimelineEntry) int { return a.Time.Compare(b.Time.Time) })
	return slices.CompactFunc(t.entries, func(a, b inspect.TimelineEntry) bool { return a == b })
}

type timeline struct{ entries []inspect.TimelineEntry }

func (t *timeline) add(when time.Time, context, object, format string, args ...any) {
	if when.IsZero() {
		return
	}
	t.entries = append(t.entries, inspect.TimelineEntry{
		Time: metav1.NewTime(when.UTC()), Context: context, Object: object, Event: fmt.Sprintf(format, args...),
	})
}

func (t *timeline) addJob(j *inspect.Job, isOrigin bool) {
	object := j.Kind + "/" + j.Name
	role := "mirror "
	if isOrigin {
		role = ""
	}
	t.add(j.CreationTimestamp.Time, j.Context, object, "%screated", role)
	if j.StartTime != nil {
		t.add(j.StartTime.Time, j.Context, object, "%sstarted", role)
	}
	conditions := j.Conditions()
	t.addConditions(j.Context, object, conditions)
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

func (t *timeline) addConditions(context, object string, conditions []metav1.Condition) {
	for _, c := range conditions {
		if isBeginning(c) {
			continue
		}
		event := c.Type
		switch c.Status {
		case metav1.ConditionTrue:
		case metav1.ConditionUnknown:
			// Tekton's runs have Succeeded in this way until they end.
			event += " unknown"
		default:
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

// isBeginning reports whether a condition only says that something has not happened yet. Kueue writes
// such conditions when it creates a Workload.
func isBeginning(c metav1.Condition) bool {
	if c.Status == metav1.ConditionTrue {
		return false
	}
	switch c.Type {
	case kueue.Admitted:
		return true
	case kueue.PodsReady, kueue.PodsScheduled:
		// Kueue writes WaitForScheduling from 0.20 on (KEP-13502).
		return c.Reason == "WaitForStart" || c.Reason == "WaitForScheduling"
	}
	return false
}

func (t *timeline) addWorkload(f *inspect.Facts, w *kueue.Workload) {
	object := "Workload/" + w.Name
	t.add(w.CreationTimestamp.Time, f.Context, object, "created")
	t.addConditions(f.Context, object, w.Status.Conditions)
	for _, c := range w.Status.AdmissionChecks {
		event := fmt.Sprintf("check %s %s", c.Name, c.State)
		if c.Message != "" {
			event += ": " + c.Message
		}
		t.add(c.LastTransitionTime.Time, f.Context, object, "%s", event)
	}
}

// addPods adds one or two entries for a Job's Pods, however many there are; for an object that
// creates Jobs, one or two for each of these.
func (t *timeline) addPods(f *inspect.Facts, j *inspect.Job) {
	byObject := map[string][]*inspect.Pod{}
	for _, p := range f.PodsOf(j) {
		object := j.Kind + "/" + j.Name
		if p.JobUID != j.UID {
			object = cmp.Or(p.JobName, object)
		}
		byObject[object] = append(byObject[object], p)
	}
	for _, object := range slices.Sorted(maps.Keys(byObject)) {
		pods := byObject[object]
		slices.SortStableFunc(pods, func(a, b *inspect.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		first, last := pods[0], pods[len(pods)-1]
		t.add(first.CreationTimestamp.Time, f.Context, object, "first Pod created: %s", first.Name)
		if len(pods) > 1 {
			t.add(last.CreationTimestamp.Time, f.Context, object, "last of %d Pods created: %s", len(pods), last.Name)
		}
	}
}

func (t *timeline) addEvents(f *inspect.Facts, about func(*inspect.Event) bool) {
	type key struct{ object, reason, message string }
	seen := map[key]bool{}
	// Sort the latest first, so that it represents its repetitions.
	events := slices.Clone(f.Events)
	slices.SortStableFunc(events, func(a, b *inspect.Event) int { return b.Time.Compare(a.Time) })
	for _, e := range events {
		k := key{e.Kind + "/" + e.Name, e.Reason, e.Message}
		if e.Kind == "Pod" {
			// The same warning of 200 Pods becomes one entry.
			k.object = "Pod"
		}
		if !about(e) || seen[k] || !e.Warning && e.Reason == "SuccessfulCreate" {
			// The entries of pods already show that Pods were created.
			continue
		}
		seen[k] = true
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

// isAbout returns a function that selects a cluster's events about a pair.
func isAbout(v *inspect.Inventory, p inspect.Pair, f *inspect.Facts) func(*inspect.Event) bool {
	uids := map[string]bool{}
	for _, j := range p.Jobs() {
		if j.Context == f.Context {
			uids[j.UID] = true
			for _, pod := range f.PodsOf(j) {
				// The Pod's controller may be a Job that the object created.
				uids[pod.UID], uids[pod.JobUID] = true, pod.JobUID != ""
			}
		}
	}
	for _, w := range v.WorkloadsOf(p, f) {
		uids[string(w.UID)] = true
	}
	return func(e *inspect.Event) bool { return uids[e.UID] }
}
