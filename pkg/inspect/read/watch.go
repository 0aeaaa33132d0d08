package read

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// claimInterval is how often Jobs that nobody has claimed yet are looked up
// again: a Workload that appears changes nothing about the Job itself.
const claimInterval = 2 * time.Second

// Watch tells what happens to the objects of one cluster until ctx is over. It
// survives restarts of the API server, closed watches and expired resource
// versions; what happened in between is told when it is back. Changes that
// leave everything the model keeps as it was are not told. Kinds that the cluster
// begins to serve later are not seen.
//
// A connection over which nothing comes looks like a cluster in which nothing happens.
// So it is asked for something now and then, and Lost is told where there is no answer
// within timeout; zero is for who does not care.
func Watch(ctx context.Context, c *fleet.Cluster, q Query, timeout time.Duration, changes chan<- inspect.Change) {
	w := &watcher{
		cluster: c, query: q, timeout: timeout, changes: changes, ctx: ctx,
		events: make(chan any, chunk),
		known:  map[string]inspect.Job{}, unclaimed: map[string]read{},
	}
	// What an informer has to say of each lost connection is for -v=2; that the
	// cluster does not answer is told as a change.
	quiet := klog.NewContext(ctx, klog.FromContext(ctx).V(2))
	var wg sync.WaitGroup
	defer wg.Wait()
	var synced []cache.InformerSynced
	for _, kind := range w.kinds() {
		informer, hasSynced, err := w.informer(kind)
		if err != nil {
			w.send(inspect.Change{Type: inspect.Lost, Err: err})
			return
		}
		synced = append(synced, hasSynced)
		wg.Go(func() { informer.RunWithContext(quiet) })
	}
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			w.enqueue(inStep{})
		}
	})
	if timeout > 0 {
		wg.Go(w.listen)
	}
	w.run()
}

// deletion and inStep are what stands in a watcher's queue beside reads.
type (
	deletion struct {
		kind   delegation.Kind
		object any
	}
	inStep struct{}
)

// watcher turns what an informer tells into changes. All of its state is its
// own goroutine's, but for lost.
type watcher struct {
	cluster *fleet.Cluster
	query   Query
	// timeout is how long the cluster may take to answer.
	timeout time.Duration
	changes chan<- inspect.Change
	ctx     context.Context
	events  chan any
	// known are the Jobs as they were told last, by their keys.
	known map[string]inspect.Job
	// identified is whether the cluster was asked for its identity again.
	identified bool
	// unclaimed are those to look up again.
	unclaimed map[string]read

	lost sync.Map
}

// kinds asks which kinds there are to be watched, until there is an answer.
func (w *watcher) kinds() []delegation.Kind {
	var kinds []delegation.Kind
	// The only error is that the watch is over.
	_ = wait.PollUntilContextCancel(w.ctx, claimInterval, true, func(ctx context.Context) (bool, error) {
		var err error
		kinds, err = w.query.Served(ctx, w.cluster)
		if err != nil {
			w.report("kinds", kubecontext.InContext(w.cluster.Context, "find out what it serves", err))
		} else if _, was := w.lost.LoadAndDelete("kinds"); was {
			w.send(inspect.Change{Type: inspect.Found})
		}
		return err == nil || len(kinds) > 0, nil
	})
	return kinds
}

// informer watches the objects of one kind.
func (w *watcher) informer(kind delegation.Kind) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	source, err := w.source(kind)
	if err != nil {
		return nil, nil, err
	}
	informer := cache.NewSharedIndexInformerWithOptions(source.listWatch, source.example, cache.SharedIndexInformerOptions{})
	// Neither call can fail before the informer runs. The informer's own way of
	// telling errors leaves out refused connections, so the source does it.
	_ = informer.SetTransform(source.trim)
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {})
	enqueue := func(o any) {
		if r, ok := source.read(o); ok {
			w.enqueue(r)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, o any) { enqueue(o) },
		DeleteFunc: func(o any) { w.enqueue(deletion{kind, o}) },
	})
	if err != nil {
		return nil, nil, err
	}
	return informer, registration.HasSynced, nil
}

func (w *watcher) enqueue(event any) {
	select {
	case w.events <- event:
	case <-w.ctx.Done():
	}
}

func (w *watcher) send(change inspect.Change) {
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
		case read:
			delete(w.unclaimed, inspect.Key(&e.job))
			if e.needsClaim() {
				w.unclaimed[inspect.Key(&e.job)] = e
			}
			settler.add(w.ctx, e)
		case deletion:
			w.settle(settler)
			w.forget(e)
		case inStep:
			w.settle(settler)
			w.send(inspect.Change{Type: inspect.Synced})
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

// settle tells the status of the Jobs that wait; that Workloads may not be read,
// once; and when they can be again, or nothing depends on them any more. That nobody
// had to ask for them says nothing.
func (w *watcher) settle(s *settler) {
	switch err := s.finish(w.ctx); {
	case err != nil:
		w.report("workloads", kubecontext.InContext(w.cluster.Context, "list workloads.kueue.x-k8s.io", err))
	case s.asked, len(w.unclaimed) == 0:
		w.recovered("workloads")
	}
}

// tell sends a Job if anything about it has changed.
func (w *watcher) tell(j inspect.Job) {
	old, existed := w.known[inspect.Key(&j)]
	if existed && equal(&old, &j) {
		return
	}
	w.known[inspect.Key(&j)] = j
	switch {
	case existed && old.UID == j.UID:
		w.send(inspect.Change{Type: inspect.Modified, Job: j})
	case existed:
		w.send(inspect.Change{Type: inspect.Deleted, Job: old})
		w.send(inspect.Change{Type: inspect.Added, Job: j})
	default:
		w.send(inspect.Change{Type: inspect.Added, Job: j})
	}
}

func (w *watcher) forget(d deletion) {
	object, err := cache.DeletionHandlingObjectToName(d.object)
	if err != nil {
		return
	}
	k := inspect.KeyOf(d.kind.GroupVersionKind().GroupKind(), object.Namespace, object.Name)
	delete(w.unclaimed, k)
	if old, ok := w.known[k]; ok {
		delete(w.known, k)
		w.send(inspect.Change{Type: inspect.Deleted, Job: old})
	}
}

// report tells of a loss, but not again and again while it lasts.
func (w *watcher) report(what string, err error) {
	if _, told := w.lost.Swap(what, true); !told {
		w.send(inspect.Change{Type: inspect.Lost, Err: err})
	}
}

// recovered tells that a loss is over, once nothing else is lost.
func (w *watcher) recovered(what string) {
	if _, was := w.lost.LoadAndDelete(what); !was {
		return
	}
	w.lost.Delete("workloads")
	isLost := false
	w.lost.Range(func(any, any) bool {
		isLost = true
		return false
	})
	if !isLost {
		w.send(inspect.Change{Type: inspect.Found})
	}
}
