package inspect

import (
	"fmt"
	"strings"
)

// IsAboutStart reports whether an event warns that a node cannot start a Pod. The warnings of the
// scheduler, and those about containers that have run, are in the status of the Pod, too.
func (e *Event) IsAboutStart() bool {
	switch e.Reason {
	case "FailedScheduling", "BackOff", "Unhealthy":
		return false
	}
	return e.Warning && e.Kind == "Pod"
}

// Replaces reports whether a warning about a Pod says more about its present state than another one,
// nil for none. That is the later one, except that the kubelet sums up failed mounts in warnings
// without the cause (kubernetes: pkg/kubelet, "Unable to attach or mount volumes").
func (e *Event) Replaces(other *Event) bool {
	isSummary := func(e *Event) bool { return strings.HasPrefix(e.Message, "Unable to attach or mount volumes") }
	switch {
	case other == nil:
		return true
	case isSummary(e) != isSummary(other):
		return isSummary(other)
	}
	return e.Time.After(other.Time)
}

// StartWarning returns the last warning about a Pod whose node is creating its containers, nil if there
// is none. Warnings from before it had a node do not count.
func (f *Facts) StartWarning(p *Pod) *Event {
	if !f.isIndexed() || !p.IsCreating() {
		return nil
	}
	e := f.index.podWarnings[p.UID]
	if e == nil || e.Time.Before(p.Scheduled.Time) {
		return nil
	}
	return e
}

// PodMessage returns why a Pod has its Reason, "" if neither it nor a warning says that.
func (f *Facts) PodMessage(p *Pod) string {
	if e := f.StartWarning(p); e != nil && p.Message == "" {
		return e.Reason + ": " + e.Message
	}
	switch {
	case !p.IsUnbound():
		return p.Message
	case len(p.Claims) == 1:
		return fmt.Sprintf("PersistentVolumeClaim %s is not bound", p.Claims[0])
	}
	return "not all PersistentVolumeClaims are bound: " + strings.Join(p.Claims, ", ")
}

// IsUnbound reports whether the scheduler waits until the PersistentVolumeClaims of the Pod are bound.
// It does not say which of them are not (kubernetes: pkg/scheduler/framework/plugins/volumebinding).
func (p *Pod) IsUnbound() bool {
	return p.IsUnschedulable() && len(p.Claims) > 0 && strings.Contains(p.Message, "pod has unbound immediate PersistentVolumeClaims")
}
