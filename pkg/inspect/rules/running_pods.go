package rules

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
)

func podsCannotStart() Rule {
	return Rule{
		Code: "JM049", Title: "the mirror's Pods cannot start", Severity: inspect.Error,
		Holds: "the Pods of every mirror start",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods, inspect.PartEvents},
		// A controller that says what it is refused is at work, though it writes no status.
		Covers: []string{"JM121"},
		Why: `Only the Job is copied to the worker, and nothing of what its pods refer to: a ServiceAccount, Secrets,
ConfigMaps, PersistentVolumeClaims, a RuntimeClass, an image that is pulled from within the management cluster. Where one
of them is missing on the worker, the pods cannot be created, or their containers cannot start. The origin tells none of
that; its status is that of a Job that is about to start. Kueue evicts it after half an hour by default, and offers it
again.`,
		Shows: `Pods of the mirror wait with a reason such as ImagePullBackOff or CreateContainerConfigError, or have
had no node, or no containers, for more than ten minutes (or at all, with --grace 0s); or the mirror has no pods, and its last warning is FailedCreate,
or, from Kubernetes 1.37 on, FailedWorkloadCompilation or FailedWorkloadCreate.`,
		Remedy: `Create on the worker what is missing there, as it is on the management cluster. The pods then start by
themselves.`,
		Link: "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
		Detect: func(v *View) {
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
	// since is by the clock of the mirror's cluster.
	since time.Time
	// pod is one that it keeps from starting, "" if it keeps pods from being made.
	pod   string
	count int
	mild  bool
	// isSlow is whether nothing is known to be wrong, but that it takes so long.
	isSlow bool
}

// beingMade is how long a container may take to be made, its image pulled and its volumes
// mounted, before that is told where everything is to be told.
const beingMade = time.Minute

// noNode is how long a pod may have no node before that is told, unless everything is
// to be told: new nodes take some minutes to come up.
const noNode = 10 * time.Minute

// obstacleOf finds what keeps a mirror's pods from starting, nil if nothing does,
// or that cannot be told.
func obstacleOf(v *View, j *inspect.Job) *obstacle {
	f, ok := v.Facts(j.Context)
	if !ok {
		return nil
	}
	pods, known := v.Pods(f, j)
	var waiting []*obstacle
	unfinished := 0
	var latest time.Time
	for _, p := range pods {
		latest = newest(latest, p.CreationTimestamp.Time)
		if p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed {
			continue
		}
		unfinished++
		o := &obstacle{reason: p.Reason, message: p.Message, since: cmp.Or(p.Changed, p.CreationTimestamp).Time, pod: p.Name, isSlow: isBeingMade(p)}
		if isHindered(p) || o.isSlow && v.Age(j.Context, o.since) >= beingMade {
			waiting = append(waiting, o)
		}
	}
	switch {
	case len(waiting) > 0:
		// The first of those that are worst.
		found := slices.MinFunc(waiting, func(a, b *obstacle) int { return cmp.Compare(a.hope(), b.hope()) })
		found.count = len(waiting)
		found.mild = found.count < unfinished || found.hope() > 0
		return found
	case known && unfinished == 0 && !saysItRuns(j):
		return refusedPods(v, f, j, latest)
	}
	return nil
}

// hope is how likely it passes by itself: what is missing does not come so, a node may
// still come, and of what only takes long nothing is known to be wrong.
func (b *obstacle) hope() int {
	switch {
	case b.isSlow:
		return 2
	case isJustUnscheduled(b.reason, b.message):
		return 1
	}
	return 0
}

// saysItRuns is whether an object has pods now, by its status.
func saysItRuns(j *inspect.Job) bool {
	return j.Active > 0 || j.Status == delegation.Running && !j.Row().IsJob()
}

// isJustUnscheduled says whether a pod has no node, and nothing that it names is
// missing.
func isJustUnscheduled(reason, message string) bool {
	kind, _ := missingIn(message)
	return reason == corev1.PodReasonUnschedulable && kind == ""
}

// isHindered is whether a pod cannot start; one that is just slow is not.
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

// isBeingMade is whether a pod has a node, which is making its containers.
func isBeingMade(p *inspect.Pod) bool {
	return p.Phase == corev1.PodPending && (p.Reason == "ContainerCreating" || p.Reason == "PodInitializing")
}

// refusedPods tells of a mirror whose pods cannot be made.
func refusedPods(v *View, f *inspect.Facts, j *inspect.Job, latestPod time.Time) *obstacle {
	warning, _ := v.LastWarning(f, j)
	if warning == nil || !warning.Time.After(latestPod) {
		return nil
	}
	var since time.Time
	switch warning.Reason {
	case "FailedCreate":
		if j.StartTime == nil {
			return nil
		}
		since = newest(j.StartTime.Time, latestPod)
	case "FailedWorkloadCompilation", "FailedWorkloadCreate":
		// What groups its pods comes before them, and before startTime (kubernetes:
		// pkg/controller/job/job_scheduling_manager.go, from 1.37 on). A Job that has
		// started since, or been changed, may have got over it.
		since = newest(j.CreationTimestamp.Time, timeOf(j.SpecWrittenAt))
		if j.StartTime != nil || warning.Time.Before(since) {
			return nil
		}
	default:
		return nil
	}
	return &obstacle{reason: warning.Reason, message: warning.Message, since: since}
}

func (b *obstacle) sighting(v *View, origin, mirror *inspect.Job) Sighting {
	kind, name := missingIn(b.message)
	s := Sighting{
		Object: Of(origin), Since: v.On(origin.Context, mirror.Context, b.since), Jobs: []*inspect.Job{origin},
		Cause: strings.Join([]string{"pods", mirror.Context, mirror.Namespace, kind, cmp.Or(name, b.reason+" "+withoutPod(b.message))}, "/"),
	}
	told := strings.TrimSuffix(b.reason+": "+b.message, ": ")
	if b.pod == "" {
		s.Message = fmt.Sprintf("its mirror on %s cannot create Pods: %s", mirror.Context, b.message)
		s.Evidence = []string{
			fmt.Sprintf("%s: %s has no pods since %s; its last warning is %s", mirror.Context, named(Of(mirror)), stamp(b.since), told),
		}
		s.Remedy = command.Say("see what refuses them: %s", kubectlFor(mirror, "describe"))
	} else {
		s.Message = fmt.Sprintf("%d Pods of its mirror on %s cannot start: %s", b.count, mirror.Context, told)
		s.Evidence = []string{
			fmt.Sprintf("%s: Pod %s/%s waits since %s, %s", mirror.Context, mirror.Namespace, b.pod, stamp(b.since), told),
		}
		s.Remedy = command.Say("see what is missing: %s, and provide it on %s", command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod), mirror.Context)
	}
	switch kind {
	case "":
	case "serviceaccount":
		s.Remedy = command.Kubectl(mirror.Context, mirror.Namespace, "create", "serviceaccount", name).Prose()
	default:
		s.Remedy = command.Say("create %s %s in namespace %s of %s, as it is on %s: %s",
			kind, name, mirror.Namespace, mirror.Context, origin.Context, command.Kubectl(origin.Context, origin.Namespace, "get", kind, name, "-o", "yaml"))
	}
	s.Evidence = append(s.Evidence, frozen(origin))
	if isJustUnscheduled(b.reason, b.message) {
		s.GracePeriod = noNode
		s.Message = fmt.Sprintf("the scheduler of %s finds no node for %s of its mirror: %s", mirror.Context, inspect.Count(b.count, "Pod"), b.message)
		s.Remedy = command.Say("change what the pods ask for, or add a node to %s that has it: %s", mirror.Context,
			command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod))
	}
	if b.isSlow {
		s.GracePeriod = noNode
		s.Message = fmt.Sprintf("%d Pods of its mirror on %s do not start, without a stated reason: %s", b.count, mirror.Context, told)
		s.Remedy = command.Say("see what their node waits for, such as an image or a volume: %s", command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod))
	}
	if b.mild {
		s.Severity = inspect.Warning
	}
	return s
}

// missingIn finds the object that a message says is not there. Anybody may have written
// the message, as an Event, or the name, in a pod template; what cannot be a name is none.
func missingIn(message string) (kind, name string) {
	found := regexp.MustCompile(`(?i)\b(serviceaccount|secret|configmap|persistentvolumeclaim|runtimeclass) "([^"]+)" not found`).FindStringSubmatch(message)
	if len(found) == 0 || !isName(found[2]) {
		return "", ""
	}
	return strings.ToLower(found[1]), found[2]
}

// withoutPod is a message without the pod that it tells of, so that messages of
// one cause are the same.
func withoutPod(message string) string {
	return regexp.MustCompile(`pods? "[^"]*" `).ReplaceAllString(message, "")
}
