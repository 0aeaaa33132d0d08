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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Query selects the objects to read. It is the same for all clusters.
type Query struct {
	AllNamespaces bool
	// LabelSelector and FieldSelector are evaluated by the API server, which has no field selector
	// for managedBy (kubernetes pkg/apis/batch/v1/conversion.go).
	LabelSelector, FieldSelector string
	// Kinds are the kinds to read, in the form that Served accepts.
	Kinds []string
	// Labels are the names of the labels to keep for each Job.
	Labels []string
	// searches are the kinds that clusters serve, by context, and shared are kinds that all clusters
	// must know. across sets both.
	searches map[string]*kindSearch
	shared   []delegation.Kind
	// isWhole and omits are for Whole.
	isWhole bool
	omits   func(delegation.Kind) bool
}

// namespace returns the namespace to read in a cluster; "" for all.
func (q Query) namespace(c *fleet.Cluster) string {
	if q.AllNamespaces {
		return metav1.NamespaceAll
	}
	return c.Namespace
}

// doing describes a request, for errors.
func (q Query) doing(verb string, kind *delegation.Kind, c *fleet.Cluster) string {
	if q.AllNamespaces {
		return verb + " " + kind.ResourceName() + " in all namespaces"
	}
	return fmt.Sprintf("%s %s in namespace %q", verb, kind.ResourceName(), c.Namespace)
}

// selected returns the selectors for objects of a kind.
func (q Query) selected(kind *delegation.Kind) metav1.ListOptions {
	labels := kind.Selector + q.LabelSelector
	if kind.Selector != "" && q.LabelSelector != "" {
		labels = kind.Selector + "," + q.LabelSelector
	}
	return metav1.ListOptions{LabelSelector: labels, FieldSelector: q.FieldSelector}
}

// ListError is the error of List if it could read only a part.
type ListError struct {
	// Kinds are the errors of the kinds that could not be read.
	Kinds []*kindError
	// Others are other errors: the kinds of an API group are unknown, or the claims of Jobs are
	// (ErrClaimsUnknown).
	Others []error
}

// kindError is an error from reading the objects of one kind.
type kindError struct {
	Kind delegation.Kind
	Err  error
}

func (e *kindError) Unwrap() error { return e.Err }

func (e *kindError) Error() string { return e.Err.Error() }

// All returns all errors separately.
func (e *ListError) All() []error {
	var all []error
	for _, kind := range e.Kinds {
		all = append(all, kind)
	}
	return append(all, e.Others...)
}

// gaps returns the parts that could not be read, each with its error.
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

// Unwrap gives errors.Is and errors.As access to each error.
func (e *ListError) Unwrap() []error { return e.All() }

func (e *ListError) Error() string { return errors.Join(e.All()...).Error() }

func (e *ListError) orNil() error {
	if len(e.Kinds)+len(e.Others) == 0 {
		return nil
	}
	return e
}

// chunk is how many objects one request returns, as in kubectl (cmdutil.DefaultChunkSize).
const chunk = 500

// kindsAtOnce is how many kinds of one cluster are listed in parallel.
const kindsAtOnce = 4

// List reads the objects of one cluster in chunks and calls visit for each, in no particular order,
// one call at a time. It keeps only a few chunks in memory. If it could read only a part, it visits
// that and returns a *ListError.
func List(ctx context.Context, c *fleet.Cluster, q Query, visit func(inspect.Job)) error {
	kinds, err := q.Served(ctx, c)
	return listKinds(ctx, c, q, kinds, err, visit, nil)
}

// listKinds is List for kinds that the cluster serves. served is the error if these may not be all.
// later, unless nil, receives the Jobs whose status depends on Workloads, instead of visit.
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

// eachKind calls do for several kinds in parallel, and returns the errors together. served is the
// error if these kinds may not be all.
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
				// The reason is the same for all kinds, so it is reported once.
				if !errors.Is(partial, inspect.ErrClaimsUnknown) {
					partial.Others = append(partial.Others, err)
				}
			default:
				partial.Kinds = append(partial.Kinds, &kindError{Kind: kinds[i], Err: err})
			}
			return nil
		})
	}
	// The errors are in partial.
	_ = group.Wait()
	slices.SortFunc(partial.Kinds, func(a, b *kindError) int { return strings.Compare(a.Kind.ResourceName(), b.Kind.ResourceName()) })
	if len(partial.Kinds) == len(kinds) {
		// Nothing could be read, probably for one reason.
		return partial.Kinds[0].Err
	}
	return partial.orNil()
}

// selectedUIDs returns the UIDs of the objects that match a query's labels.
func selectedUIDs(ctx context.Context, c *fleet.Cluster, q Query, kinds []delegation.Kind) (sets.Set[string], error) {
	selected := sets.New[string]()
	for i := range kinds {
		err := eachOfKind(ctx, c, q, &kinds[i], func(_ string, r *read) { selected.Insert(r.job.UID) })
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, &kubecontext.Error{Doing: q.doing("list", &kinds[i], c), Err: err}
		}
		// The list without labels reports kinds that may not be listed.
	}
	return selected, nil
}

// listKind reads the objects of one kind. If it visited all, but their claims are unknown, the
// error wraps ErrClaimsUnknown.
func listKind(ctx context.Context, c *fleet.Cluster, q Query, kind *delegation.Kind, visit func(inspect.Job), later func(claimable)) error {
	settler := newClaimSettler(c, visit)
	settler.later = later
	if err := eachOfKind(ctx, c, q, kind, func(_ string, r *read) { settler.add(ctx, r) }); err != nil {
		return &kubecontext.Error{Doing: q.doing("list", kind, c), Err: err}
	}
	return settler.finish(ctx)
}

// eachOfKind calls visit for the objects of one kind, as cache.Recall does. Objects that cannot be
// decoded become part of the error.
func eachOfKind(ctx context.Context, c *fleet.Cluster, q Query, kind *delegation.Kind, visit func(key string, r *read)) error {
	source, err := q.source(c, kind)
	if err != nil {
		return err
	}
	var failed error
	err = cache.Recall(ctx, c.Cache(ctx), source, func(key string, r *read) {
		switch {
		case r.err != nil:
			failed = errors.Join(failed, r.err)
		case !isPart(kind, &r.job):
			visit(key, r)
		}
	})
	return cmp.Or(err, failed)
}

// source returns the source of the objects of a kind.
func (q Query) source(c *fleet.Cluster, kind *delegation.Kind) (cache.Source[read], error) {
	switch {
	case !kind.IsJob():
		return objectsOf(c, q, kind), nil
	case q.isWhole:
		return wholeJobsOf(c, q, kind), nil
	}
	client, err := jobClient(c)
	if err != nil {
		return cache.Source[read]{}, err
	}
	return jobsOf(client, q, q.namespace(c), kind), nil
}

// isPart reports whether an object of a kind without managedBy is only a part of another object that
// is read itself, such as a Pod of a StatefulSet.
func isPart(kind *delegation.Kind, j *inspect.Job) bool { return kind.IsUnmanaged() && j.IsPart() }

// Refused returns how much the server refuses to a context: 4 for Jobs of the query's namespace, 2 for
// Workloads there, and 1 for ClusterQueues. Another context of the same cluster is then the better one to
// read, and to name in commands: fixes often change what only an administrator may read.
func (q Query) Refused(ctx context.Context, c *fleet.Cluster) (refused int) {
	if kubecontext.IsRefused(q.mayList(ctx, c)) {
		refused += 4
	}
	isRefused := func(resource, namespace string) bool {
		_, err := c.Objects(schema.GroupVersionResource{Group: kueue.Group, Version: "v1beta2", Resource: resource}, namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return kubecontext.IsRefused(err)
	}
	if isRefused("workloads", q.namespace(c)) {
		refused += 2
	}
	if isRefused("clusterqueues", "") {
		refused++
	}
	return refused
}

// mayList requests a single Job from the query's namespace.
func (q Query) mayList(ctx context.Context, c *fleet.Cluster) error {
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

// interner lets Jobs share strings that many of them have in common.
type interner map[string]string

func (in interner) intern(j *inspect.Job) {
	j.Namespace, j.ManagedBy = in.one(j.Namespace), delegation.Owner(in.one(string(j.ManagedBy)))
	j.Failure, j.NodeSelector = in.one(j.Failure), in.one(j.NodeSelector)
}

func (in interner) one(s string) string {
	if same, ok := in[s]; ok {
		return same
	}
	in[s] = s
	return s
}

// Ahead prefetches Job lists while other objects are still being read. The zero value has no lists.
type Ahead struct {
	mu    sync.Mutex
	lists map[string]*prefetchedList
	stops []context.CancelFunc
}

// prefetchedList is the prefetched list of a cluster's Jobs. Its results are valid once done is closed.
type prefetchedList struct {
	done      chan struct{}
	facts     *inspect.Facts
	unsettled unsettledJobs
	err       error
}

// Stop cancels unfinished lists.
func (a *Ahead) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, stop := range a.stops {
		stop()
	}
}

// begin starts to list the Jobs of a cluster until ctx ends. It does nothing if the cluster is
// watched, because a watch already has them.
func (a *Ahead) begin(ctx context.Context, c *fleet.Cluster, q Query) {
	if a == nil || c.IsWatched() {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	list := &prefetchedList{done: make(chan struct{}), facts: factsOf(c)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil {
		a.lists = map[string]*prefetchedList{}
	}
	a.lists[c.Context], a.stops = list, append(a.stops, stop)
	go func() {
		defer close(list.done)
		list.err = listInto(ctx, list.facts, c, q, list.unsettled.add)
	}()
}

// take waits for the prefetched list of a cluster and returns it; nil if there is none.
func (a *Ahead) take(ctx context.Context, c *fleet.Cluster) (list *prefetchedList, err error) {
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	list = a.lists[c.Context]
	delete(a.lists, c.Context)
	a.mu.Unlock()
	if list == nil {
		return nil, nil
	}
	select {
	case <-list.done:
		return list, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
