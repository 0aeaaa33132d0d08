package running

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
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
					j := m.Job
					if !m.Current || j.Suspended || !j.IsOpen() {
						continue
					}
					if b := obstacleOf(v, j); b != nil {
						v.Report(b.sighting(v, p.Origin, j))
					}
				}
			}
		},
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
	// isSlow is whether nothing is known to be wrong, but the start takes long.
	isSlow bool
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
	var latest time.Time
	for _, p := range pods {
		latest = view.Latest(latest, p.CreationTimestamp.Time)
		if p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed {
			continue
		}
		unfinished++
		o := &obstacle{reason: p.Reason, message: p.Message, since: cmp.Or(p.Changed, p.CreationTimestamp).Time, pod: p.Name, isSlow: isCreating(p)}
		if isHindered(p) || o.isSlow && v.Age(j.Context, o.since) >= creationTime {
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
// object stays missing (0), a node may still join (1), and a slow start has no
// known cause (2).
func (b *obstacle) ease() int {
	switch {
	case b.isSlow:
		return 2
	case isJustUnscheduled(b.reason, b.message):
		return 1
	}
	return 0
}

// hasPodsNow reports whether an object has Pods now, according to its status.
func hasPodsNow(j *inspect.Job) bool {
	return j.Active > 0 || j.Status == delegation.Running && !j.Row().IsJob()
}

// isJustUnscheduled reports whether a Pod has no node, although no object
// that it names is missing.
func isJustUnscheduled(reason, message string) bool {
	kind, _ := missingIn(message)
	return reason == corev1.PodReasonUnschedulable && kind == ""
}

// isHindered reports whether a Pod cannot start. It is false for a Pod that
// is only slow.
func isHindered(p *inspect.Pod) bool {
	switch p.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
		"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return true
	case corev1.PodReasonUnschedulable:
		return true
	}
	return false
}

// isCreating reports whether a Pod has a node that is creating its
// containers.
func isCreating(p *inspect.Pod) bool {
	return p.Phase == corev1.PodPending && (p.Reason == "ContainerCreating" || p.Reason == "PodInitializing")
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

func (b *obstacle) sighting(v *view.View, origin, mirror *inspect.Job) view.Sighting {
	kind, name := missingIn(b.message)
	s := view.Sighting{
		Object: view.Of(origin), Since: v.On(origin.Context, mirror.Context, b.since), Jobs: []*inspect.Job{origin},
		Cause: strings.Join([]string{"pods", mirror.Context, mirror.Namespace, kind, cmp.Or(name, b.reason+" "+withoutPod(b.message))}, "/"),
	}
	cause := strings.TrimSuffix(b.reason+": "+b.message, ": ")
	if b.pod == "" {
		s.Message = fmt.Sprintf("its mirror on %s cannot create Pods: %s", mirror.Context, b.message)
		s.Evidence = []string{
			fmt.Sprintf("%s: %s has had no Pods since %s; its last warning is %s", mirror.Context, view.Of(mirror).String(), quote.Time(b.since), cause),
		}
		s.Remedy = command.Say("check what rejects them: %s", advice.KubectlJob(mirror, "describe"))
		if b.shortage != nil {
			missing := fmt.Sprintf("%d of %d Pods", b.shortage.Missing, b.shortage.Wanted)
			s.Message = fmt.Sprintf("%s of its mirror on %s cannot be created: %s", missing, mirror.Context, b.shortage.Why())
			s.Evidence = []string{
				fmt.Sprintf("%s: %s of %s have been missing since %s; its last warning is %s", mirror.Context, missing, view.Of(mirror).String(), quote.Time(b.since), cause),
			}
		}
	} else {
		s.Message = fmt.Sprintf("%s of its mirror on %s cannot start: %s", inspect.Count(b.count, "Pod"), mirror.Context, cause)
		s.Evidence = []string{
			fmt.Sprintf("%s: Pod %s/%s has waited since %s, %s", mirror.Context, mirror.Namespace, b.pod, quote.Time(b.since), cause),
		}
		s.Remedy = command.Say("check what is missing: %s, and provide it on %s", command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod), mirror.Context)
	}
	switch kind {
	case "":
		if quota := quotaIn(b.message); quota != "" && b.pod == "" {
			s.Remedy = command.Say("raise ResourceQuota %s in namespace %s of %s, or free what it counts: %s", quota, mirror.Namespace, mirror.Context,
				command.Kubectl(mirror.Context, mirror.Namespace, "describe", "resourcequota", quota))
		}
	case "serviceaccount":
		s.Remedy = command.Kubectl(mirror.Context, mirror.Namespace, "create", "serviceaccount", name).Prose()
	default:
		s.Remedy = command.Say("create %s %s in namespace %s of %s, like the one on %s, if it exists there: %s",
			kind, name, mirror.Namespace, mirror.Context, origin.Context, command.Kubectl(origin.Context, origin.Namespace, "get", kind, name, "-o", "yaml"))
	}
	s.Evidence = append(s.Evidence, quotePodCounts(origin))
	if isJustUnscheduled(b.reason, b.message) {
		s.GracePeriod = noNode
		s.Message = fmt.Sprintf("the scheduler of %s finds no node for %s of its mirror: %s", mirror.Context, inspect.Count(b.count, "Pod"), b.message)
		s.Remedy = b.findNode(v, mirror)
	}
	if b.isSlow {
		s.GracePeriod = noNode
		s.Message = fmt.Sprintf("%s of its mirror on %s not started, without a stated reason: %s", inspect.Count(b.count, "Pod"), mirror.Context, cause)
		s.Remedy = command.Say("check what their node waits for, such as an image or a volume: %s", command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod))
	}
	if b.mild {
		s.Severity = inspect.Warning
	}
	return s
}

// missingIn returns the object that a message reports as missing, "" if there
// is none. Anyone can write the message, in an Event, or the name, in a Pod
// template, so names that are invalid are ignored.
func missingIn(message string) (kind, name string) {
	found := regexp.MustCompile(`(?i)\b(serviceaccount|secret|configmap|persistentvolumeclaim|runtimeclass) "([^"]+)" not found`).FindStringSubmatch(message)
	if len(found) == 0 || !view.IsName(found[2]) {
		return "", ""
	}
	return strings.ToLower(found[1]), found[2]
}

// quotaIn returns the ResourceQuota that a message reports as exceeded, "" if there is none.
func quotaIn(message string) string {
	found := regexp.MustCompile(`\bexceeded quota: ([^ ,]+),`).FindStringSubmatch(message)
	if len(found) == 0 || !view.IsName(found[1]) {
		return ""
	}
	return found[1]
}

// withoutPod returns a message without the name of its Pod, so that messages
// with one cause are equal.
func withoutPod(message string) string {
	return regexp.MustCompile(`pods? "[^"]*" `).ReplaceAllString(message, "")
}
