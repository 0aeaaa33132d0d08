package dispatch

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// ErrTimeout is the cause of a context that ends a Loop as TimedOut.
var ErrTimeout = errors.New("timed out")

// LoopOptions say how a Loop works.
type LoopOptions struct {
	Plan plan.Options
	// Identity names this process on Leases.
	Identity string
	// MirrorTTL is the ttlSecondsAfterFinished that a mirror gets once its end has
	// landed on the origin. Zero deletes it then, less leaves it for good.
	MirrorTTL time.Duration
	// DeleteOnInterrupt removes the mirrors of unfinished Jobs when the loop is
	// ended; otherwise they go on running.
	DeleteOnInterrupt bool
	// DetachAfterStart ends with a Job as soon as its pods run and the origin says
	// so.
	DetachAfterStart bool
	// NewMirror makes another mirror where the one that the origin names is gone.
	NewMirror bool
	// OriginMinor is the minor version of the origin's API server, 0 if unknown.
	OriginMinor int
}

// Task is a Job to be dispatched, or an object of another kind.
type Task struct {
	// Kind is the origin's, in the version that both clusters serve; the zero Kind is
	// Job.
	Kind delegation.Kind
	// Namespace, Name and UID are the origin's.
	Namespace, Name string
	UID             types.UID
	// Plan is the mirror as it was planned, which is made by as long as nothing has changed
	// on the origin since; nil if it has not been planned so far.
	Plan *plan.Plan
	// Dependencies are copied to the worker before the mirror is created.
	Dependencies []dependency.Object
	// Worker is the mirror's cluster; nil is the Loop's own.
	Worker *fleet.Cluster
	// Mirror is the UID of the mirror that was found on Worker by its label; "" if none was.
	Mirror types.UID
	// Cleared are places that the origin or its Lease names, and that were searched without
	// finding a mirror of this origin.
	Cleared []delegation.Place
}

// Outcome is how a task ended.
type Outcome struct {
	// Kind is the origin's.
	Kind   delegation.Kind
	Origin Ref
	// Mirror is nil if there never was one.
	Mirror *Ref
	// End is Completed, JobFailed, Cancelled, OriginDeleted, Detached,
	// Interrupted, TimedOut or Aborted.
	End EventType
	// Err says why, for Aborted.
	Err error
}

// Loop carries tasks out, any number of them, each of which fails by itself, and none of
// which waits for another's worker.
type Loop struct {
	// origin is the cluster of all origins, and usual that of mirrors that are meant for no
	// other.
	origin  *side
	usual   *fleet.Cluster
	options LoopOptions
	clock   clock.WithTicker
	events  *Recorder

	// workers are the clusters of mirrors, each once, and queues those of their tasks.
	workers map[*fleet.Cluster]*side
	queues  map[*side]taskQueue
	// informers are those of each cluster's namespaces and kinds.
	informers map[scope]*fleet.Informer
}

// taskQueue has tasks that are to be looked at.
type taskQueue = workqueue.TypedRateLimitingInterface[*task]

// NewLoop makes a loop from one cluster to another, which is that of all tasks that name
// no other.
func NewLoop(origin, worker *fleet.Cluster, o LoopOptions, c clock.WithTicker, events *Recorder) *Loop {
	return &Loop{
		origin: newSide(origin, events), usual: worker, options: o, clock: c, events: events,
		informers: map[scope]*fleet.Informer{},
		workers:   map[*fleet.Cluster]*side{},
		queues:    map[*side]taskQueue{},
	}
}

// workerOf is the side of a worker. The first one who asks for it makes it, with the queue
// of its tasks.
func (l *Loop) workerOf(c *fleet.Cluster) *side {
	if l.workers[c] == nil {
		worker := newSide(c, l.events)
		l.workers[c] = worker
		l.queues[worker] = workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[*task](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[*task]{Name: "dispatch", Clock: l.clock},
		)
	}
	return l.workers[c]
}

const (
	// firstRetry and lastRetry bound how long is waited after an error.
	firstRetry, lastRetry = 20 * time.Millisecond, 10 * time.Second
	// workers is how many Jobs of one worker are worked on at once.
	workers = 32
	// cleanupTimeout is how long the clean-up after the end of a loop may take.
	cleanupTimeout = 15 * time.Second
	// yieldTimeout is how long it is waited for whoever has the Lease to name its mirror.
	yieldTimeout = 15 * time.Second
)

// Run carries the tasks out until each has ended, or ctx is over: then what is
// unfinished ends as Interrupted, or as TimedOut if ErrTimeout is the cause.
// The outcomes are in the order of the tasks.
func (l *Loop) Run(ctx context.Context, tasks []Task) []Outcome {
	ordered := make([]*task, len(tasks))
	for i, t := range tasks {
		ordered[i] = l.add(t, timingFor(len(tasks)))
	}
	// Leases are held, and ends are told, for a while after ctx is over.
	outlive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	working, stop := context.WithCancel(ctx)
	defer stop()

	var watching, leasing, pool sync.WaitGroup
	l.watch(working, &watching, ordered)
	l.listen(working, &watching, ordered)
	slots := make(chan struct{}, workers)
	for _, t := range ordered {
		leasing.Go(func() { t.keepLease(outlive, slots) })
	}
	watching.Go(func() {
		// An origin that is gone before the informers begin is told by nobody. Before they
		// have begun, each would have to be read by itself.
		if cache.WaitForCacheSync(working.Done(), l.synced()...) {
			for _, t := range ordered {
				t.queue.Add(t)
			}
		}
	})
	for _, queue := range l.queues {
		for range min(workers, len(ordered)) {
			pool.Go(func() { l.work(working, queue) })
		}
	}
	l.await(ctx, ordered)
	stop()
	for _, queue := range l.queues {
		queue.ShutDown()
	}
	pool.Wait()
	watching.Wait()
	l.wrapUp(ctx, ordered)
	cancel()
	leasing.Wait()

	outcomes := make([]Outcome, len(ordered))
	for i, t := range ordered {
		outcomes[i] = *t.outcome
	}
	return outcomes
}

// synced are what tells that the informers of the origin's side know all there is.
func (l *Loop) synced() (all []cache.InformerSynced) {
	for s, informer := range l.informers {
		if s.side == l.origin {
			all = append(all, informer.HasSynced)
		}
	}
	return all
}

// await returns when all tasks have ended, or ctx is over.
func (l *Loop) await(ctx context.Context, tasks []*task) {
	for _, t := range tasks {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return
		}
	}
}

// wrapUp ends what is unfinished.
func (l *Loop) wrapUp(ctx context.Context, tasks []*task) {
	end := Interrupted
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		end = TimedOut
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	open := map[*side][]*task{}
	for _, t := range tasks {
		if !t.hasEnded() {
			open[t.worker] = append(open[t.worker], t)
		}
	}
	var wg sync.WaitGroup
	for _, ofWorker := range open {
		wg.Go(func() {
			var group errgroup.Group
			group.SetLimit(workers)
			for _, t := range ofWorker {
				group.Go(func() error {
					t.leave(bounded, end)
					return nil
				})
			}
			_ = group.Wait() // Each tells of its own end.
		})
	}
	wg.Wait()
}

func (l *Loop) add(t Task, timing leaseTiming) *task {
	t.Kind = object.OrJob(t.Kind)
	worker := l.workerOf(cmp.Or(t.Worker, l.usual))
	gvk := t.Kind.GroupVersionKind()
	origin := refTo(l.origin.Cluster, gvk, t.Namespace, t.Name, string(t.UID))
	mirror := refTo(worker.Cluster, gvk, cmp.Or(l.options.Plan.Namespace, t.Namespace), t.Name, string(t.Mirror))
	return &task{
		Loop: l, Task: t, ref: origin, worker: worker, queue: l.queues[worker],
		mirrorRef: mirror,
		lease: &lease{
			cluster: l.origin.Cluster, kind: t.Kind, origin: origin, identity: l.options.Identity, timing: timing, clock: l.clock,
			target: mirror.place(""), worker: worker.Identity(), cleared: t.Cleared, isFound: t.Mirror != "",
		},
		copier:  workloadOf(t.Kind).copier(l.options.OriginMinor),
		ended:   make(chan struct{}),
		replace: l.options.NewMirror,
	}
}

// work syncs tasks, one after the other, until the queue is shut down.
func (l *Loop) work(ctx context.Context, queue taskQueue) {
	for {
		t, shutdown := queue.Get()
		if shutdown {
			return
		}
		l.workOn(ctx, t)
	}
}

func (l *Loop) workOn(ctx context.Context, t *task) {
	defer t.queue.Done(t)
	if t.hasEnded() || ctx.Err() != nil {
		return
	}
	again, err := t.sync(ctx)
	switch {
	case t.hasEnded() || ctx.Err() != nil:
		t.queue.Forget(t)
	case apierrors.IsConflict(err):
		// What we know is old, and news of it is on its way.
		t.queue.AddRateLimited(t)
	case err != nil:
		t.tell(err)
		t.queue.AddRateLimited(t)
	default:
		t.told, t.refused = "", false
		t.queue.Forget(t)
		if again > 0 {
			t.queue.AddAfter(t, again)
		}
	}
}

// tell tells of an error, but not again and again while it lasts. That a cluster
// does not answer is told once for all Jobs.
func (t *task) tell(err error) {
	if failed := (*kubecontext.Error)(nil); errors.As(err, &failed) && kubecontext.IsConnection(failed.Err) {
		at := t.origin
		if failed.Context == t.worker.Context {
			at = t.worker
		}
		at.link.Note(failed.Err)
		return
	}
	if t.refused.mayPass(err) {
		return
	}
	message := command.Told(err)
	if message == t.told {
		return
	}
	t.told = message
	t.record(Warned, command.Say("%s; it is tried again", message))
}
