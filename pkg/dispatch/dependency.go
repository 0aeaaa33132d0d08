package dispatch

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Dependency is an object that a mirror's pods need, and that is copied from the
// origin's cluster.
type Dependency struct {
	// Kind is "ConfigMap" or "Secret".
	Kind string
	// Namespace and Name are where it is on the origin's cluster; on the worker it
	// has the mirror's namespace and the same name.
	Namespace, Name string
}

// CopyDependencies copies objects to the worker, into the namespace of the
// planned mirror, with our marks. What is there already with the marks of the
// same origin is left alone; what is there without is an error. It returns those
// that it created, also beside an error.
func CopyDependencies(ctx context.Context, origin, worker *Side, planned *unstructured.Unstructured, d []Dependency) ([]Dependency, error) {
	return nil, nil
}

// AdoptDependencies makes the mirror the owner of everything that was copied for
// it, so that the worker's garbage collector removes it with the mirror.
func AdoptDependencies(ctx context.Context, worker *Side, mirror *unstructured.Unstructured) error {
	return nil
}

// DropDependencies deletes what was copied for a mirror that was not created
// after all.
func DropDependencies(ctx context.Context, worker *Side, planned *unstructured.Unstructured, d []Dependency) error {
	return nil
}
