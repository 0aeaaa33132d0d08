package logs

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// linger is how long Pods are followed that keep running after their object has ended, as those
// of a RayJob or a PyTorchJob may.
const linger = 10 * time.Second

// follower follows the Pods of one target.
type follower struct {
	*Reader
	target Target
	ctx    context.Context
	fail   context.CancelCauseFunc
	pods   *pods
	link   cache.Link
	// jobEnded is closed when the object has ended or is gone, and lingerEnded after the time linger.
	jobEnded, lingerEnded <-chan struct{}
	// slots has one entry for each log that is being read.
	slots chan struct{}

	mu sync.Mutex
	// first are the initial Pods, until all of them are known.
	first   []*pod
	isReady bool
	isEnd   bool
	// unread counts the logs that could not be read completely.
	unread int
	wg     sync.WaitGroup
}

// Follow reads the logs of a target's Pods as they are written, including Pods that start later.
// It ends when jobEnded is closed and everything is read, or with ctx.
//
// slots limits how many logs are followed at once. It has an entry for each, and may be shared
// with other targets.
func (r *Reader) Follow(ctx context.Context, t Target, jobEnded <-chan struct{}, slots chan struct{}) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	lingerEnded := make(chan struct{})
	f := &follower{Reader: r, target: t, ctx: ctx, fail: fail, jobEnded: jobEnded, lingerEnded: lingerEnded, slots: slots}
	f.link.Lost = func(err error) {
		r.note(fmt.Sprintf("note: context %q does not answer; trying again: %v", t.Job.Context, err))
	}
	f.link.Recovered = func() { r.note(fmt.Sprintf("note: context %s answers again", t.Job.Context)) }
	f.pods = &pods{target: t, found: f.addPod, known: map[types.UID]*pod{}}
	informer := f.pods.informer(f.onRequest)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer fail(nil)
	watching.Go(func() { informer.Run(ctx) })
	synced := make(chan struct{})
	watching.Go(func() {
		if clientcache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			close(synced)
		}
	})
	f.run(synced)
	watching.Go(func() {
		if f.wait(ctx, linger) == nil {
			close(lingerEnded)
		}
	})
	f.wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if f.unread > 0 {
		return fmt.Errorf("not all logs on %s were read completely", t.Job.Context)
	}
	return nil
}

// run reads the Pods until no more of them will come.
func (f *follower) run(synced <-chan struct{}) {
	// Until run returns, having no Pods is not the end.
	f.wg.Add(1)
	defer f.wg.Done()
	select {
	case <-synced:
		f.begin()
	case <-f.jobEnded:
	case <-f.ctx.Done():
	}
	select {
	case <-f.jobEnded:
	case <-f.ctx.Done():
		return
	}
	// The watch may be behind the known state of the object.
	last, err := f.target.list(f.ctx)
	for _, o := range last {
		f.pods.put(o)
	}
	f.begin()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isEnd = true
	if err != nil && f.ctx.Err() == nil {
		f.unread++
		f.note("error: " + err.Error())
	}
}

// onRequest handles the result of a request for the Pods.
func (f *follower) onRequest(err error) {
	if apierrors.IsForbidden(err) {
		f.fail(f.target.failed(fmt.Sprintf("watch the Pods of namespace %q", f.target.Job.Namespace), err))
		return
	}
	f.link.Note(kubecontext.Outage(err))
}

// answered records the result of a request for a log. A refusal may be the answer of a kubelet, which says
// nothing about the cluster.
func (f *follower) answered(err error) {
	if err == nil || !kubecontext.IsAnswer(err) {
		f.link.Note(err)
	}
}

// addPod adds a Pod. The initial Pods are collected until all are known, so that their number is
// known before the first line.
func (f *follower) addPod(p *pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.isEnd:
	case f.isReady:
		f.start(p, true)
	default:
		f.first = append(f.first, p)
	}
}

// begin starts to read the initial Pods.
func (f *follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isReady {
		return
	}
	f.isReady = true
	objects, of := []*corev1.Pod(nil), map[*corev1.Pod]*pod{}
	for _, p := range f.first {
		o, _, _ := p.latest()
		objects, of[o] = append(objects, o), p
	}
	sortPods(objects)
	for _, o := range objects {
		f.start(of[o], false)
	}
}

// start reads the containers of a Pod. isNew is whether the Pod was created after the start.
func (f *follower) start(p *pod, isNew bool) {
	o, _, _ := p.latest()
	for _, name := range f.choose(f.target, o) {
		c := &containerFollower{follower: f, pod: p, reading: f.newReading(f.target, o.Name, name, isNew)}
		f.wg.Go(c.run)
	}
}

// isClosed reports whether a channel to which nothing is ever sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
