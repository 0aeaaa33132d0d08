package read

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// watched is what a Watcher has reported about one cluster.
type watched struct {
	context string
	tell    func(inspect.Change)

	// mu is needed because an abandoned reading may continue next to the next one.
	mu sync.Mutex
	// round counts readings.
	round int
	// reports are the reported objects, by resource and key.
	reports map[string]map[string]*report
	// waiting are the objects whose status depends on a Workload.
	waiting []*report
	// lost are the parts that could not be read last time; "" is the whole cluster.
	lost sets.Set[string]
	// isSynced is whether Synced was reported.
	isSynced bool
	// heldBack are the changes of a lost cluster, until Found is reported.
	heldBack []inspect.Change
}

// report is a reported object.
type report struct {
	// read is the last reading. job is the last report, nil if there is none.
	read *read
	job  *inspect.Job
	// needsClaim is whether the status depends on a Workload. claimed is whether there was one.
	// isNew is whether this was not looked up since the last reading.
	needsClaim, claimed, isNew bool
	// round is the reading that last saw the object.
	round int
}

// look reads a cluster and reports the differences. It returns an error if nothing could be read.
func (w *watched) look(ctx context.Context, c *fleet.Cluster, q Query) error {
	kinds, unserved := q.Served(ctx, c)
	w.mu.Lock()
	w.round++
	w.waiting = nil
	w.mu.Unlock()
	err := eachKind(kinds, unserved, func(kind *delegation.Kind) error { return w.lookAt(ctx, c, q, kind) })
	claims := w.settle(ctx, c)

	w.mu.Lock()
	defer w.mu.Unlock()
	partial := &ListError{}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.As(err, &partial):
		return err
	}
	if unserved == nil {
		w.forgetKinds(kinds)
	}
	if claims != nil {
		partial.Others = append(partial.Others, claims)
	}
	w.note(partsOf(partial, w.context))
	w.sync()
	return nil
}

// lookAt reads the objects of one kind.
func (w *watched) lookAt(ctx context.Context, c *fleet.Cluster, q Query, kind *delegation.Kind) error {
	resource := kind.ResourceName()
	w.mu.Lock()
	if w.reports[resource] == nil {
		w.reports[resource] = map[string]*report{}
	}
	before, round := w.reports[resource], w.round
	w.mu.Unlock()
	err := eachOfKind(ctx, c, q, kind, func(key string, r *read) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if ctx.Err() == nil {
			w.see(c, before, key, r)
		}
	})
	if err != nil {
		return &kubecontext.Error{Doing: q.doing("watch", kind, c), Err: err}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil {
		w.forget(before, func(t *report) bool { return t.round != round })
	}
	return nil
}

// see records an object.
func (w *watched) see(c *fleet.Cluster, before map[string]*report, key string, r *read) {
	t := before[key]
	if t == nil {
		t = &report{}
		before[key] = t
	}
	t.round = w.round
	if t.read != r {
		t.read, t.needsClaim, t.isNew = r, r.needsClaim(), true
		if !t.needsClaim {
			w.update(c, t, false)
		}
	}
	if t.needsClaim {
		w.waiting = append(w.waiting, t)
	}
}

// settle looks up which waiting Jobs have a Workload. A Job that cannot be looked up does not count
// as unclaimed.
func (w *watched) settle(ctx context.Context, c *fleet.Cluster) error {
	w.mu.Lock()
	waiting := w.waiting
	w.mu.Unlock()
	if len(waiting) == 0 || ctx.Err() != nil {
		return nil
	}
	jobs := make([]*inspect.Job, len(waiting))
	for i, t := range waiting {
		jobs[i] = &t.read.job
	}
	claimed, err := claimedUIDs(ctx, c, commonNamespace(jobs), nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range waiting {
		if is := err != nil || claimed.Has(t.read.job.UID); ctx.Err() == nil && (t.isNew || is != t.claimed) {
			w.update(c, t, is)
		}
	}
	return claimsUnknown(err)
}

// update reports an object if it has changed.
func (w *watched) update(c *fleet.Cluster, t *report, claimed bool) {
	t.claimed, t.isNew = claimed, false
	job := t.read.settle(claimed)
	job.Context, job.ClusterUID = c.Context, c.UID()
	switch before := t.job; {
	case before == nil:
		w.send(inspect.Added, &job)
	case before.UID != job.UID:
		w.send(inspect.Deleted, before)
		w.send(inspect.Added, &job)
	case equal(before, &job):
		return
	default:
		w.send(inspect.Modified, &job)
	}
	t.job = &job
}

// forgetKinds reports the objects of all other kinds as deleted.
func (w *watched) forgetKinds(kinds []delegation.Kind) {
	for resource, before := range w.reports {
		if !slices.ContainsFunc(kinds, func(k delegation.Kind) bool { return k.ResourceName() == resource }) {
			w.forget(before, func(*report) bool { return true })
			delete(w.reports, resource)
		}
	}
}

// forget reports objects as deleted, in a fixed order.
func (w *watched) forget(before map[string]*report, which func(*report) bool) {
	var gone []string
	for key, t := range before {
		if which(t) {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		if job := before[key].job; job != nil {
			w.send(inspect.Deleted, job)
		}
		delete(before, key)
	}
}

// send reports a change of a Job; for a lost cluster, only after Found is reported.
func (w *watched) send(what inspect.ChangeType, j *inspect.Job) {
	change := inspect.Change{Type: what, Context: w.context, Job: j}
	if len(w.lost) > 0 {
		w.heldBack = append(w.heldBack, change)
		return
	}
	w.tell(change)
}

// lose records that nothing could be read.
func (w *watched) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(map[string]error{"": err})
}

// joined records that a cluster, which could not be read so far, is reached by another context too.
func (w *watched) joined() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(nil)
	w.sync()
}

// sync reports once that all existing objects were reported.
func (w *watched) sync() {
	if !w.isSynced {
		w.isSynced = true
		w.tell(inspect.Change{Type: inspect.Synced, Context: w.context})
	}
}

// note records the parts that could not be read. It reports each once, and Found when none is left.
func (w *watched) note(failed map[string]error) {
	wasLost := len(w.lost) > 0
	for _, part := range slices.Sorted(maps.Keys(failed)) {
		if !w.lost.Has(part) {
			w.tell(inspect.Change{Type: inspect.Lost, Context: w.context, Err: failed[part]})
		}
	}
	if failed[""] == nil {
		// Otherwise the state of the parts is unknown.
		w.lost = sets.New[string]()
	}
	w.lost.Insert(slices.Collect(maps.Keys(failed))...)
	if wasLost && len(w.lost) == 0 {
		w.tell(inspect.Change{Type: inspect.Found, Context: w.context})
	}
	for _, change := range w.heldBack {
		w.tell(change)
	}
	w.heldBack = nil
}

// partsOf returns the parts of a cluster that could not be read, by name.
func partsOf(partial *ListError, name string) map[string]error {
	failed := map[string]error{}
	for _, kind := range partial.Kinds {
		failed[kind.Kind.ResourceName()] = kubecontext.InContext(name, "", kind)
	}
	for _, err := range partial.Others {
		part := "kinds"
		if errors.Is(err, inspect.ErrClaimsUnknown) {
			part = "workloads"
		}
		failed[part] = kubecontext.InContext(name, "find out what it serves", err)
	}
	return failed
}
