package kueue

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"

// Kubectl is a command of kubectl's with a verb for an object of Kueue's. Of objects that
// have no namespace, that is "".
func Kubectl(context, verb, kind, namespace, name string) command.Command {
	return command.Kubectl(context, namespace, verb, Resource(kind), name)
}

// Patch is the command that gives a field of an object of Kueue's a value.
func Patch(context, kind, namespace, name string, value any, path ...string) command.Command {
	return Kubectl(context, "patch", kind, namespace, name).With("--type", "merge", "-p", command.Patch(value, path...))
}

// Activate is the command that has Kueue take up a Workload again.
func Activate(context string, w *Workload) command.Command {
	return Patch(context, "Workload", w.Namespace, w.Name, true, "spec", "active")
}

// Resume is the command that lets a queue go on which somebody has stopped.
func Resume(context, kind, namespace, name string) command.Command {
	return Patch(context, kind, namespace, name, "None", "spec", "stopPolicy")
}
