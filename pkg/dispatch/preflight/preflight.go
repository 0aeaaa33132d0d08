// Package preflight finds out, before anything is created, what would keep a planned mirror
// from running, or its status from being written back: it asks both clusters what they
// serve, allow, have and would refuse, and returns all of it as Problems, each with what
// to do about it.
//
// It writes nothing: what it tries, it tries as a dry run. What comes after it, it does
// not know.
package preflight

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Checker finds out what would keep Jobs of one cluster from running on
// another. It remembers what it has asked, so that many Jobs cost little more than
// one; who wants to know what has changed since makes another. Any number of
// Checks may run at the same time.
type Checker struct {
	// Origin and Worker are the clusters.
	Origin, Worker *fleet.Cluster
	// Dependencies say what may be copied to the worker.
	Dependencies dependency.Options

	ofOrigin, ofWorker memo
	// named are the names of Secrets that pods refer to.
	named sync.Map
	// first is the one that remembers what the origin's side has answered, and what pods
	// refer to; nil is this one.
	first *Checker
}

// Beside makes a Checker for another worker that asks the origin's side nothing which this
// one has asked it.
func (p *Checker) Beside(worker *fleet.Cluster) *Checker {
	return &Checker{Origin: p.Origin, Worker: worker, Dependencies: p.Dependencies, first: p.root()}
}

func (p *Checker) root() *Checker {
	if p.first != nil {
		return p.first
	}
	return p
}

// Request is one Job that is to be dispatched.
type Request struct {
	// Origin is the Job as it is stored, or as it is to be created.
	Origin *unstructured.Unstructured
	// Create is whether it is to be created.
	Create bool
	// Plan is the mirror, which Check only looks at.
	Plan *plan.Plan
}

// Check looks at everything and returns all problems there are, those of the
// origin's side first, and the objects that have to be copied before the mirror
// is created, or adopted by it: also those that another mirror's copies of are
// there already. It creates nothing. Where the mirror is there already, what its
// pods lack are warnings. The error is for a cluster that cannot be asked at all.
//
// What a server does not let the user see is a warning that it could not be
// checked.
func (p *Checker) Check(ctx context.Context, r Request) ([]Problem, []dependency.Object, error) {
	c := &check{
		Checker: p, Request: r, kind: object.OrJob(r.Plan.Kind), mirror: r.Plan.Mirror,
		origin: Probe{p.Origin, &p.root().ofOrigin}, worker: Probe{p.Worker, &p.ofWorker},
	}
	if err := c.reach(ctx); err != nil {
		return nil, nil, err
	}
	if c.kind.IsJob() {
		if _, err := object.TypedJob(c.mirror); err != nil {
			//nolint:nilerr // It is a problem of the Job, not of Check.
			return []Problem{{Context: p.Origin.Context, Blocking: true, Message: err.Error()}}, nil, nil
		}
	}
	unread := c.readTemplates()
	for _, ref := range c.references {
		if ref.kind == dependency.Secret {
			p.root().named.Store(ref.name, true)
		}
	}
	problems := together(ctx, c.originSide, c.workerSide)
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	return c.withoutWrapped(append(unread, problems...)), c.dependencies, nil
}

// UnusedSecrets are the names among Dependencies.Secrets that the pods of no Job
// refer to of those that were checked: very likely misspelt.
func (p *Checker) UnusedSecrets() []string {
	var unused []string
	for _, name := range p.Dependencies.Secrets {
		if _, ok := p.root().named.Load(name); !ok {
			unused = append(unused, name)
		}
	}
	return unused
}

// check is the work of one Check.
type check struct {
	*Checker
	Request
	origin, worker Probe

	kind   delegation.Kind
	mirror *unstructured.Unstructured
	// templates are those that its pods are made from.
	templates  []pods
	references []reference
	// wrapped are the objects that the mirror's controller makes of what the mirror
	// holds, as "Kind name".
	wrapped map[string]bool
	// dependencies is set by workerSide.
	dependencies []dependency.Object
}

// namespace is the mirror's.
func (c *check) namespace() string { return c.mirror.GetNamespace() }

// reach asks both clusters for their versions, which everybody may.
func (c *check) reach(ctx context.Context) error {
	var failures [2]error
	together(ctx, func(ctx context.Context) []Problem {
		_, failures[0] = c.origin.version(ctx)
		return nil
	}, func(ctx context.Context) []Problem {
		_, failures[1] = c.worker.version(ctx)
		return nil
	})
	for i, p := range []Probe{c.origin, c.worker} {
		if failures[i] != nil {
			failures[i] = kubecontext.InContext(p.Context, "ask the API server for its version", failures[i])
		}
	}
	return errors.Join(failures[:]...)
}
