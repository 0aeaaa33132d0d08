package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Wanted is the Job that a trace is asked for, by the name of its origin or of
// one of its mirrors.
type Wanted struct {
	// Kind is what a user calls its kind, as Served takes it; "" is Job.
	Kind string
	Name string
	// Namespace is where to look on every cluster; "" is everywhere.
	Namespace string
}

// readNamed reads all that concerns Jobs of one name: from every cluster the Job, its
// pods, events and Lease, and what Kueue has made of it, and nothing else. Where one waits,
// the Jobs around it are begun to be listed, unless ahead is nil.
func readNamed(ctx context.Context, f *fleet.Fleet, w Wanted, ahead *Ahead) []*inspect.Facts {
	r := &namedReader{wanted: w, query: w.query().Across(ctx, f), facts: map[string]*inspect.Facts{}}
	clusters := askAll(ctx, f, r.find)
	for _, facts := range clusters {
		r.facts[facts.Context] = facts
	}
	if r.elsewhere = places(clusters); len(r.elsewhere) > 0 {
		r.ask(ctx, f, r.findElsewhere)
	}
	r.plan(clusters)
	r.ask(ctx, f, func(of context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
		if r.waits {
			// Nothing that is asked here waits for that, nor ends it.
			ahead.begin(ctx, c, *w.around(r.query))
		}
		return r.follow(of, c, facts)
	})
	return clusters
}

// kindText is the kind in words.
func (w Wanted) kindText() string { return cmp.Or(w.Kind, delegation.Job().Name) }

// query is for the kinds of that name.
func (w Wanted) query() Query {
	q := Query{}
	if w.Kind != "" {
		q.Kinds = []string{w.Kind}
	}
	return q
}

// namedReader reads in rounds; each cluster's facts are filled by one goroutine.
type namedReader struct {
	wanted Wanted
	// query tells which kinds each cluster serves of the wanted ones.
	query Query
	facts map[string]*inspect.Facts
	// elsewhere are the places that marks lead to, under another name.
	elsewhere []delegation.Place
	// origins are what Kueue may know of; workloads are the names that their
	// Workloads have, and queues those of their LocalQueues.
	origins []*inspect.Job
	// spaces are the namespaces of all that was found, on any cluster.
	spaces    []string
	workloads []string
	queues    []string
	// waits is whether one of the origins has no pods, so that it matters where there
	// is room.
	waits bool
	// isOurs is whether one waits to be dispatched by this plugin, to any cluster.
	isOurs bool
}

// ask puts a further question to those clusters that answered the first. Each
// fills a copy of its facts: a question that hangs is abandoned, and must not
// write to what is read by then.
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

// find looks for the Jobs of the wanted name.
func (r *namedReader) find(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
	facts := factsOf(c)
	facts.Namespace = r.wanted.Namespace
	facts.Unasked = map[inspect.Part]bool{inspect.PartNamespaces: true, inspect.PartVersion: true}
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

// lookFor reads the objects of the wanted name, of one kind.
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

// keep reads objects of a kind into the facts.
func (r *namedReader) keep(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts, kind *delegation.Kind, objects []map[string]any) error {
	settler := newSettler(c, func(j inspect.Job) { facts.Jobs = append(facts.Jobs, &j) })
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

// places are where marks lead, with the uids of what is there.
func places(clusters []*inspect.Facts) []delegation.Place {
	var found []delegation.Place
	for _, f := range clusters {
		for _, j := range f.Jobs {
			if j.Marks == nil {
				continue
			}
			origin := j.Marks.Origin
			origin.UID = j.Marks.OriginUID
			for _, p := range []delegation.Place{origin, j.Marks.Mirror} {
				if p.Name != "" && !slices.Contains(found, p) {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// findElsewhere reads the Jobs that marks lead to.
func (r *namedReader) findElsewhere(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
	for _, p := range r.elsewhere {
		if p.NamespaceUID != "" && (p.ClusterUID == "" || facts.ClusterUID == "") && c.LearnNamespaces(ctx, p.Namespace) == nil {
			facts.NamespaceUIDs = c.Identity().Namespaces
		}
		is := p.On(facts.Cluster())
		isKnown := func(j *inspect.Job) bool { return j.Namespace == p.Namespace && j.Name == p.Name }
		if is == delegation.CertainlyOther || slices.ContainsFunc(facts.Jobs, isKnown) {
			continue
		}
		// That not all is known of them was told before.
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

// readPlace reads what is of a kind at a place. Where it is not known whether the cluster
// is the one that is meant, the Job that has the uid is taken, and no other. That there is
// something that may not be looked at hides nothing else of the cluster.
func (r *namedReader) readPlace(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts, kind *delegation.Kind, p delegation.Place, isMeant bool) error {
	o, err := Get[map[string]any](ctx, c, kind.Resource, p.Namespace, p.Name)
	if err == nil && o != nil && (isMeant || delegation.TextAt(*o, "metadata", "uid") == p.UID) {
		err = r.keep(ctx, c, facts, kind, []map[string]any{*o})
	}
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return err
	}
	// It is a gap only in what is known to be the cluster that is meant.
	if isMeant {
		facts.AddGap(inspect.PartOf(*kind), r.doing(err))
	}
	return nil
}

// plan finds out what Kueue is to be asked for. The names of Workloads follow
// from the Jobs, so that workers can be asked at the same time as managers.
func (r *namedReader) plan(clusters []*inspect.Facts) {
	workloads, queues, spaces := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, f := range clusters {
		for _, j := range f.Jobs {
			spaces.Insert(j.Namespace)
			r.isOurs = r.isOurs || j.AwaitsDispatch()
			if j.Prebuilt() != "" {
				workloads.Insert(j.Prebuilt())
				continue
			}
			if j.ManagedBy != delegation.MultiKueue && j.Queue() == "" {
				continue
			}
			r.origins = append(r.origins, j)
			r.waits = r.waits || j.Waits()
			workloads.Insert(j.WorkloadNames()...)
			if j.Queue() != "" {
				queues.Insert(j.Queue())
			}
		}
	}
	r.workloads, r.queues, r.spaces = sets.List(workloads), sets.List(queues), sets.List(spaces)
}

// follow reads what belongs to the Jobs that were found.
func (r *namedReader) follow(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) error {
	reader := &factReader{cluster: c, facts: facts}
	if len(r.workloads) > 0 {
		reader = openKueue(ctx, c, facts)
	}
	names := append([]string{r.wanted.Name}, r.workloads...)
	for _, namespace := range r.spaces {
		reader.readEvents(ctx, namespace, names...)
	}
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
	if facts.Site == nil && slices.ContainsFunc(facts.Pods, (*inspect.Pod).IsUnschedulable) {
		reader.readSite(ctx, nil)
	}
	if reader.hasKueue() {
		if uids := facts.Preemptors(); len(uids) > 0 {
			reader.readWorkloadsByUID(ctx, uids)
			reader.wg.Wait()
		}
		reader.readNeighbours(ctx)
	}
	reader.wg.Wait()
	return context.Cause(ctx)
}

// readKueue reads what Kueue has made of the Jobs, and, where one waits, what room there is.
func (r *namedReader) readKueue(ctx context.Context, reader *factReader) {
	if r.waits {
		reader.waiting = r.workloads
	}
	reader.readConfig(ctx)
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
