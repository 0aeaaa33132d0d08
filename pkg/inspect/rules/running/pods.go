package running

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func podsCannotStart() view.Rule {
	return view.Rule{
		Code: "JM049", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods, inspect.PartEvents},
		// A controller that reports a refusal is at work, even if it writes no
		// status.
		Covers: []string{"JM121"},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				if !p.Origin.IsOpen() {
					continue
				}
				for _, m := range p.Mirrors {
					if m.Current {
						reportObstacle(v, p.Origin, m.Job)
					}
				}
			}
			for _, mirror := range v.MirrorsOfUnknown() {
				reportObstacle(v, nil, mirror)
			}
		},
	}
}

// reportObstacle reports what keeps the Pods of a mirror from starting. origin is nil if it is unknown.
func reportObstacle(v *view.View, origin, mirror *inspect.Job) {
	if mirror.Suspended || !mirror.IsOpen() {
		return
	}
	if b := obstacleOf(v, mirror); b != nil {
		v.Report(b.sighting(v, origin, mirror))
	}
}

// obstacle is why the pods of a mirror cannot start.
type obstacle struct {
	reason, message string
	// since is when it began, by the clock of the mirror's cluster.
	since time.Time
	// pod is a Pod that cannot start, "" if Pods cannot be created.
	pod   string
	count int
	// shortage is how many Pods cannot be created, nil if all or unknown.
	shortage *inspect.PodShortage
	mild     bool
	// claims are the PersistentVolumeClaims of the Pod. isUnbound is whether it waits until they are
	// bound.
	claims    []string
	isUnbound bool
	// isSlow is whether its node has not created its containers yet. isWarned is whether a warning of
	// the node is the reason, and hasEvents whether warnings were read.
	isSlow, isWarned, hasEvents bool
	// gates are the scheduling gates that the Pod waits for.
	gates []string
	// unconfirmed are the Pods that nothing shows to run, nil if the obstacle is another one.
	unconfirmed []*inspect.Pod
}

// creationTime is how long creating a container may take, with pulling its image
// and mounting its volumes, before it is reported without a grace period.
const creationTime = time.Minute

// noNode is how long a Pod may have no node before that is reported, unless
// the user wants no grace period: new nodes take some minutes to start.
const noNode = 10 * time.Minute

// obstacleOf returns what keeps the Pods of a mirror from starting, nil if
// nothing does, or if it is unknown.
func obstacleOf(v *view.View, j *inspect.Job) *obstacle {
	f, ok := v.Facts(j.Context)
	if !ok {
		return nil
	}
	pods, known := v.Pods(f, j)
	var waiting []*obstacle
	unfinished := 0
	unconfirmed := neededUnconfirmed(j, pods)
	var latest time.Time
	for _, p := range pods {
		latest = view.Latest(latest, p.CreationTimestamp.Time)
		if !p.IsOpen() {
			continue
		}
		unfinished++
		o := obstacleFor(v, f, p)
		if slices.Contains(unconfirmed, p) {
			o.unconfirmed = unconfirmed
		}
		if o.keepsFromRunning(v, j, p) {
			waiting = append(waiting, o)
		}
	}
	switch {
	case len(waiting) > 0:
		// The first of the worst.
		found := slices.MinFunc(waiting, func(a, b *obstacle) int { return cmp.Compare(a.ease(), b.ease()) })
		found.count = len(waiting)
		found.mild = found.count < unfinished || found.ease() > 0
		return found
	case known && unfinished == 0 && !hasPodsNow(j):
		return refusedPods(v, f, j, latest)
	case known:
		return missingPods(v, f, j, latest)
	}
	return nil
}

// keepsFromRunning reports whether the obstacle certainly keeps a Pod of a mirror from running.
func (b *obstacle) keepsFromRunning(v *view.View, j *inspect.Job, p *inspect.Pod) bool {
	isTooSlow := b.isSlow && (b.isWarned || v.Age(j.Context, b.since) >= creationTime)
	return isHindered(p) || b.unconfirmed != nil || isTooSlow
}

// obstacleFor returns what may keep a Pod from starting.
func obstacleFor(v *view.View, f *inspect.Facts, p *inspect.Pod) *obstacle {
	o := &obstacle{
		reason: p.Reason, message: p.Message, since: cmp.Or(p.Changed, p.CreationTimestamp).Time,
		pod: p.Name, claims: p.Claims, isUnbound: p.IsUnbound(), isSlow: p.IsCreating(),
	}
	if p.IsLost() {
		// Nothing shows when the node was deleted.
		o.since = v.ToClusterClock(f.Context, v.Now())
	}
	if p.IsTerminating() {
		o.since = p.DeletedBy.Time
	}
	if o.isSlow && v.CanRead(f, inspect.PartEvents) {
		o.hasEvents = true
		if e := f.StartWarning(p); e != nil {
			o.isWarned, o.reason, o.message = true, e.Reason, e.Message
		}
	}
	if o.isUnbound {
		o.message = f.PodMessage(p)
	}
	if p.IsGated() {
		o.gates = p.Gates
	}
	return o
}

// neededUnconfirmed returns the Pods of a mirror that nothing shows to run, nil if other Pods replace them. A
// Job with podReplacementPolicy Failed gets no other Pods until they have ended.
func neededUnconfirmed(j *inspect.Job, pods []*inspect.Pod) (found []*inspect.Pod) {
	others := int32(0)
	for _, p := range pods {
		switch {
		case p.IsUnconfirmed():
			found = append(found, p)
		case p.IsOpen() && !p.IsTerminating():
			others++
		}
	}
	if others > 0 && (!j.Row().IsJob() || others >= j.PodsWanted()) {
		return nil
	}
	return found
}

// missingPods returns the obstacle of a mirror of which only a part of the Pods can be created, nil if
// no Pod is missing.
func missingPods(v *view.View, f *inspect.Facts, j *inspect.Job, latest time.Time) *obstacle {
	if !v.CanRead(f, inspect.PartEvents) || j.StartTime == nil {
		return nil
	}
	s := f.PodShortage(j)
	if s == nil {
		return nil
	}
	return &obstacle{reason: s.Warning.Reason, message: s.Warning.Message, since: view.Latest(j.StartTime.Time, latest), shortage: s, mild: true}
}

// ease ranks how likely an obstacle passes without intervention: a missing
// object stays missing (0), a node may still join, a volume be attached or a gate be removed (1), and a
// slow start has no known cause (2).
func (b *obstacle) ease() int {
	switch {
	case b.isSlow && !b.isWarned:
		return 2
	case b.needsNode(), b.needsTime(), len(b.gates) > 0:
		return 1
	}
	return 0
}

// hasPodsNow reports whether an object has Pods now, according to its status.
func hasPodsNow(j *inspect.Job) bool {
	return j.Active > 0 || j.Status == delegation.Running && !j.Row().IsJob()
}

// needsNode reports whether a Pod has no node, although no object that it names is missing.
func (b *obstacle) needsNode() bool {
	kind, _ := missingIn(b.message)
	return b.reason == corev1.PodReasonUnschedulable && kind == "" && !b.isUnbound && claimIn(b.message) == ""
}

// needsTime reports whether nothing that a Pod names is known to be missing, so that its node may still
// start it.
func (b *obstacle) needsTime() bool {
	kind, _ := missingIn(b.message)
	return b.isSlow && kind == ""
}

// isHindered reports whether a Pod cannot start, or has lost its node. It is false for a Pod that
// is only slow.
func isHindered(p *inspect.Pod) bool {
	if p.IsGated() {
		return true
	}
	switch p.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
		"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return true
	case corev1.PodReasonUnschedulable, inspect.NodeGone:
		return true
	}
	return false
}

// refusedPods returns the obstacle of a mirror whose Pods cannot be created,
// nil if no warning reports one.
func refusedPods(v *view.View, f *inspect.Facts, j *inspect.Job, latestPod time.Time) *obstacle {
	warning, _ := v.LastWarning(f, j)
	if warning == nil || !warning.Time.After(latestPod) {
		return nil
	}
	var since time.Time
	switch warning.Reason {
	case inspect.FailedCreate:
		if j.StartTime == nil {
			return nil
		}
		since = view.Latest(j.StartTime.Time, latestPod)
	case "FailedWorkloadCompilation", "FailedWorkloadCreate":
		// The objects that group its Pods are created before them, and before
		// startTime is set (kubernetes:
		// pkg/controller/job/job_scheduling_manager.go, since 1.37). A Job that
		// has since started or changed may no longer have the problem.
		since = view.Latest(j.CreationTimestamp.Time, view.TimeOf(j.SpecWrittenAt))
		if j.StartTime != nil || warning.Time.Before(since) {
			return nil
		}
	default:
		return nil
	}
	return &obstacle{reason: warning.Reason, message: warning.Message, since: since}
}
