package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Wanted is the Job to trace, by the name of its origin or of one of its mirrors.
type Wanted struct {
	// Kind is a user's word for the kind, in the form that Served accepts; "" is Job.
	Kind string
	Name string
	// Namespace is the namespace to search on every cluster; "" for all.
	Namespace string
}

// readNamed reads only what concerns Jobs of one name, from every cluster: the Job, its Pods,
// events, Lease and Kueue objects. If one waits, it also starts to list the Jobs around it, unless
// ahead is nil.
func readNamed(ctx context.Context, f *fleet.Fleet, w Wanted, ahead *Ahead) []*inspect.Facts {
	r := &namedReader{wanted: w, query: w.query().across(ctx, f), facts: map[string]*inspect.Facts{}, hasOthers: hasOthers(f)}
	clusters := askAll(ctx, f, r.find)
	for _, facts := range clusters {
		r.facts[facts.Context] = facts
	}
	learnPlaces(ctx, f, clusters)
	if r.elsewhere = places(clusters); len(r.elsewhere) > 0 {
		r.ask(ctx, f, r.findElsewhere)
	}
	r.plan(clusters)
	r.ask(ctx, f, func(of context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
		if r.waits {
			// The list has the outer context, because it must outlive this request.
			ahead.begin(ctx, c, *w.around(r.query))
		}
		return r.follow(of, c, facts)
	})
	return clusters
}

// kindText returns the kind for messages.
func (w Wanted) kindText() string { return cmp.Or(w.Kind, delegation.Job().Name) }

// query returns a query for the kind.
func (w Wanted) query() Query {
	q := Query{}
	if w.Kind != "" {
		q.Kinds = []string{w.Kind}
	}
	return q
}

// NamespacesWith returns the namespaces of some contexts, sorted, that have a Job of the wanted name.
// isComplete is whether each of these contexts listed all its namespaces.
func (w Wanted) NamespacesWith(ctx context.Context, f *fleet.Fleet, contexts []string) (namespaces []string, isComplete bool) {
	isComplete = true
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]string, error) {
		if !slices.Contains(contexts, c.Context) {
			return nil, nil
		}
		query := w.query()
		kinds, err := query.Served(ctx, c)
		if err != nil {
			return nil, err
		}
		r := &namedReader{wanted: Wanted{Kind: w.Kind, Name: w.Name}}
		var found []string
		for i := range kinds {
			objects, err := r.lookFor(ctx, c, kinds[i].Resource)
			if err != nil {
				return nil, err
			}
			for _, o := range objects {
				found = append(found, (&unstructured.Unstructured{Object: o}).GetNamespace())
			}
		}
		return found, nil
	}) {
		isComplete = isComplete && (a.Err == nil || !slices.Contains(contexts, a.Context))
		namespaces = append(namespaces, a.Value...)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), isComplete
}

// namedReader reads in rounds. One goroutine fills each cluster's facts.
type namedReader struct {
	wanted Wanted
	// query has the wanted kinds that each cluster serves.
	query Query
	facts map[string]*inspect.Facts
	// elsewhere are the places that marks point to, under other names.
	elsewhere []delegation.Place
	// spaces are the namespaces of all Jobs found, on any cluster.
	spaces []string
	// workloads are the possible names of the Workloads of Jobs that Kueue may know. queues are the
	// LocalQueues that Jobs name.
	workloads []string
	queues    []string
	// waits is whether an origin has no Pods, so that free quota matters.
	waits bool
	// hasOthers is whether the fleet has several clusters.
	hasOthers bool
	// isOurs is whether a Job waits for the command dispatch, which could use any cluster.
	isOurs bool
}

// ask sends further requests to the clusters that answered the first. Each fills a copy of its
// facts, because a request that hangs is abandoned and must not write to facts that are already in
// use.
func (r *namedReader) ask(ctx context.Context, f *fleet.Fleet, question func(context.Context, *fleet.Cluster, *inspect.Facts) error) {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
		facts := r.facts[c.Context].Clone()
		if facts == nil {
			return nil, nil
		}
		err := question(ctx, c, facts)
		facts.Skew = c.Skew()
		return facts, err
	})
	for _, a := range answers {
		facts := r.facts[a.Context]
		if facts == nil {
			continue
		}
		if a.Value != nil {
			*facts = *a.Value
		}
		if a.Err != nil && facts.Err == nil {
			facts.Err = a.Err
		}
	}
}

// find reads the Jobs with the wanted name.
func (r *namedReader) find(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
	facts := factsOf(c)
	facts.Namespace = r.wanted.Namespace
	facts.Unrequested = map[inspect.Part]bool{inspect.PartNamespaces: true, inspect.PartVersion: true}
	kinds, err := r.query.Served(ctx, c)
	if err != nil && len(kinds) == 0 {
		return facts, r.doing(err)
	}
	facts.AddGap(inspect.PartKinds, err)
	facts.Kinds = kinds
	for i := range kinds {
		objects, err := r.lookFor(ctx, c, kinds[i].Resource)
		if err == nil {
			err = r.keep(ctx, c, facts, &kinds[i], objects)
		}
		if err != nil {
			return facts, r.doing(err)
		}
	}
	facts.Skew = c.Skew()
	return facts, nil
}

// lookFor reads the objects of one kind with the wanted name.
func (r *namedReader) lookFor(ctx context.Context, c *fleet.Cluster, resource schema.GroupVersionResource) ([]map[string]any, error) {
	var objects []map[string]any
	if r.wanted.Namespace == "" {
		byName := metav1.ListOptions{FieldSelector: kfields.OneTermEqualSelector("metadata.name", r.wanted.Name).String()}
		err := listObjects(ctx, c, resource, "", byName, func(o *map[string]any) { objects = append(objects, *o) })
		return objects, err
	}
	o, err := Get[map[string]any](ctx, c, resource, r.wanted.Namespace, r.wanted.Name)
	if o != nil {
		objects = append(objects, *o)
	}
	return objects, err
}

func (r *namedReader) doing(err error) error {
	return &kubecontext.Error{Doing: fmt.Sprintf("look for %s %q", r.wanted.kindText(), r.wanted.Name), Err: err}
}

// keep adds objects of a kind to the facts.
func (r *namedReader) keep(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts, kind *delegation.Kind, objects []map[string]any) error {
	settler := newClaimSettler(c, func(j inspect.Job) { facts.Jobs = append(facts.Jobs, &j) })
	for _, o := range objects {
		read, err := readWhole(kind, o)
		if err != nil {
			return err
		}
		settler.add(ctx, &read)
	}
	facts.AddGap(inspect.PartWorkloads, settler.finish(ctx))
	return nil
}

func typedJob(content map[string]any) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, job); err != nil {
		return nil, fmt.Errorf("the answer of the server is invalid: %w", err)
	}
	return job, nil
}

// findElsewhere reads the Jobs that marks point to.
func (r *namedReader) findElsewhere(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
	for _, p := range r.elsewhere {
		is := p.On(facts.Cluster())
		isKnown := func(j *inspect.Job) bool { return j.Namespace == p.Namespace && j.Name == p.Name }
		if is == delegation.CertainlyOther || slices.ContainsFunc(facts.Jobs, isKnown) {
			continue
		}
		// find has already reported if not all kinds are known.
		kinds, err := r.query.Served(ctx, c)
		if err != nil && len(kinds) == 0 {
			return r.doing(err)
		}
		for i := range kinds {
			if err = r.readPlace(ctx, c, facts, &kinds[i], p, is == delegation.CertainlySame); err != nil {
				return r.doing(err)
			}
		}
	}
	return nil
}

// readPlace reads the object of a kind at a place. If the cluster may not be the intended one
// (isIntended is false), it only accepts the object with the right UID. A denial does not affect
// other objects of the cluster.
func (r *namedReader) readPlace(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts, kind *delegation.Kind, p delegation.Place, isIntended bool) error {
	o, err := Get[map[string]any](ctx, c, kind.Resource, p.Namespace, p.Name)
	isSame := o != nil && delegation.TextAt(*o, "metadata", "uid") == p.UID
	if err == nil && isIntended && !isSame {
		facts.AddAbsent(kind, p)
	}
	if err == nil && o != nil && (isIntended || isSame) {
		err = r.keep(ctx, c, facts, kind, []map[string]any{*o})
	}
	if !kubecontext.IsRefused(err) {
		return err
	}
	// A denial is a gap only on the intended cluster.
	if isIntended {
		facts.AddGap(inspect.PartOf(*kind), r.doing(err))
	}
	return nil
}

// plan collects what to request from Kueue. The names of Workloads can be computed from Jobs, so
// workers and managers can be read in parallel.
func (r *namedReader) plan(clusters []*inspect.Facts) {
	workloads, queues, spaces := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, f := range clusters {
		for _, j := range f.Jobs {
			spaces.Insert(j.Namespace)
			r.isOurs = r.isOurs || j.AwaitsDispatch()
			if j.Queue() != "" {
				queues.Insert(j.Queue())
			}
			if j.Prebuilt() != "" {
				workloads.Insert(j.Prebuilt())
			}
			if j.ManagedBy != delegation.MultiKueue && (j.Queue() == "" || j.Prebuilt() != "") {
				continue
			}
			r.waits = r.waits || j.Waits()
			workloads.Insert(j.WorkloadNames()...)
		}
	}
	r.workloads, r.queues, r.spaces = sets.List(workloads), sets.List(queues), sets.List(spaces)
}

// follow reads the objects related to the Jobs found.
func (r *namedReader) follow(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
	reader := &factReader{cluster: c, facts: facts}
	if len(r.workloads) > 0 {
		reader = openKueue(ctx, c, facts)
	}
	names := append([]string{r.wanted.Name}, r.workloads...)
	for _, namespace := range r.spaces {
		reader.readEvents(ctx, namespace, names...)
	}
	reader.hasOthers = r.hasOthers
	r.readLeftPods(ctx, reader)
	for _, j := range facts.Jobs {
		reader.readPods(ctx, j)
		if j.IsDispatched() {
			reader.readLeases(ctx, j.Namespace, labels.Set{delegation.OriginUIDLabel: j.UID}.String())
		}
	}
	if r.isOurs || r.waits && reader.hasKueue() {
		reader.readSite(ctx, r.spaces)
	}
	if reader.hasKueue() {
		r.readKueue(ctx, reader)
	}
	reader.wg.Wait()
	if facts.Environment == nil && slices.ContainsFunc(facts.Pods, (*inspect.Pod).IsUnschedulable) {
		reader.readSite(ctx, nil)
	}
	if reader.hasKueue() {
		reader.readOtherNamed(ctx)
		reader.readOwnClaims(ctx, r.spaces)
		if uids := facts.Preemptors(); len(uids) > 0 {
			reader.readWorkloadsByUID(ctx, uids)
			reader.wg.Wait()
		}
		reader.readNeighbours(ctx)
		reader.wg.Wait()
		reader.readBeyond(ctx)
	}
	reader.wg.Wait()
	return context.Cause(ctx)
}

// readLeftPods reads the Pods that deleted mirrors left, where no Job of that name has its Pods read.
func (r *namedReader) readLeftPods(ctx context.Context, reader *factReader) {
	for _, namespace := range r.spaces {
		hasPodsRead := func(j *inspect.Job) bool {
			return j.Namespace == namespace && j.Name == r.wanted.Name && j.Row().IsJob()
		}
		if reader.mayHaveLeftPods() && !slices.ContainsFunc(reader.facts.Jobs, hasPodsRead) {
			reader.readLeftPods(ctx, namespace, r.wanted.Name)
		}
	}
}

// readKueue reads the Kueue objects of the Jobs and, if one waits, the free quota.
func (r *namedReader) readKueue(ctx context.Context, reader *factReader) {
	if r.waits {
		reader.waiting = r.workloads
	}
	reader.readConfig(ctx)
	reader.facts.Kueue.QueuesByName = true
	for _, namespace := range r.spaces {
		for _, queue := range r.queues {
			reader.readQueue(ctx, namespace, queue)
		}
		reader.readWorkloads(ctx, namespace, "", r.workloads)
	}
	for _, j := range reader.facts.Jobs {
		reader.readWorkloads(ctx, j.Namespace, j.UID, nil)
	}
	if r.waits {
		reader.readCapacity(ctx, metav1.NamespaceAll, r.spaces)
		reader.readTemplates(ctx, r.spaces, r.workloads)
	}
}
