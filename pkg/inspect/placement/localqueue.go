package placement

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// lacksLocalQueue decides for a cluster without the LocalQueue of the request, with the change that creates it.
func (s *site) lacksLocalQueue() bool {
	r, queue := s.request, kueue.QueueFor(s.capacity.ClusterQueues, s.role.clusterQueue)
	missing := closure{reason: inspect.QueueMissing, wait: kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}, state: "absent"}
	if queue != nil {
		missing.opened = through(localQueueFor(r, queue))
	}
	return s.close(&missing, queue, "LocalQueue %s/%s does not exist", r.Namespace, r.Queue)
}

// openNamespace adds to the change that creates the namespace of the request on a worker the step that creates the LocalQueue
// there, and whether the request starts after both.
func (s *site) openNamespace() {
	if s.capacity.Gaps[inspect.PartClusterQueues] != nil {
		return
	}
	queue := kueue.QueueFor(s.capacity.ClusterQueues, s.role.clusterQueue)
	creates, last := s.creates(queue), &s.Changes[len(s.Changes)-1]
	last.Then = stepsOf(creates[:min(1, len(creates))])
	if queue == nil {
		return
	}
	with := s.role
	with.assumed, with.isChanged = localQueueFor(s.request, queue), true
	with.namespace = &inspect.Namespace{Name: s.request.Namespace, Labels: map[string]string{corev1.LabelMetadataName: s.request.Namespace}}
	last.Starts = newSite(s.facts, s.request, s.around, with, nil).judge().Verdict == inspect.Fits
}

// localQueueFor returns the LocalQueue of a request as it would be if it pointed to a ClusterQueue.
func localQueueFor(r *Request, q *kueue.ClusterQueue) *kueue.LocalQueue {
	local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Queue}}
	local.Spec.ClusterQueue = q.Name
	return local
}

// lookup finds Kueue's objects on a cluster that a request is submitted to, with the LocalQueue that its files create
// there, unless one exists.
func (r *Request) lookup(f *inspect.Facts) kueue.Lookup {
	l, created := f.LookupAll(), r.LocalQueue
	if !r.createsQueueOn(f) {
		return l
	}
	existing := l.LocalQueue
	l.LocalQueue = func(namespace, name string) (*kueue.LocalQueue, error) {
		if created.Namespace == namespace && created.Name == name {
			return created, nil
		}
		return existing(namespace, name)
	}
	return l
}

// findLocal returns the LocalQueue, nil if it does not exist.
func (s *site) findLocal() (local *kueue.LocalQueue, err error) {
	if s.role.assumed != nil {
		return s.role.assumed, nil
	}
	on := s.facts.LookupAll()
	if s.role.isEntry {
		on = s.request.lookup(s.facts)
	}
	return on.LocalQueue(s.request.Namespace, s.request.Queue)
}

// createsQueueOn reports whether the files of a request create its LocalQueue on a cluster, where none exists.
func (r *Request) createsQueueOn(f *inspect.Facts) bool {
	if r.LocalQueue == nil {
		return false
	}
	local, err := f.LookupAll().LocalQueue(r.LocalQueue.Namespace, r.LocalQueue.Name)
	return local == nil && err == nil
}

// IsDefaultedByNewQueue reports whether MultiKueue becomes the owner of a request only through a LocalQueue that its
// files create with it. Kueue's webhook must know the LocalQueue when the Job is created: see isUndefaulted.
func IsDefaultedByNewQueue(v *inspect.Inventory, r *Request) bool {
	return r.LocalQueue != nil && r.isDefaultable() && slices.ContainsFunc(Entries(v, r), func(f *inspect.Facts) bool {
		if !hasCapacity(f) || !r.createsQueueOn(f) {
			return false
		}
		q := f.LookupAll().RouteFrom(r.LocalQueue).Cluster.Object
		return q != nil && f.LookupAll().MultiKueue(q).Object != nil
	})
}

// misses reports whether a cluster is known to lack the LocalQueue of a request.
func misses(on kueue.Lookup, r *Request) bool {
	local, err := on.LocalQueue(r.Namespace, r.Queue)
	return local == nil && err == nil
}

// createFirst is the change for an object that the files of a request create, too: what a cluster makes of it is
// known once it exists.
func createFirst(kind, name string) inspect.PlacementChange {
	return inspect.PlacementChange{Message: fmt.Sprintf("create %s %s first, and then run trace -f again", kind, name)}
}

// openQueue adds the change that creates the LocalQueue of a new request where it is submitted, and on the
// worker that could run it then. If no cluster could, it says why, and adds the changes for that, too.
func (a *Surroundings) openQueue(own *inspect.Placement, manager *inspect.Facts, r *Request) {
	queue := kueue.QueueFor(manager.Kueue.Capacity.ClusterQueues, "")
	creates, after := newSite(manager, r, a, role{}, nil).creates(queue), r.submitAfter(manager)
	if queue == nil {
		for i := range creates {
			creates[i].Then = slices.Concat(creates[i].Then, after)
		}
		own.Changes = append(own.Changes, creates...)
		return
	}
	names := manager.Kueue.ClustersBehind(queue.Checks())
	entry := role{isNew: true, isEntry: true, isGiven: len(names) > 0, owners: ownersOn(manager), assumed: localQueueFor(r, queue)}
	last := newSite(manager, r, a, entry, nil).judge()
	refuseOwner(last, manager, queue, r, true)
	steps := doubted(last)
	if len(names) > 0 {
		worker, opens := a.openWorker(manager, names, r, queue)
		steps = slices.Concat(opens, steps, doubted(worker))
		if last.Verdict != inspect.Never {
			last = worker
		}
	}
	if last.Verdict != inspect.Never {
		for i := range creates {
			creates[i].Then, creates[i].Starts = append(stepsOf(steps), after...), last.Verdict == inspect.Fits
		}
		own.Changes = append(own.Changes, creates...)
		return
	}
	where := ""
	if place := cmp.Or(last.Context, last.Cluster); place != own.Context {
		where = ", on " + place
	}
	own.Message += fmt.Sprintf("; even with it%s: %s", where, last.Message)
	for _, c := range last.Changes {
		c.Stem = ""
		c.Then = slices.Concat(c.Then, stepsOf(slices.Concat(creates, steps)), after)
		own.Changes = append(own.Changes, c)
	}
}

// openWorker returns the placement on the best worker of a manager if that had the LocalQueue of a request,
// and the changes that create it.
func (a *Surroundings) openWorker(manager *inspect.Facts, names []string, r *Request, queue *kueue.ClusterQueue) (found *inspect.Placement, changes []inspect.PlacementChange) {
	for _, name := range names {
		var creates []inspect.PlacementChange
		worker := role{isNew: true, owners: ownersOn(manager), clusterQueue: queue.Name}
		f := a.inventory.Facts(a.inventory.ContextOf(manager, name))
		if f != nil && hasCapacity(f) && misses(f.LookupAll(), r) {
			if like := kueue.QueueFor(f.Kueue.Capacity.ClusterQueues, queue.Name); like != nil {
				worker.assumed = localQueueFor(r, like)
				creates = newSite(f, r, a, role{}, nil).creates(like)
			}
		}
		p := a.onWorker(manager, name, r, worker, nil)
		if found == nil || worse(found.Verdict, p.Verdict) || found.Verdict == p.Verdict && p.LeastChange() < found.LeastChange() {
			found, changes = p, creates
		}
	}
	return found, changes
}

// creates returns the changes that create the LocalQueue of the request for a ClusterQueue.
func (s *site) creates(queue *kueue.ClusterQueue) []inspect.PlacementChange {
	return s.fixesOf(kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}, queue)
}

// stepsOf returns changes that follow each other as the steps of one change.
func stepsOf(changes []inspect.PlacementChange) (steps []command.Step) {
	for _, c := range changes {
		step := command.Step{Text: c.Message, Command: []string{}}
		if c.Command != "" {
			step.Command = command.Words(c.Command)
		}
		steps = append(append(steps, step), c.Then...)
	}
	return steps
}
