package logs

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// pod is a pod as it was seen last.
type pod struct {
	mu     sync.Mutex
	object *corev1.Pod
	isGone bool
	// changed is closed when anything changes.
	changed chan struct{}
}

// latest is the pod as it was seen last, and what is closed when that changes.
func (p *pod) latest() (o *corev1.Pod, isGone bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object, p.isGone, p.changed
}

// tell wakes up who waits for a change.
func (p *pod) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// take notes how the pod is, unless that is known better. Resource versions of one
// kind can be compared (apimachinery: pkg/util/resourceversion).
func (p *pod) take(o *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, p.object.ResourceVersion); err == nil && order <= 0 {
		return
	}
	p.object = o
	p.tell()
}

// gone notes that there is no such pod any more.
func (p *pod) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isGone = true
	p.tell()
}

// pods are those of a target.
type pods struct {
	target Target
	// found is told of each pod, once.
	found func(*pod)

	mu    sync.Mutex
	known map[types.UID]*pod
}

// put notes how a pod is now.
func (s *pods) put(o *corev1.Pod) {
	if !s.target.isMine(o) {
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
		p.gone()
	}
}

// informer is what keeps the pods up to date. told is told how each request for them ended.
func (s *pods) informer(told func(error)) *fleet.Informer {
	return fleet.NewInformer(fleet.Informed[*corev1.PodList]{
		Client: s.target.Client.CoreV1().Pods(s.target.Job.Namespace), Selected: s.target.options(), Told: told,
		Like: &corev1.Pod{}, Trim: func(o any) any {
			if p, ok := o.(*corev1.Pod); ok {
				trim(p)
			}
			return o
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { s.seen(o) },
			UpdateFunc: func(old, o any) {
				if was, ok := old.(*corev1.Pod); ok && was.UID != uidOf(o) {
					s.drop(was.UID)
				}
				s.seen(o)
			},
			DeleteFunc: func(o any) {
				if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				s.seen(o)
				s.drop(uidOf(o))
			},
		},
	})
}

func (s *pods) seen(o any) {
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
