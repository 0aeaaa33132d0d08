package logs

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
)

// pod is the latest known version of a Pod.
type pod struct {
	mu     sync.Mutex
	object *corev1.Pod
	isGone bool
	// changed is closed at the next change.
	changed chan struct{}
}

// latest returns the latest known version, and a channel that is closed at its next change.
func (p *pod) latest() (o *corev1.Pod, isGone bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object, p.isGone, p.changed
}

// notifyChange wakes those that wait for a change.
func (p *pod) notifyChange() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// take stores a version of the Pod, unless a newer one is known. Resource versions of one kind
// can be compared (apimachinery: pkg/util/resourceversion).
func (p *pod) take(o *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, p.object.ResourceVersion); err == nil && order <= 0 {
		return
	}
	p.object = o
	p.notifyChange()
}

// markGone records that the Pod no longer exists.
func (p *pod) markGone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isGone = true
	p.notifyChange()
}

// pods are the Pods of a target.
type pods struct {
	target Target
	// found receives each Pod once.
	found func(*pod)

	mu    sync.Mutex
	known map[types.UID]*pod
}

// put stores the current version of a Pod.
func (s *pods) put(o *corev1.Pod) {
	if !s.target.owns(o) {
		return
	}
	s.mu.Lock()
	p, isKnown := s.known[o.UID]
	if !isKnown {
		p = &pod{object: o, changed: make(chan struct{})}
		s.known[o.UID] = p
	}
	s.mu.Unlock()
	if !isKnown {
		s.found(p)
		return
	}
	p.take(o)
}

func (s *pods) drop(uid types.UID) {
	s.mu.Lock()
	p := s.known[uid]
	s.mu.Unlock()
	if p != nil {
		p.markGone()
	}
}

// informer returns an informer that keeps the Pods current. report receives the result of each
// request for them.
func (s *pods) informer(report func(error)) *cache.Informer {
	return cache.NewInformer(cache.Informed[*corev1.PodList]{
		Client: s.target.Client.CoreV1().Pods(s.target.Job.Namespace), Selected: s.target.options(), OnResult: report,
		Like: &corev1.Pod{}, Trim: func(o any) any {
			if p, ok := o.(*corev1.Pod); ok {
				trim(p)
			}
			return o
		},
		Handler: clientcache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { s.update(o) },
			UpdateFunc: func(old, o any) {
				if was, ok := old.(*corev1.Pod); ok && was.UID != uidOf(o) {
					s.drop(was.UID)
				}
				s.update(o)
			},
			DeleteFunc: func(o any) {
				if last, ok := o.(clientcache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				s.update(o)
				s.drop(uidOf(o))
			},
		},
	})
}

func (s *pods) update(o any) {
	if p, ok := o.(*corev1.Pod); ok {
		s.put(p)
	}
}

func uidOf(o any) types.UID {
	if p, ok := o.(*corev1.Pod); ok {
		return p.UID
	}
	return ""
}
