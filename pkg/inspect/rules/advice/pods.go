package advice

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
)

// ThenCreateAgain returns how the Pods of an origin, nil if unknown, get another template after a change of its
// manifest.
func ThenCreateAgain(origin *inspect.Job) command.Prose {
	if origin == nil {
		return "and create that again"
	}
	return "then " + CreateAgain(origin)
}

// EndFailures returns what ends the failures of a Job's Pods: more memory, if all of them lacked memory. Otherwise, it
// returns how to read their logs.
func EndFailures(j *inspect.Job, failures *inspect.PodFailures) command.Prose {
	if failures == nil {
		return ReadLogs(j, "")
	}
	container, isHidden := failures.Container()
	if failures.LackMemory() {
		return moreMemory(j, container)
	}
	if !isHidden {
		container = ""
	}
	return ReadLogs(j, container)
}

// ReadLogs returns how to read the logs of a Job's Pods. container is "" for the container that the command chooses.
func ReadLogs(j *inspect.Job, container string) command.Prose {
	logs := Plugin("logs", j)
	if container == "" || !view.IsName(container) || j.Row().Steps != "" {
		return command.Say("read the logs of its Pods: %s", logs)
	}
	return command.Say("read the logs of container %s of its Pods: %s", container, logs.With("-c", container))
}

// moreMemory returns how the Pods of a Job get more memory. container is "" if several containers lack it.
func moreMemory(j *inspect.Job, container string) command.Prose {
	what := "the memory limits of the containers"
	if view.IsName(container) {
		what = "the memory limit of container " + container
	}
	if j.IsMirror() {
		return command.Say("raise %s in its origin, %s", what, ThenCreateAgain(nil))
	}
	return command.Say("raise %s in the manifest, %s", what, ThenCreateAgain(j))
}

// AcceptPods returns how the API server accepts the Pods of a mirror that it refused, according to the message of a
// controller. origin is nil if it is unknown. ok is false if the message is no refusal with a known fix.
func AcceptPods(origin, mirror *inspect.Job, message string) (fix command.Prose, ok bool) {
	target := refusal.Target{
		Context: mirror.Context, Namespace: mirror.Namespace, Subject: "manifest of the origin", Rejected: "the Pods", ArePods: true, Again: ThenCreateAgain(origin),
	}
	if origin != nil {
		target.Subject = "manifest of the " + origin.Kind
	}
	r, isRefused := target.InEvent(message)
	if isRefused && r.Name != "" && !view.IsName(r.Name) {
		// Anyone can write the message.
		r = target.Unknown(message)
	}
	return r.Remedy, isRefused && r.Remedy != ""
}
