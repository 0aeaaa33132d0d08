package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Preflight finds out what would keep Jobs of one cluster from running on
// another. It remembers what it has asked, so that many Jobs cost little more than
// one; who wants to know what has changed since makes another. Any number of
// Checks may run at the same time.
type Preflight struct {
	// Origin and Worker are the clusters.
	Origin, Worker *apiserver.Side
	// Dependencies say what may be copied to the worker.
	Dependencies DependencyOptions

	ofOrigin, ofWorker memo
	// named are the names of Secrets that pods refer to.
	named sync.Map
}

// DependencyOptions say what else is copied to the worker, if it is missing
// there.
type DependencyOptions struct {
	// ConfigMaps is whether those that the pods name are copied.
	ConfigMaps bool
	// Secrets are the names of those that may be copied.
	Secrets []string
}

// allows says whether a missing object may be copied.
func (o DependencyOptions) allows(kind, name string) bool {
	if kind == kindSecret {
		return slices.Contains(o.Secrets, name)
	}
	return o.ConfigMaps
}

// Request is one Job that is to be dispatched.
type Request struct {
	// Origin is the Job as it is stored, or as it is to be created.
	Origin *unstructured.Unstructured
	// Create is whether it is to be created.
	Create bool
	Plan   *plan.Plan
}

// Check looks at everything and returns all problems there are, those of the
// origin's side first, and the objects that have to be copied before the mirror
// is created, or adopted by it: also those that another mirror's copies of are
// there already. It creates nothing. Where the mirror is there already, what its
// pods lack are warnings. The error is for a cluster that cannot be asked at all.
//
// What a server does not let the user see is a warning that it could not be
// checked.
func (p *Preflight) Check(ctx context.Context, r Request) ([]Problem, []Dependency, error) {
	c := &check{
		Preflight: p, Request: r, kind: object.OrJob(r.Plan.Kind), mirror: r.Plan.Mirror,
		origin: probe{p.Origin, &p.ofOrigin}, worker: probe{p.Worker, &p.ofWorker},
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
		if ref.kind == kindSecret {
			p.named.Store(ref.name, true)
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
func (p *Preflight) UnusedSecrets() []string {
	var unused []string
	for _, name := range p.Dependencies.Secrets {
		if _, ok := p.named.Load(name); !ok {
			unused = append(unused, name)
		}
	}
	return unused
}

// check is the work of one Check.
type check struct {
	*Preflight
	Request
	origin, worker probe

	kind   delegation.Kind
	mirror *unstructured.Unstructured
	// templates are those that its pods are made from.
	templates  []pods
	references []reference
	// wrapped are the objects that the mirror's controller makes of what the mirror
	// holds, as "Kind name".
	wrapped map[string]bool
	// dependencies is set by workerSide.
	dependencies []Dependency
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
	for i, p := range []probe{c.origin, c.worker} {
		if failures[i] != nil {
			failures[i] = fleet.InContext(p.Context, "ask the API server for its version", failures[i])
		}
	}
	return errors.Join(failures[:]...)
}
