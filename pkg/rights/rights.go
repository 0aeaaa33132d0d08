// Package rights tells what somebody has to be allowed to do for which commands: one table,
// of which roles and their documentation are made, by which preflight asks, and which tests
// hold against the requests that commands send. Pure.
package rights

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is where a right has to be granted.
type Scope int

// The scopes.
const (
	// InNamespaces is in the namespaces of the Jobs: in one, or in all.
	InNamespaces Scope = iota
	// InCluster is for what is in no namespace.
	InCluster
	// InKueue is in the namespace that Kueue runs in.
	InKueue
)

// Right is what has to be allowed with one resource.
type Right struct {
	Scope Scope
	// Resource may be a subresource, such as "jobs/status".
	Resource schema.GroupResource
	// Verbs are what is done with it.
	Verbs []string
	// Names are the only objects that it is done with; none if it is with any.
	Names []string
	// Without is what there is not without it, as people are told: a part of a sentence.
	Without string
	// IsOptional is whether the commands do what they are for without it.
	IsOptional bool
}

// Task is something that people want to do.
type Task struct {
	// Name is that of the role and its file.
	Name string
	// Title says what it is for, and Where on which clusters it is needed.
	Title, Where string
	// Needs are the names of other tasks that it builds on.
	Needs  []string
	Rights []Right
}

// Find returns the task of a name; it is not ok if there is none.
func Find(name string) (t Task, ok bool) {
	all := Tasks()
	i := slices.IndexFunc(all, func(t Task) bool { return t.Name == name })
	if i < 0 {
		return Task{}, false
	}
	return all[i], true
}

// Of are the rights of a task, with those that it builds on.
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

// Verbs are those that a task cannot do without on a resource.
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

// pending is what Kueue itself tells of those that wait in a queue.
func pending(queues string) schema.GroupResource {
	return schema.GroupResource{Group: "visibility.kueue.x-k8s.io", Resource: queues + "/pendingworkloads"}
}

func leases() schema.GroupResource {
	return schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}
