package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// PodFailures is how often the Pods of a Job failed, or were restarted in place after a failure.
type PodFailures struct {
	// Pods have failed, or have containers that were restarted after a failure.
	Pods []*Pod
	// Restarting is how many of them wait for a restart.
	Restarting int
	failed     failures
	restarted  failures
	// restarts is how often Pods were restarted in total.
	restarts int32
	// limit is the Job's backoffLimit, nil if it has none. countsRestarts is whether the Job controller
	// counts restarts toward it. perIndex is the limit for each index, nil if it has none.
	limit          *int32
	countsRestarts bool
	perIndex       *PerIndex
}

// PerIndex is how often the Pods of each index of a Job may fail (kubernetes: batch/v1, backoffLimitPerIndex).
type PerIndex struct {
	// Limit is how many failures of an index the Job tolerates.
	Limit int32
	// MaxFailed is how many failed indexes end the Job at once, nil if none does. Otherwise, the Job fails after all
	// indexes have ended.
	MaxFailed *int32
	// Failed are the failed indexes, such as "1,3-5".
	Failed string
}

// String describes the failed indexes and the limits.
func (x *PerIndex) String() string {
	text := fmt.Sprintf("backoffLimitPerIndex is %d", x.Limit)
	if x.MaxFailed != nil {
		text += fmt.Sprintf(", maxFailedIndexes is %d", *x.MaxFailed)
	}
	if x.Failed != "" {
		return "failed indexes: " + x.Failed + "; " + text
	}
	return text
}

// failures are how many Pods failed, and their different ends.
type failures struct {
	count int
	// known is how many of them show how they ended.
	known int
	exits []string
}

// PodFailures returns the failures of a Job's Pods, nil if there are none.
func (f *Facts) PodFailures(j *Job) *PodFailures {
	s := &PodFailures{}
	if j.Row().IsJob() {
		s.limit, s.perIndex = j.BackoffLimit, j.PerIndex
	}
	for _, p := range f.PodsOf(j) {
		switch {
		case p.Phase == corev1.PodFailed:
			s.failed.add(p)
		case p.Phase == corev1.PodSucceeded || p.ExitCode == 0:
			continue
		default:
			s.restarted.add(p)
			s.restarts += p.Restarts
			s.countsRestarts = s.countsRestarts || p.RestartPolicy == corev1.RestartPolicyOnFailure
			if p.Message != "" {
				s.Restarting++
			}
		}
		s.Pods = append(s.Pods, p)
	}
	s.failed.count = max(s.failed.count, int(j.Failed))
	if s.failed.count == 0 && len(s.Pods) == 0 {
		return nil
	}
	return s
}

func (n *failures) add(p *Pod) {
	n.count++
	if p.ExitCode == 0 {
		return
	}
	n.known++
	exit := fmt.Sprintf("exit code %d", p.ExitCode)
	if p.ExitReason != "" && p.ExitReason != "Error" {
		exit = fmt.Sprintf("%s (%s)", p.ExitReason, exit)
	}
	if p.IsExitHidden {
		exit += " in container " + p.ExitContainer
	}
	if !slices.Contains(n.exits, exit) {
		n.exits = append(n.exits, exit)
	}
}

// ends returns how the Pods ended, as the end of a sentence; "" if that is unknown.
func (n *failures) ends() string {
	if len(n.exits) == 0 {
		return ""
	}
	slices.Sort(n.exits)
	if n.known < n.count {
		return fmt.Sprintf(", %d of them with %s", n.known, And(n.exits))
	}
	return ": " + And(n.exits)
}

// Restarts describes the restarts of Pods, and how many of them the Job tolerates; "" if there were
// none. The Job controller adds up the restarts of all containers if their restartPolicy is OnFailure
// (kubernetes: pkg/controller/job, pastBackoffLimitOnFailure).
func (s *PodFailures) Restarts() string {
	if s.restarts == 0 {
		return ""
	}
	text := fmt.Sprintf("%s restarted %s%s", Count(s.restarted.count, "Pod"), Count(int(s.restarts), "time"), s.restarted.ends())
	if s.limit != nil && s.countsRestarts {
		text += fmt.Sprintf("; the Job fails at %s (backoffLimit)", Count(max(1, int(*s.limit)), "restart"))
	}
	return text
}

// Failures describes the failed Pods, and how many of them the Job tolerates; "" if there are none.
func (s *PodFailures) Failures() string {
	if s.failed.count == 0 {
		return ""
	}
	text := Count(s.failed.count, "Pod") + " failed" + s.failed.ends()
	if s.perIndex != nil {
		text += "; " + s.perIndex.String()
	}
	if s.limit != nil && !s.isUnlimited() {
		text += fmt.Sprintf("; backoffLimit is %d", *s.limit)
	}
	return text
}

// isUnlimited reports whether only the failures of each index count: that is the default with a limit for each
// (kubernetes: pkg/apis/batch/v1/defaults.go).
func (s *PodFailures) isUnlimited() bool {
	return s.perIndex != nil && ptr.Deref(s.limit, math.MaxInt32) == math.MaxInt32
}

// Container returns the container that failed in all of these Pods, "" if there are several, or if it is unknown. isHidden
// is whether kubectl shows the log of another one if the user names none.
func (s *PodFailures) Container() (name string, isHidden bool) {
	for _, p := range s.Pods {
		if p.ExitContainer == "" || name != "" && name != p.ExitContainer {
			return "", false
		}
		name, isHidden = p.ExitContainer, isHidden || p.IsExitHidden
	}
	return name, isHidden
}

// outOfMemory is the kubelet's word for the end of a container that exceeded its memory limit.
const outOfMemory = "OOMKilled"

// LackMemory reports whether all of these Pods failed because a container exceeded its memory limit.
func (s *PodFailures) LackMemory() bool {
	return len(s.Pods) > 0 && !slices.ContainsFunc(s.Pods, func(p *Pod) bool { return p.ExitReason != outOfMemory })
}

// String describes all failures.
func (s *PodFailures) String() string {
	texts := slices.DeleteFunc([]string{s.Failures(), s.Restarts()}, func(text string) bool { return text == "" })
	return strings.Join(texts, "; ")
}

// usualLimit is the backoffLimit of a Job that sets none.
const usualLimit = 6

// IsLate reports whether the Job has used up at least half of its backoffLimit, or fails because of an index.
func (s *PodFailures) IsLate() bool {
	if s.perIndex != nil && s.perIndex.Failed != "" {
		return true
	}
	return 2*(s.failed.count+int(s.restarts)) >= max(1, int(ptr.Deref(s.limit, usualLimit)))
}

// First returns when the first of these Pods started, by the clock of its cluster.
func (s *PodFailures) First() time.Time {
	var first time.Time
	for _, p := range s.Pods {
		if started := cmp.Or(p.Started, p.CreationTimestamp).Time; first.IsZero() || started.Before(first) {
			first = started
		}
	}
	return first
}

// Last returns when the last failure was, by the clock of its cluster; zero if unknown.
func (s *PodFailures) Last() time.Time {
	var last time.Time
	for _, p := range s.Pods {
		if p.ExitedAt.After(last) {
			last = p.ExitedAt.Time
		}
	}
	return last
}

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
