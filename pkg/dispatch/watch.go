package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// side is one of the clusters of a Loop, with the state of its connection. Each answered request
// for an object marks it as connected. Each caller that gives up a request marks it as
// disconnected.
type side struct {
	*fleet.Cluster
	link   cache.Link
	events *Recorder
}

func newSide(c *fleet.Cluster, events *Recorder) *side {
	s := &side{Cluster: c, events: events}
	s.link.Lost = func(err error) {
		events.Record(Event{Event: Disconnected, Message: string(command.Say("%v; Jobs keep running, retrying", c.Failed(err)))})
	}
	s.link.Recovered = func() {
		events.Record(Event{Event: Reconnected, Message: string(command.Say("context %s answers again", c.Context))})
	}
	return s
}

// get reads an object; nil means that the server reports none. That does not prove its absence:
// see proveGone.
func (s *side) get(ctx context.Context, k delegation.Kind, r Ref) (*unstructured.Unstructured, error) {
	found, err := s.Get(ctx, k.Resource, r.Namespace, r.Name)
	s.answered(err)
	return found, err
}

// patch applies a merge patch to an object.
func (s *side) patch(ctx context.Context, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any) (*unstructured.Unstructured, error) {
	written, err := patch(ctx, s.Cluster, k, o, subresource, p)
	s.answered(err)
	return written, err
}

// patch applies a merge patch on any cluster.
func patch(ctx context.Context, c *fleet.Cluster, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any, dryRun ...string) (*unstructured.Unstructured, error) {
	validation := ""
	if !k.IsJob() {
		// The stored object shows which fields the server does not know.
		validation = metav1.FieldValidationIgnore
	}
	return c.Patch(ctx, k.Resource, o, subresource, p, validation, dryRun...)
}

// proveGone returns nil if the object is certainly gone, and a conflict if it exists after all.
func (s *side) proveGone(ctx context.Context, k delegation.Kind, r Ref) error {
	err := s.ProveGone(ctx, k.Resource, r.Namespace, r.Name, r.UID)
	s.answered(err)
	if present := (*kubecontext.PresentError)(nil); errors.As(err, &present) {
		return conflict(k, r.Name)
	}
	return err
}

// answered records that the cluster has answered a request, with or without success.
func (s *side) answered(err error) {
	if kubecontext.Outage(err) == nil {
		s.link.Note(nil)
	}
}

// watchNews is what was reported about the requests of one informer, which sends them one by one.
type watchNews struct {
	scope
	unauthorized refusal
	last         command.Prose
}

// onResult records the result of a request. A refusal is an answer, so the cluster is connected. It is
// reported once.
func (n *watchNews) onResult(err error) {
	n.side.link.Note(kubecontext.Outage(err))
	switch {
	case err == nil:
		n.unauthorized = false
		return
	case kubecontext.IsConnection(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err), n.unauthorized.mayPass(err):
		// After 410 Gone, the informer lists again.
		return
	}
	failed := kubecontext.InContext(n.side.Context, fmt.Sprintf("watch %s in namespace %q", n.resource.GroupResource(), n.namespace), err)
	if message := command.ProseOf(failed); message != n.last {
		n.last = message
		n.side.events.Record(Event{Event: Warned, Message: string(command.Say("%s; retrying", message))})
	}
}

// scope is what one informer watches.
type scope struct {
	side      *side
	resource  schema.GroupVersionResource
	namespace string
}

// watch starts informers for all origins and mirrors. Their events queue tasks. A task finds out
// about deletions itself.
func (l *Loop) watch(ctx context.Context, wg *sync.WaitGroup, tasks []*task) {
	wanted := map[scope]map[string][]*task{}
	for _, t := range tasks {
		for _, at := range []struct {
			side *side
			ref  Ref
		}{{l.origin, t.ref}, {t.worker, t.mirrorRef}} {
			s := scope{at.side, t.Kind.Resource, at.ref.Namespace}
			if wanted[s] == nil {
				wanted[s] = map[string][]*task{}
			}
			// A finished origin of another namespace may have had a mirror of the same name.
			wanted[s][at.ref.String()] = append(wanted[s][at.ref.String()], t)
		}
	}
	for s, known := range wanted {
		informer := l.newInformer(s, known)
		l.informers[s] = informer
		wg.Go(func() { informer.Run(ctx) })
	}
}

// newInformer returns an informer for some tasks, by namespace/name of the origin or the mirror.
func (l *Loop) newInformer(s scope, known map[string][]*task) *cache.Informer {
	news := &watchNews{scope: s}
	return cache.NewInformer(cache.Informed[*unstructured.UnstructuredList]{
		Client: s.side.Objects(s.resource, s.namespace), Selected: l.selected(s, known), OnResult: news.onResult,
		Like: &unstructured.Unstructured{}, Trim: func(o any) any { return trim(o, known) },
		Handler: clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.enqueue(s, known, nil, o) },
			UpdateFunc: func(old, o any) { l.enqueue(s, known, old, o) },
			DeleteFunc: func(o any) { l.enqueue(s, known, nil, o) },
		},
	})
}

// pollClusters requests a Job of each cluster periodically, to notice a cluster that does not
// answer.
func (l *Loop) pollClusters(ctx context.Context, wg *sync.WaitGroup, tasks []*task) {
	polled := map[*side]bool{}
	ask := func(s *side, k delegation.Kind, r Ref) {
		if !polled[s] {
			polled[s] = true
			wg.Go(func() { l.pollCluster(ctx, s, k, r) })
		}
	}
	for _, t := range tasks {
		ask(l.origin, t.Kind, t.ref)
		ask(t.worker, t.Kind, t.mirrorRef)
	}
}

func (l *Loop) pollCluster(ctx context.Context, s *side, k delegation.Kind, r Ref) {
	s.link.Monitor(ctx, cache.Check{Clock: l.clock, Every: cache.Heartbeat, Retry: cache.Retry, Ask: func(ctx context.Context) error {
		_, err := s.get(ctx, k, r)
		return kubecontext.Outage(err)
	}})
}

// enqueue queues the task of an object.
func (l *Loop) enqueue(s scope, known map[string][]*task, old, object any) {
	key, err := clientcache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	tasks := known[key]
	if len(tasks) == 0 {
		return
	}
	if before, ok := old.(*unstructured.Unstructured); ok && s.side != l.origin {
		if now, ok := object.(*unstructured.Unstructured); ok && !apiequality.Semantic.DeepEqual(before.Object["status"], now.Object["status"]) {
			now := l.clock.Now()
			for _, t := range tasks {
				t.changedAt.CompareAndSwap(nil, &now)
			}
		}
	}
	for _, t := range tasks {
		t.queue.Add(t)
	}
}

// trim reduces Jobs of no task to their names.
func trim(object any, known map[string][]*task) any {
	job, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object
	}
	if _, ours := known[job.GetNamespace()+"/"+job.GetName()]; ours {
		return fleet.Trimmed(job)
	}
	brief := &unstructured.Unstructured{Object: map[string]any{}}
	brief.SetGroupVersionKind(job.GroupVersionKind())
	brief.SetNamespace(job.GetNamespace())
	brief.SetName(job.GetName())
	brief.SetUID(job.GetUID())
	brief.SetResourceVersion(job.GetResourceVersion())
	return brief
}

// selected returns the list options of an informer. One Job is selected by its name. Of several
// Jobs, the origin's side lists the whole namespace, and the worker's side all objects with our
// label.
func (l *Loop) selected(s scope, known map[string][]*task) (o metav1.ListOptions) {
	switch {
	case len(known) == 1:
		for _, tasks := range known {
			// A mirror has the name of its origin.
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, tasks[0].Name).String()
		}
	case s.side != l.origin:
		o.LabelSelector = delegation.OriginUIDLabel
	}
	return o
}

// cached returns the informer's copy of the origin or the mirror; nil if it has none.
func (t *task) cached(at *side, r Ref) *unstructured.Unstructured {
	job, _ := t.informers[scope{at, t.Kind.Resource, r.Namespace}].Get(r.String()).(*unstructured.Unstructured)
	return job
}

// copyLag returns the time between noticing a change of the mirror's status and storing it on the
// origin, in seconds.
func (t *task) copyLag() float64 {
	seen := t.changedAt.Swap(nil)
	if seen == nil {
		return 0
	}
	return t.clock.Since(*seen).Seconds()
}
