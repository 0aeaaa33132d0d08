package kueue

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

// Lookup finds the objects of Kueue on one cluster by name. Each function returns nil without an
// error for an object that does not exist, and an error if that is unknown.
type Lookup struct {
	LocalQueue   func(namespace, name string) (*LocalQueue, error)
	ClusterQueue func(name string) (*ClusterQueue, error)
	Check        func(name string) (*AdmissionCheck, error)
}

// Found is the result of a lookup.
type Found[T any] struct {
	// Object is nil if it does not exist, or if Unread is set.
	Object *T
	// Unread is why it is unknown whether the object exists.
	Unread error
}

// IsMissing reports whether the object certainly does not exist.
func (f Found[T]) IsMissing() bool { return f.Object == nil && f.Unread == nil }

func newFound[T any](o *T, err error) Found[T] { return Found[T]{o, err} }

// MissingError means that nothing is known beyond an object that does not exist.
type MissingError struct{ Kind, Namespace, Name string }

// Error names the object.
func (e *MissingError) Error() string {
	return delegation.Named(e.Kind, e.Namespace, e.Name) + " does not exist"
}

// Route is where a LocalQueue submits its Workloads.
type Route struct {
	Local Found[LocalQueue]
	// Cluster is unread if Local was not found.
	Cluster Found[ClusterQueue]
}

// Route follows a LocalQueue to its ClusterQueue. It looks up no check.
func (l Lookup) Route(namespace, name string) Route {
	local := newFound(l.LocalQueue(namespace, name))
	switch {
	case local.Object != nil:
		return l.RouteFrom(local.Object)
	case local.Unread != nil:
		return Route{Local: local, Cluster: Found[ClusterQueue]{Unread: local.Unread}}
	}
	return Route{Cluster: Found[ClusterQueue]{Unread: &MissingError{Kind: "LocalQueue", Namespace: namespace, Name: name}}}
}

// RouteFrom follows an existing LocalQueue to its ClusterQueue.
func (l Lookup) RouteFrom(local *LocalQueue) Route {
	return Route{Local: newFound(local, nil), Cluster: newFound(l.ClusterQueue(local.Spec.ClusterQueue))}
}

// MultiKueue finds the check by which a ClusterQueue gives its Workloads to MultiKueue. The check
// is missing only if the queue names none of MultiKueue. If the queue names a check that was not read
// or does not exist, its controller is unknown, so the result is unread.
func (l Lookup) MultiKueue(q *ClusterQueue) Found[AdmissionCheck] {
	var unread error
	for _, name := range q.Checks() {
		check, err := l.Check(name)
		switch {
		case check != nil && check.IsMultiKueue():
			return newFound(check, nil)
		case check == nil && err == nil:
			err = &MissingError{Kind: "AdmissionCheck", Name: name}
		}
		if unread == nil {
			unread = err
		}
	}
	return newFound[AdmissionCheck](nil, unread)
}
