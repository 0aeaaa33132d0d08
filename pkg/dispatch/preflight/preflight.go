// Package preflight finds, before anything is created, what would keep a planned mirror from
// running, or its status from being copied. It asks both clusters what they serve, allow, have
// and would refuse, and returns Problems with their fixes.
//
// It writes nothing: it tries objects in dry runs. It does not know the later steps.
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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Checker finds what would keep Jobs of one cluster from running on another. It caches all
// answers, so that many Jobs cost little more than one. To see later changes, use a new Checker.
// Checks may run concurrently.
type Checker struct {
	// Origin and Worker are the clusters.
	Origin, Worker *fleet.Cluster
	// Dependencies select what may be copied to the worker.
	Dependencies dependency.Options

	ofOrigin, ofWorker memo
	// named are the names of Secrets to which Pods refer.
	named sync.Map
	// first is the Checker that holds the answers of the origin's cluster and named; nil means
	// this one.
	first *Checker
}

// ForWorker returns a Checker for another worker that shares the answers of the origin's cluster.
func (p *Checker) ForWorker(worker *fleet.Cluster) *Checker {
	return &Checker{Origin: p.Origin, Worker: worker, Dependencies: p.Dependencies, first: p.root()}
}

func (p *Checker) root() *Checker {
	if p.first != nil {
		return p.first
	}
	return p
}

// Request is one Job to dispatch.
type Request struct {
	// Origin is the Job as it is stored, or as it will be created.
	Origin *unstructured.Unstructured
	// Create is whether the Job will be created.
	Create bool
	// Plan is the mirror. Check does not change it.
	Plan *plan.Plan
}

// Check runs all checks and returns all Problems, those of the origin's cluster first. It also
// returns the dependencies to copy before the mirror is created; existing copies of another
// mirror are included, because this mirror has to become an owner, too. It creates nothing. If
// the mirror already exists, missing dependencies are warnings. The error means that a cluster
// does not answer at all.
//
// For objects that the user has no right to read, it returns a warning that they could not be
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
	problems := runConcurrently(ctx, c.originSide, c.workerSide)
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	return c.withoutWrapped(append(unread, problems...)), c.dependencies, nil
}

// UnusedSecrets returns the names in Dependencies.Secrets to which no Pod of a checked Job
// refers. These are most likely typos.
func (p *Checker) UnusedSecrets() []string {
	var unused []string
	for _, name := range p.Dependencies.Secrets {
		if _, ok := p.root().named.Load(name); !ok {
			unused = append(unused, name)
		}
	}
	return unused
}

// check is the state of one Check.
type check struct {
	*Checker
	Request
	origin, worker Probe

	kind   delegation.Kind
	mirror *unstructured.Unstructured
	// templates are the templates of its Pods.
	templates  []pods
	references []reference
	// wrapped are the objects that the mirror's controller creates from the mirror.
	wrapped map[podtemplate.Ref]bool
	// dependencies is set by workerSide.
	dependencies []dependency.Object
}

// namespace returns the mirror's namespace.
func (c *check) namespace() string { return c.mirror.GetNamespace() }

// reach requests the versions of both clusters, for which every user has the right.
func (c *check) reach(ctx context.Context) error {
	var failures [2]error
	runConcurrently(ctx, func(ctx context.Context) []Problem {
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
