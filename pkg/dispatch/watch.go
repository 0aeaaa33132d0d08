package dispatch

import (
	"context"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// scope is what one informer looks at.
type scope struct {
	side      *side
	resource  schema.GroupVersionResource
	namespace string
}

// watch starts informers for all Jobs of the tasks and their mirrors. What they
// tell puts tasks into the queue; that something is gone is for the task to find
// out by itself.
func (l *Loop) watch(ctx context.Context, wg *sync.WaitGroup, tasks []*task) {
	wanted := map[scope]map[string]*task{}
	for _, t := range tasks {
		for _, at := range []struct {
			side *side
			ref  Ref
		}{{l.origin, t.ref}, {t.worker, t.mirrorRef}} {
			s := scope{at.side, t.Kind.Resource, at.ref.Namespace}
			if wanted[s] == nil {
				wanted[s] = map[string]*task{}
			}
			wanted[s][at.ref.String()] = t
		}
	}
	for s, known := range wanted {
		informer := l.newInformer(s, known)
		l.informers[s] = informer
		wg.Go(func() { informer.Run(ctx) })
	}
}

// newInformer makes one for some tasks, by the namespace/name of the origin or the
// mirror.
func (l *Loop) newInformer(s scope, known map[string]*task) *fleet.Informer {
	return fleet.NewInformer(fleet.Informed[*unstructured.UnstructuredList]{
		Client: s.side.Objects(s.resource, s.namespace), Selected: l.selected(s, known), Told: s.side.link.Note,
		Like: &unstructured.Unstructured{}, Trim: func(o any) any { return slim(o, known) },
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.heard(s, known, nil, o) },
			UpdateFunc: func(old, o any) { l.heard(s, known, old, o) },
			DeleteFunc: func(o any) { l.heard(s, known, nil, o) },
		},
	})
}

// heartbeat is how often a cluster is asked for something although nothing happens:
// a connection that hangs tells nobody.
const heartbeat = 10 * time.Second

// listen asks each cluster for a Job now and then, so that it is known when one
// does not answer.
func (l *Loop) listen(ctx context.Context, wg *sync.WaitGroup, tasks []*task) {
	asked := map[*side]bool{}
	ask := func(s *side, k delegation.Kind, r Ref) {
		if !asked[s] {
			asked[s] = true
			wg.Go(func() { l.listenTo(ctx, s, k, r) })
		}
	}
	for _, t := range tasks {
		ask(l.origin, t.Kind, t.ref)
		ask(t.worker, t.Kind, t.mirrorRef)
	}
}

func (l *Loop) listenTo(ctx context.Context, s *side, k delegation.Kind, r Ref) {
	ticker := l.clock.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if _, err := s.get(ctx, k, r); err != nil && kubecontext.IsConnection(err) && ctx.Err() == nil {
			s.link.Note(err)
		}
	}
}

// heard puts the task that an object belongs to into the queue.
func (l *Loop) heard(s scope, known map[string]*task, old, object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	t, ok := known[key]
	if !ok {
		return
	}
	if before, ok := old.(*unstructured.Unstructured); ok && s.side != l.origin {
		if now, ok := object.(*unstructured.Unstructured); ok && !apiequality.Semantic.DeepEqual(before.Object["status"], now.Object["status"]) {
			now := l.clock.Now()
			t.seen.CompareAndSwap(nil, &now)
		}
	}
	t.queue.Add(t)
}

// slim keeps of Jobs that are none of ours no more than their names.
func slim(object any, known map[string]*task) any {
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

// selected is one Job by its name; of several, all of the namespace on the origin's side, and
// all that carry our mark on the worker's.
func (l *Loop) selected(s scope, known map[string]*task) (o metav1.ListOptions) {
	switch {
	case len(known) == 1:
		for _, t := range known {
			// A mirror has its origin's name.
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()
		}
	case s.side != l.origin:
		o.LabelSelector = delegation.OriginUIDLabel
	}
	return o
}

// cached returns what an informer has of the origin or the mirror, nil if it has
// nothing.
func (t *task) cached(at *side, r Ref) *unstructured.Unstructured {
	job, _ := t.informers[scope{at, t.Kind.Resource, r.Namespace}].Get(r.String()).(*unstructured.Unstructured)
	return job
}

// lagOf returns how long a change of the mirror's status took to land on the
// origin, in seconds.
func (t *task) lagOf() float64 {
	seen := t.seen.Swap(nil)
	if seen == nil {
		return 0
	}
	return t.clock.Since(*seen).Seconds()
}
