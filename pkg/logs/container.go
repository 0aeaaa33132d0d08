package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// stepsOf returns the names of containers that each do a part of a target's work; none if the
// target's kind has no such containers.
func stepsOf(t Target, containers []string) []string {
	prefix := t.Job.Row().Steps
	if prefix == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(containers), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// choose returns the names of a Pod's containers that the options select; none if it has no
// container of the wanted name.
func (r *Reader) choose(t Target, p *corev1.Pod) []string {
	all := inspect.Containers(p)
	steps := stepsOf(t, all)
	switch {
	case r.AllContainers:
		return all
	case r.Container == "" && len(steps) > 0:
		return steps
	case r.Container == "" && len(p.Spec.Containers) > 0:
		chosen := inspect.DefaultContainer(p)
		if len(all) > 1 {
			names := strings.Join(all, ", ")
			r.noteOnce("default "+chosen+" of "+names, fmt.Sprintf("note: defaulted container %q out of: %s. Choose another with -c, or all with --all-containers", chosen, names))
		}
		return []string{chosen}
	case slices.Contains(all, r.Container):
		return []string{r.Container}
	}
	return nil
}

// run identifies a run of a container in its Pod.
type run struct {
	// id is the runtime's ID, or "".
	id string
	// number is the restart count.
	number int32
}

func (r run) equals(other run) bool {
	if r.id != "" && other.id != "" {
		return r.id == other.id
	}
	return r.number == other.number
}

// state is the state of a container.
type state struct {
	// run is the run whose log is served. hasLog is whether there is one.
	run    run
	hasLog bool
	// isRunning is whether the run may still write.
	isRunning bool
	// reason is why the container does not run, unless it is only starting. message explains it.
	reason, message string
}

// stateOf returns the state of a container. A kubelet serves the log of the current run or, if
// there is none, of the last one that ended (kubernetes: pkg/kubelet/kubelet_pods.go,
// validateContainerLogStatus).
func stateOf(p *corev1.Pod, name string) state {
	status := statusOf(p, name)
	if status == nil {
		return state{}.because(unscheduled(p))
	}
	s := state{run: run{number: status.RestartCount}}
	last := status.LastTerminationState.Terminated
	switch now := status.State; {
	case now.Running != nil:
		s.hasLog, s.isRunning, s.run.id = true, !isFinal(p), status.ContainerID
	case now.Terminated != nil:
		s.hasLog, s.run.id = true, now.Terminated.ContainerID
		if s.run.id == "" && last != nil {
			s.run.id = last.ContainerID
		}
	default:
		if last != nil {
			s.hasLog, s.run.id = true, last.ContainerID
		}
		if now.Waiting != nil {
			s = s.because(now.Waiting.Reason, now.Waiting.Message)
		}
	}
	return s
}

// hasPrevious reports whether a container was restarted, so that an earlier run has a log.
func hasPrevious(p *corev1.Pod, name string) bool {
	status := statusOf(p, name)
	return status != nil && status.LastTerminationState.Terminated != nil
}

// because adds the reason for not running, unless the container is only starting.
func (s state) because(reason, message string) state {
	switch reason {
	case "ContainerCreating", "PodInitializing":
	case "ErrImagePull":
		// These two reasons alternate.
		s.reason, s.message = "ImagePullBackOff", message
	default:
		s.reason, s.message = reason, message
	}
	return s
}

// why describes the reason for not running.
func (s state) why() string {
	if s.message == "" {
		return s.reason
	}
	return s.reason + ": " + s.message
}

func statusOf(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{
		p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

func unscheduled(p *corev1.Pod) (reason, message string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Reason, "Unscheduled"), c.Message
		}
	}
	return "", ""
}

// isFinal reports whether none of a Pod's containers will ever write again.
func isFinal(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
