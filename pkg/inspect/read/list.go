package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Query says which objects to read. It is the same for all clusters.
type Query struct {
	AllNamespaces bool
	// LabelSelector and FieldSelector are evaluated by the API server, which
	// knows no field selector for managedBy (kubernetes
	// pkg/apis/batch/v1/conversion.go).
	LabelSelector, FieldSelector string
	// Kinds are those to read, as Served takes them.
	Kinds []string
	// Labels are the names of those that are kept of each Job.
	Labels []string
	// surveys are what clusters serve of these, by their contexts, and lent what all have to
	// know of, where Across has found that out.
	surveys map[string]*survey
	lent    []delegation.Kind
	// isWhole and omits are for Whole.
	isWhole bool
	omits   func(delegation.Kind) bool
}

// namespace is where to look in a cluster; "" is everywhere.
func (q Query) namespace(c *fleet.Cluster) string {
	if q.AllNamespaces {
		return metav1.NamespaceAll
	}
	return c.Namespace
}

// doing says in words what a query asks of a cluster.
func (q Query) doing(verb string, kind *delegation.Kind, c *fleet.Cluster) string {
	if q.AllNamespaces {
		return verb + " " + kind.ResourceName() + " in all namespaces"
	}
	return fmt.Sprintf("%s %s in namespace %q", verb, kind.ResourceName(), c.Namespace)
}

// selected selects the objects of a kind.
func (q Query) selected(kind *delegation.Kind) metav1.ListOptions {
	labels := kind.Selector + q.LabelSelector
	if kind.Selector != "" && q.LabelSelector != "" {
		labels = kind.Selector + "," + q.LabelSelector
	}
	return metav1.ListOptions{LabelSelector: labels, FieldSelector: q.FieldSelector}
}

// ListError is returned by List where it could read a part of what was asked for.
type ListError struct {
	// Kinds are the errors of those kinds that could not be read.
	Kinds []*KindError
	// Others are what else is not known: which kinds a part of the API serves, or
	// whether Jobs were claimed (ErrClaimsUnknown).
	Others []error
}

// KindError is that the objects of one kind could not be read.
type KindError struct {
	Kind delegation.Kind
	Err  error
}

func (e *KindError) Unwrap() error { return e.Err }

func (e *KindError) Error() string { return e.Err.Error() }

// All are the errors one by one.
func (e *ListError) All() []error {
	var all []error
	for _, kind := range e.Kinds {
		all = append(all, kind)
	}
	return append(all, e.Others...)
}

// gaps are the parts that could not be read, each with its error.
func (e *ListError) gaps() []inspect.Gap {
	var gaps []inspect.Gap
	for _, kind := range e.Kinds {
		gaps = append(gaps, inspect.Gap{Part: inspect.PartOf(kind.Kind), Err: kind.Err})
	}
	for _, other := range e.Others {
		part := inspect.PartKinds
		if errors.Is(other, inspect.ErrClaimsUnknown) {
			part = inspect.PartWorkloads
		}
		gaps = append(gaps, inspect.Gap{Part: part, Err: other})
	}
	return gaps
}

// Unwrap lets errors.Is and errors.As look at each.
func (e *ListError) Unwrap() []error { return e.All() }

func (e *ListError) Error() string { return errors.Join(e.All()...).Error() }

func (e *ListError) orNil() error {
	if len(e.Kinds)+len(e.Others) == 0 {
		return nil
	}
	return e
}

// chunk is how many objects are asked for at once, as kubectl does
// (cmdutil.DefaultChunkSize).
const chunk = 500

// kindsAtOnce is how many kinds of one cluster are listed at the same time.
const kindsAtOnce = 4

// List reads the objects of one cluster in chunks and calls visit for each, in no
// particular order, one call at a time. It keeps no more than a few chunks in
// memory. Where only a part could be read, that was visited, and the error is a
// *ListError.
func List(ctx context.Context, c *fleet.Cluster, q Query, visit func(inspect.Job)) error {
	kinds, err := q.Served(ctx, c)
	return listKinds(ctx, c, q, kinds, err, visit, nil)
}

// listKinds is List for those of the kinds that are served; served is why these may
// not be all. later, unless it is nil, is given those Jobs in place of visit whose status
// depends on Workloads.
func listKinds(ctx context.Context, c *fleet.Cluster, q Query, kinds []delegation.Kind, served error, visit func(inspect.Job), later func(claimable)) error {
	var mu sync.Mutex
	one := func(j inspect.Job) {
		mu.Lock()
		defer mu.Unlock()
		visit(j)
	}
	var oneLater func(claimable)
	if later != nil {
		oneLater = func(j claimable) {
			mu.Lock()
			defer mu.Unlock()
			later(j)
		}
	}
	return eachKind(kinds, served, func(kind *delegation.Kind) error {
		return listKind(ctx, c, q, kind, one, oneLater)
	})
}

// eachKind does something with several kinds at once, and gathers what could not be done;
// served is why these may not be all.
func eachKind(kinds []delegation.Kind, served error, do func(*delegation.Kind) error) error {
	if len(kinds) == 0 {
		return served
	}
	partial := &ListError{}
	if served != nil {
		partial.Others = append(partial.Others, served)
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i := range kinds {
		group.Go(func() error {
			err := do(&kinds[i])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
			case errors.Is(err, inspect.ErrClaimsUnknown):
				// It is the same for all kinds, and told once.
				if !errors.Is(partial, inspect.ErrClaimsUnknown) {
					partial.Others = append(partial.Others, err)
				}
			default:
				partial.Kinds = append(partial.Kinds, &KindError{Kind: kinds[i], Err: err})
			}
			return nil
		})
	}
	// The errors are in partial.
	_ = group.Wait()
	slices.SortFunc(partial.Kinds, func(a, b *KindError) int { return strings.Compare(a.Kind.ResourceName(), b.Kind.ResourceName()) })
	if len(partial.Kinds) == len(kinds) {
		// Nothing could be read, most likely for one reason.
		return partial.Kinds[0].Err
	}
	return partial.orNil()
}

// selectedUIDs are those of the objects that a query selects by their labels.
func selectedUIDs(ctx context.Context, c *fleet.Cluster, q Query, kinds []delegation.Kind) (sets.Set[string], error) {
	selected := sets.New[string]()
	for i := range kinds {
		err := eachOfKind(ctx, c, q, &kinds[i], func(_ string, r *read) { selected.Insert(r.job.UID) })
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, &kubecontext.Error{Doing: q.doing("list", &kinds[i], c), Err: err}
		}
		// What may not be listed is told of by who lists all.
	}
	return selected, nil
}

// listKind reads the objects of one kind. Where all were visited, the error wraps
// ErrClaimsUnknown.
func listKind(ctx context.Context, c *fleet.Cluster, q Query, kind *delegation.Kind, visit func(inspect.Job), later func(claimable)) error {
	settler := newSettler(c, visit)
	settler.later = later
	if err := eachOfKind(ctx, c, q, kind, func(_ string, r *read) { settler.add(ctx, r) }); err != nil {
		return &kubecontext.Error{Doing: q.doing("list", kind, c), Err: err}
	}
	return settler.finish(ctx)
}

// eachOfKind calls visit for the objects of one kind as fleet.Recall does, but for those of
// which no sense can be made, which are in the error.
func eachOfKind(ctx context.Context, c *fleet.Cluster, q Query, kind *delegation.Kind, visit func(key string, r *read)) error {
	source, err := q.source(c, kind)
	if err != nil {
		return err
	}
	var failed error
	err = fleet.Recall(ctx, c, source, func(key string, r *read) {
		switch {
		case r.err != nil:
			failed = errors.Join(failed, r.err)
		case !isPart(kind, &r.job):
			visit(key, r)
		}
	})
	return cmp.Or(err, failed)
}

// source is where the objects of a kind come from.
func (q Query) source(c *fleet.Cluster, kind *delegation.Kind) (fleet.Source[read], error) {
	switch {
	case !kind.IsJob():
		return objectsOf(c, q, kind), nil
	case q.isWhole:
		return wholeJobsOf(c, q, kind), nil
	}
	client, err := jobClient(c)
	if err != nil {
		return fleet.Source[read]{}, err
	}
	return jobsOf(client, q, q.namespace(c), kind), nil
}

// isPart says whether an object of a kind without managedBy is only a part of
// another one that is looked at by itself, as a pod of a StatefulSet is.
func isPart(kind *delegation.Kind, j *inspect.Job) bool { return kind.IsUnmanaged() && j.IsPart() }

// MayList asks for a single Job of where the query looks. That Jobs are refused tells
// that another context is a better one to ask there.
func (q Query) MayList(ctx context.Context, c *fleet.Cluster) error {
	client, err := jobClient(c)
	if err != nil {
		return err
	}
	page, err := jobCollection{client: client, namespace: q.namespace(c)}.open(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	return page.each(func(*batchv1.Job) {})
}

func jobClient(c *fleet.Cluster) (rest.Interface, error) {
	return c.REST(batchv1.SchemeGroupVersion, "/apis")
}

// interner makes Jobs share the strings that many of them have in common.
type interner map[string]string

func (in interner) intern(j *inspect.Job) {
	j.Namespace, j.ManagedBy = in.one(j.Namespace), delegation.Owner(in.one(string(j.ManagedBy)))
}

func (in interner) one(s string) string {
	if same, ok := in[s]; ok {
		return same
	}
	in[s] = s
	return s
}
