// Package rights has the table of rights that each command needs. Roles and their documentation
// are generated from it, preflight checks it, and tests compare it with the requests of commands.
// It is pure.
package rights

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is where a right has to be granted.
type Scope int

// The scopes.
const (
	// InNamespaces is for the namespaces of the Jobs: one, or all.
	InNamespaces Scope = iota
	// InCluster is for cluster-scoped objects.
	InCluster
	// InKueue is for the namespace of Kueue.
	InKueue
)

// Right is a right on one resource.
type Right struct {
	Scope Scope
	// Resource may be a subresource, such as "jobs/status".
	Resource schema.GroupResource
	// Verbs are the needed verbs.
	Verbs []string
	// Names limit the right to objects with these names; none means any object.
	Names []string
	// Without says what is missing without the right, as a part of a sentence for people.
	Without string
	// IsOptional is whether the commands fulfil their purpose without it.
	IsOptional bool
}

// Task is something that users want to do.
type Task struct {
	// Name is the name of the role and its file.
	Name string
	// Title is the purpose. Where says on which clusters it is needed.
	Title, Where string
	// Needs are the names of tasks whose rights are included.
	Needs  []string
	Rights []Right
}

// Find returns the task with a name. ok is false if there is none.
func Find(name string) (t Task, ok bool) {
	all := Tasks()
	i := slices.IndexFunc(all, func(t Task) bool { return t.Name == name })
	if i < 0 {
		return Task{}, false
	}
	return all[i], true
}

// Of returns the rights of a task, including those of the tasks in Needs.
func Of(name string) (all []Right) {
	t, ok := Find(name)
	if !ok {
		return nil
	}
	for _, other := range t.Needs {
		all = append(all, Of(other)...)
	}
	return append(all, t.Rights...)
}

// Verbs returns the verbs that a task requires on a resource.
func Verbs(task string, of schema.GroupResource) (verbs []string) {
	for _, r := range Of(task) {
		if r.Resource == of && !r.IsOptional {
			verbs = append(verbs, r.Verbs...)
		}
	}
	return verbs
}

func core(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }

func batch(resource string) schema.GroupResource {
	return schema.GroupResource{Group: "batch", Resource: resource}
}

func kueue(resource string) schema.GroupResource {
	return schema.GroupResource{Group: "kueue.x-k8s.io", Resource: resource}
}

// pending returns the resource with which Kueue reports pending Workloads.
func pending(queues string) schema.GroupResource {
	return schema.GroupResource{Group: "visibility.kueue.x-k8s.io", Resource: queues + "/pendingworkloads"}
}

func leases() schema.GroupResource {
	return schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}
