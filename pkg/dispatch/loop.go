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
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// ErrTimeout is the cause of a context that ends a Loop as TimedOut.
var ErrTimeout = errors.New("timed out")

// LoopOptions configure a Loop.
type LoopOptions struct {
	Plan plan.Options
	// Identity names this process on Leases.
	Identity string
	// MirrorTTL is the ttlSecondsAfterFinished of a mirror after its final status is stored on
	// the origin. Zero deletes the mirror at once; a negative value keeps it.
	MirrorTTL time.Duration
	// DeleteOnInterrupt deletes the mirrors of unfinished Jobs when the loop ends. Otherwise they
	// keep running.
	DeleteOnInterrupt bool
	// DetachAfterStart ends a task as soon as the origin's status shows that its Pods run.
	DetachAfterStart bool
	// NewMirror creates another mirror if the one that the origin names is gone.
	NewMirror bool
	// OriginMinor is the minor version of the origin's API server, 0 if unknown.
	OriginMinor int
}

// Task is a Job to dispatch, or an object of another kind.
type Task struct {
	// Kind is the origin's kind, in the version that both clusters serve. The zero Kind means
	// Job.
	Kind delegation.Kind
	// Namespace, Name and UID are the origin's.
	Namespace, Name string
	UID             types.UID
	// Plan is the planned mirror, which is used until the origin changes; nil if there is no plan
	// yet.
	Plan *plan.Plan
	// Dependencies are copied to the worker before the mirror is created.
	Dependencies []dependency.Object
	// Worker is the mirror's cluster; nil means the Loop's own worker.
	Worker *fleet.Cluster
	// Mirror is the UID of the mirror found on Worker by its label, or "".
	Mirror types.UID
	// Cleared are places named by the origin or its Lease that were searched and hold no mirror
	// of this origin.
	Cleared []delegation.Place
}

// Outcome is the result of a task.
type Outcome struct {
	// Kind is the origin's kind.
	Kind   delegation.Kind
	Origin Ref
	// Mirror is nil if there never was a mirror.
	Mirror *Ref
	// End is Completed, JobFailed, Cancelled, OriginDeleted, Detached,
	// Interrupted, TimedOut or Aborted.
	End EventType
	// Err is the reason for Aborted.
	Err error
}

// Loop runs any number of tasks. Each fails on its own, and none waits for the worker of another.
type Loop struct {
	// origin is the cluster of all origins. defaultWorker is the worker of tasks that name none.
	origin        *side
	defaultWorker *fleet.Cluster
	options       LoopOptions
	clock         clock.WithTicker
	events        *Recorder

	// workers are the clusters of mirrors. queues are the task queues of these workers.
	workers map[*fleet.Cluster]*side
	queues  map[*side]taskQueue
	// informers has one informer per cluster, resource and namespace.
	informers map[scope]*cache.Informer
}

// taskQueue holds tasks that need a sync.
type taskQueue = workqueue.TypedRateLimitingInterface[*task]

// NewLoop returns a loop from one cluster to a worker. Tasks may name other workers.
func NewLoop(origin, worker *fleet.Cluster, o LoopOptions, c clock.WithTicker, events *Recorder) *Loop {
	return &Loop{
		origin: newSide(origin, events), defaultWorker: worker, options: o, clock: c, events: events,
		informers: map[scope]*cache.Informer{},
		workers:   map[*fleet.Cluster]*side{},
		queues:    map[*side]taskQueue{},
	}
}

// workerOf returns the side of a worker. The first call for a worker creates it, with its task
// queue.
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
	// firstRetry and lastRetry are the shortest and the longest delay after an error.
	firstRetry, lastRetry = 20 * time.Millisecond, 10 * time.Second
	// syncsAtOnce is the number of Jobs of one worker that are synced at once.
	syncsAtOnce = 32
	// cleanupTimeout limits the cleanup after the end of a loop.
	cleanupTimeout = 15 * time.Second
	// yieldTimeout limits the wait for the holder of the Lease to name its mirror.
	yieldTimeout = 15 * time.Second
)

// Run runs the tasks until each has ended, or ctx is done. In that case unfinished tasks end as
// Interrupted, or as TimedOut if ErrTimeout is the cause. The outcomes are in the order of the
// tasks.
func (l *Loop) Run(ctx context.Context, tasks []Task) []Outcome {
	ordered := make([]*task, len(tasks))
	for i, t := range tasks {
		ordered[i] = l.add(t, timingFor(len(tasks)))
	}
	// Leases are held, and ends are reported, for a while after ctx is done.
	outlive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// A deadline of ctx must not replace the time limits of requests.
	working, stop := context.WithCancel(outlive)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	var watching, leasing, pool sync.WaitGroup
	l.watch(working, &watching, ordered)
	l.pollClusters(working, &watching, ordered)
	slots := make(chan struct{}, syncsAtOnce)
	for _, t := range ordered {
		leasing.Go(func() { t.keepLease(outlive, slots) })
	}
	watching.Go(func() {
		// The informers do not report an origin that was deleted before they started, so each
		// task is queued once. Waiting for the informers saves reading each origin separately.
		if clientcache.WaitForCacheSync(working.Done(), l.synced()...) {
			for _, t := range ordered {
				t.queue.Add(t)
			}
		}
	})
	for _, queue := range l.queues {
		for range min(syncsAtOnce, len(ordered)) {
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

// synced returns the functions that report whether the informers on the origin's side have
// synced.
func (l *Loop) synced() (all []clientcache.InformerSynced) {
	for s, informer := range l.informers {
		if s.side == l.origin {
			all = append(all, informer.HasSynced)
		}
	}
	return all
}

// await waits until all tasks have ended, or ctx is done.
func (l *Loop) await(ctx context.Context, tasks []*task) {
	for _, t := range tasks {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return
		}
	}
}

// wrapUp ends the unfinished tasks.
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
			group.SetLimit(syncsAtOnce)
			for _, t := range ofWorker {
				group.Go(func() error {
					t.leave(bounded, end)
					return nil
				})
			}
			_ = group.Wait() // Each task reports its own end.
		})
	}
	wg.Wait()
}

func (l *Loop) add(t Task, timing leaseTiming) *task {
	t.Kind = object.OrJob(t.Kind)
	worker := l.workerOf(cmp.Or(t.Worker, l.defaultWorker))
	gvk := t.Kind.GroupVersionKind()
	origin := refTo(l.origin.Cluster, gvk, t.Namespace, t.Name, string(t.UID))
	mirror := refTo(worker.Cluster, gvk, cmp.Or(l.options.Plan.Namespace, t.Namespace), t.Name, string(t.Mirror))
	return &task{
		Loop: l, Task: t, ref: origin, worker: worker, queue: l.queues[worker],
		mirrorRef: mirror,
		lease: &lease{
			leaseStore: leaseStore{cluster: l.origin.Cluster, kind: t.Kind, origin: origin}, identity: l.options.Identity, timing: timing, clock: l.clock,
			target: mirror.place(""), worker: worker.Identity(), cleared: t.Cleared, isFound: t.Mirror != "",
		},
		copier:   workloadOf(t.Kind).newCopier(l.options.OriginMinor),
		ended:    make(chan struct{}),
		creation: creation{replaces: l.options.NewMirror},
	}
}

// work syncs one task after the other until the queue is shut down.
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
	requeueAfter, err := t.sync(ctx)
	switch {
	case t.hasEnded() || ctx.Err() != nil:
		t.queue.Forget(t)
	case apierrors.IsConflict(err):
		// Our copy is outdated, and the informer will deliver the new one.
		t.queue.AddRateLimited(t)
	case err != nil:
		t.reportError(err)
		t.queue.AddRateLimited(t)
	default:
		t.reported.lastError, t.unauthorized = "", false
		t.queue.Forget(t)
		if requeueAfter > 0 {
			t.queue.AddAfter(t, requeueAfter)
		}
	}
}

// reportError reports an error, but not repeatedly while it lasts. For a cluster that does not
// answer, it makes one report for all Jobs.
func (t *task) reportError(err error) {
	if failed := (*kubecontext.Error)(nil); errors.As(err, &failed) && kubecontext.IsConnection(failed.Err) {
		at := t.origin
		if failed.Context == t.worker.Context {
			at = t.worker
		}
		at.link.Note(failed.Err)
		return
	}
	if t.unauthorized.mayPass(err) {
		return
	}
	message := command.ProseOf(err)
	if t.reported.isRepeated(message) {
		return
	}
	t.record(Warned, command.Say("%s; retrying", message))
}
