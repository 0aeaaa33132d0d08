package inspect

import (
	"context"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// ChangeType says what a Change tells.
type ChangeType string

const (
	// Added, Modified and Deleted tell of a Job, in the API's own words for
	// watch events.
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
	// Synced tells that all Jobs there were have been told as Added.
	Synced ChangeType = "SYNCED"
	// Lost tells that the cluster does not answer; it is tried again until it
	// does. Found tells that it answers again.
	Lost  ChangeType = "LOST"
	Found ChangeType = "FOUND"
)

// Change is one thing that happened on one cluster.
type Change struct {
	Type    ChangeType
	Context string
	// Job is set for Added, Modified and Deleted.
	Job Job
	// Err is set for Lost.
	Err error
}

// claimInterval is how often Jobs that nobody has claimed yet are looked up
// again: a Workload that appears changes nothing about the Job itself.
const claimInterval = 2 * time.Second

// Watch tells what happens to the Jobs of one cluster until ctx is over. It
// survives restarts of the API server, closed watches and expired resource
// versions; what happened in between is told when it is back. Changes that
// leave everything the model keeps as it was are not told.
func Watch(ctx context.Context, c *fleet.Cluster, q Query, changes chan<- Change) {
	w := &watcher{
		cluster: c, query: q, changes: changes, ctx: ctx,
		events: make(chan any, chunk),
		known:  map[string]Job{}, unclaimed: map[string]read{},
	}
	client, err := jobClient(c)
	if err != nil {
		w.send(Change{Type: Lost, Err: err})
		return
	}
	informer := cache.NewSharedIndexInformerWithOptions(w.listerWatcher(client), &batchv1.Job{}, cache.SharedIndexInformerOptions{})
	// Neither call can fail before the informer runs. The informer's own way of
	// telling errors leaves out refused connections, so listerWatcher does it.
	_ = informer.SetTransform(trim)
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.enqueue(o) },
		UpdateFunc: func(_, o any) { w.enqueue(o) },
		DeleteFunc: func(o any) { w.enqueue(deletion{o}) },
	})
	if err != nil {
		w.send(Change{Type: Lost, Err: err})
		return
	}
	var wg sync.WaitGroup
	// What an informer has to say of each lost connection is for -v=2; that the
	// cluster does not answer is told as a change.
	quiet := klog.NewContext(ctx, klog.FromContext(ctx).V(2))
	wg.Go(func() { informer.RunWithContext(quiet) })
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			w.enqueue(synced{})
		}
	})
	w.run()
	wg.Wait()
}

// deletion and synced are what stands in a watcher's queue beside *batchv1.Job.
type (
	deletion struct{ object any }
	synced   struct{}
)

// watcher turns what an informer tells into changes. All of its state is its
// own goroutine's, but for lost.
type watcher struct {
	cluster *fleet.Cluster
	query   Query
	changes chan<- Change
	ctx     context.Context
	events  chan any
	// known are the Jobs as they were told last, by namespace/name.
	known map[string]Job
	// identified is whether the cluster was asked for its identity again.
	identified bool
	// unclaimed are those to look up again.
	unclaimed map[string]read

	lost sync.Map
}

func (w *watcher) enqueue(event any) {
	select {
	case w.events <- event:
	case <-w.ctx.Done():
	}
}

func (w *watcher) send(change Change) {
	change.Context = w.cluster.Context
	select {
	case w.changes <- change:
	case <-w.ctx.Done():
	}
}

func (w *watcher) run() {
	ticker := time.NewTicker(claimInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case event := <-w.events:
			w.handle(event)
		case <-ticker.C:
			w.recheck()
		}
	}
}

// handle works off an event and those that have come in behind it, so that
// claims are looked up for many Jobs at once.
func (w *watcher) handle(event any) {
	if w.cluster.UID == "" && !w.identified {
		// It did not answer when the fleet was opened, or the user may not read its
		// identity; then it stays unknown.
		w.identified = true
		_ = w.cluster.Identify(w.ctx)
	}
	settler := newSettler(w.cluster, w.tell)
	for {
		switch e := event.(type) {
		case *batchv1.Job:
			r := readJob(e)
			delete(w.unclaimed, key(&r.job))
			if r.needsClaim() {
				w.unclaimed[key(&r.job)] = r
			}
			settler.add(w.ctx, r)
		case deletion:
			w.settle(settler)
			w.forget(e.object)
		case synced:
			w.settle(settler)
			w.send(Change{Type: Synced})
		}
		select {
		case event = <-w.events:
		default:
			w.settle(settler)
			return
		}
	}
}

// recheck looks up again what nobody had claimed so far.
func (w *watcher) recheck() {
	settler := newSettler(w.cluster, w.tell)
	for _, r := range w.unclaimed {
		settler.add(w.ctx, r)
	}
	w.settle(settler)
}

// settle tells the status of the Jobs that wait, and that Workloads may not be
// read, once.
func (w *watcher) settle(s *settler) {
	if err := s.finish(w.ctx); err != nil {
		w.report("workloads", err)
	} else {
		w.lost.Delete("workloads")
	}
}

// tell sends a Job if anything about it has changed.
func (w *watcher) tell(j Job) {
	old, existed := w.known[key(&j)]
	if existed && equal(&old, &j) {
		return
	}
	w.known[key(&j)] = j
	switch {
	case existed && old.UID == j.UID:
		w.send(Change{Type: Modified, Job: j})
	case existed:
		w.send(Change{Type: Deleted, Job: old})
		w.send(Change{Type: Added, Job: j})
	default:
		w.send(Change{Type: Added, Job: j})
	}
}

func (w *watcher) forget(object any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	delete(w.unclaimed, name)
	if old, ok := w.known[name]; ok {
		delete(w.known, name)
		w.send(Change{Type: Deleted, Job: old})
	}
}

// report tells of a loss, but not again and again while it lasts.
func (w *watcher) report(what string, err error) {
	if _, told := w.lost.Swap(what, true); !told {
		w.send(Change{Type: Lost, Err: fleet.InContext(w.cluster.Context, w.query.doing("watch", w.cluster), err)})
	}
}

func key(j *Job) string { return j.Namespace + "/" + j.Name }
