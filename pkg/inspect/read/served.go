package read

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// AllKinds means every kind that a cluster serves.
const AllKinds = "all"

// Served returns the kinds with these names that a cluster serves, in the served version. Names are
// those that delegation.Kind.IsNamed accepts. AllKinds is every kind with managedBy, known or not.
// No name means Job, which takes no request.
//
// Served omits kinds that are not served, or are served without the field. If a part of the API
// could not be read, it returns an error as well as the kinds found. A user without rights for
// discovery gets the kinds that every cluster has.
func Served(ctx context.Context, c *fleet.Cluster, names []string) ([]delegation.Kind, error) {
	if onlyJobs(names) {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := newKindSearch(ctx, c, names)
	s.run(ctx)
	return s.kinds, s.err()
}

// across extends a query to mirrors of unknown kinds that only some clusters serve with managedBy,
// so that the others are searched for them too. It makes no requests if the query is for known
// kinds only.
func (q Query) across(ctx context.Context, f *fleet.Fleet) Query {
	if !slices.ContainsFunc(q.Kinds, isUnknown) {
		return q
	}
	q.searches = map[string]*kindSearch{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*kindSearch, error) {
		s := newKindSearch(ctx, c, q.Kinds)
		s.run(ctx)
		return s, context.Cause(ctx)
	}) {
		if s := a.Value; s != nil && a.Err == nil && s.discoveryErr == nil {
			q.searches[a.Context] = s
			q.shared = append(q.shared, slices.DeleteFunc(slices.Clone(s.kinds), func(k delegation.Kind) bool { return !k.Discovered })...)
		}
	}
	for _, s := range q.searches {
		s.addKindsOfOthers(q.shared)
	}
	return q
}

// Served returns the kinds to read from a cluster: those of the function Served, and those served
// without the field, which may have mirrors.
func (q Query) Served(ctx context.Context, c *fleet.Cluster) ([]delegation.Kind, error) {
	if q.OnlyJobs() {
		return []delegation.Kind{delegation.Job()}, nil
	}
	s := q.searches[c.Context]
	if s == nil {
		s = newKindSearch(ctx, c, q.Kinds)
		s.run(ctx)
		s.addKindsOfOthers(q.shared)
	}
	return slices.Concat(s.kinds, s.without), s.err()
}

// OnlyJobs reports whether a query is only for the kind Job.
func (q Query) OnlyJobs() bool { return onlyJobs(q.Kinds) }

// onlyJobs reports whether names mean only the kind Job.
func onlyJobs(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return name == AllKinds || !delegation.Job().IsNamed(name) })
}

// Unserved returns the names for which no cluster serves a kind. errs are the contexts that may
// serve one nevertheless, because they did not answer completely.
func Unserved(ctx context.Context, f *fleet.Fleet, names []string) (unserved []string, errs []inspect.ContextError) {
	if onlyJobs(names) || slices.Contains(names, AllKinds) {
		return nil, nil
	}
	isServed, answered := map[string]bool{}, false
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]delegation.Kind, error) { return Served(ctx, c, names) }) {
		var partial *GroupsError
		if a.Err != nil {
			errs = append(errs, inspect.NewContextError(a.Err))
		}
		answered = answered || a.Err == nil || errors.As(a.Err, &partial)
		for _, name := range names {
			isServed[name] = isServed[name] || slices.ContainsFunc(a.Value, func(k delegation.Kind) bool { return k.IsNamed(name) })
		}
	}
	for _, name := range names {
		if answered && !isServed[name] {
			unserved = append(unserved, name)
		}
	}
	return unserved, errs
}

// Schemas reads the published schemas of a cluster's kinds, each group and version once. It is not
// safe for concurrent use.
type Schemas struct {
	Discovery *fleet.Discovery

	read map[schema.GroupVersion]*delegation.Schemas
}

// noteFieldless marks kinds that the cluster serves without the managedBy field. Unless all is set,
// it checks only known kinds with queued objects without an owner, because only these need the
// field.
func noteFieldless(ctx context.Context, c *fleet.Cluster, f *inspect.Facts, all bool) {
	var schemas *Schemas
	for i := range f.Kinds {
		kind := &f.Kinds[i]
		isQueued := func(j *inspect.Job) bool {
			return j.GetObjectKind().GroupVersionKind() == kind.GroupVersionKind() && j.Queue() != "" && j.ManagedBy.IsBuiltIn() && j.Marks.MultiKueueOrigin == ""
		}
		isRelevant := all || !kind.IsJob() && slices.ContainsFunc(f.Jobs, isQueued)
		if kind.IsUnmanaged() || kind.Discovered || kind.WithoutField || !isRelevant {
			continue
		}
		if schemas == nil {
			discovery, err := c.Discovery()
			if err != nil {
				return
			}
			schemas = &Schemas{Discovery: discovery}
		}
		// If the schema is unknown, the table is taken to be right.
		kind.WithoutField, _ = schemas.Lack(ctx, *kind)
	}
}

// Lack reports whether a kind is served without the field that names its owner. Without a schema it
// relies on the table of kinds. It returns the error from reading a schema once.
func (s *Schemas) Lack(ctx context.Context, k delegation.Kind) (bool, error) {
	gv := k.Resource.GroupVersion()
	schemas, isRead := s.read[gv]
	var err error
	if !isRead {
		var document []byte
		if document, err = s.Discovery.Schemas(ctx, gv); err == nil && document != nil {
			schemas, err = delegation.ParseSchemas(document)
		}
		if s.read == nil {
			s.read = map[schema.GroupVersion]*delegation.Schemas{}
		}
		s.read[gv] = schemas
	}
	return schemas != nil && schemas.Lacks(k.GroupVersionKind(), k.ManagedBy), err
}
