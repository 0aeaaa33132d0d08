package dispatch

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Preflight finds out what would keep Jobs of one cluster from running on
// another. It remembers what it has asked, so that many Jobs cost little more than
// one.
type Preflight struct {
	// Origin and Worker are the clusters.
	Origin, Worker *Side
	// Dependencies say what may be copied to the worker.
	Dependencies DependencyOptions
}

// DependencyOptions say what else is copied to the worker, if it is missing
// there.
type DependencyOptions struct {
	// ConfigMaps is whether those that the pods name are copied.
	ConfigMaps bool
	// Secrets are the names of those that may be copied.
	Secrets []string
}

// Request is one Job that is to be dispatched.
type Request struct {
	// Origin is the Job as it is stored, or as it is to be created.
	Origin *unstructured.Unstructured
	// Create is whether it is to be created.
	Create bool
	Plan   *Plan
}

// Check looks at everything and returns all problems there are, those of the
// origin's side first, and the objects that have to be copied before the mirror
// is created. It creates nothing. The error is for a cluster that cannot be asked
// at all.
func (p *Preflight) Check(ctx context.Context, r Request) ([]Problem, []Dependency, error) {
	return nil, nil, nil
}
