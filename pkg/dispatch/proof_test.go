package dispatch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// canceller ends the dispatches of a stage, and tells its events.
func (s *stage) canceller(workers ...*fleet.Cluster) (*Canceller, *[]Event) {
	s.Helper()
	var told []Event
	return &Canceller{
		Origin: clusterOf(s.T, s.here, "here"), Workers: workers, Owner: delegation.Dispatch, Identity: "me", Clock: clock.RealClock{},
		Events: NewRecorder(clock.RealClock{}, func(e *Event) { told = append(told, *e) }),
	}, &told
}

// addMirror stores a mirror of the stage's origin, with the label of that UID.
func (s *stage) addMirror(server *dispatchtest.Server, namespace, originUID string) *unstructured.Unstructured {
	s.Helper()
	mirror := dispatchtest.SmallJob(s.T)
	mirror.SetNamespace(namespace)
	if originUID != "" {
		mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: originUID})
	}
	return server.Create(s.T, delegation.Job().Resource, mirror)
}

// namesAt has the origin name an object on a server.
func (s *stage) namesAt(cluster *fleet.Cluster, o *unstructured.Unstructured) {
	s.Helper()
	place := cluster.Identity().Place(o.GetNamespace(), o.GetName(), string(o.GetUID()))
	s.here.Change(s.T, delegation.Job().Resource, "ml", "small", func(origin *unstructured.Unstructured) {
		origin.SetAnnotations(map[string]string{delegation.MirrorAnnotation: place.String()})
	})
}

// until waits for a condition.
func (s *stage) until(what string, is func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	assert.NilError(s, err, what)
}

// TestStray404KeepsTheMirror: a 404 for the origin that is not its API server's, however much
// it looks like one, removes no mirror; a real one does.
func TestStray404KeepsTheMirror(t *testing.T) {
	for name, answer := range map[string]*apierrors.StatusError{"a front's Status": cluster404(), "a page": page()} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			events, _, _ := s.begins()
			expects(t, events, MirrorCreated)
			s.until("it is pinned", func() bool { return namesMirror(s.here.Get(delegation.Job().Resource, "ml", "small")) })
			var broken atomic.Bool
			broken.Store(true)
			s.here.SetBefore(func(*http.Request) *apierrors.StatusError {
				if broken.Load() {
					return answer
				}
				return nil
			})
			s.here.Delete(t, leases(), "ml", delegation.LeaseName("small"))
			expects(t, events, Disconnected)
			assert.Assert(t, s.mirror() != nil)
			broken.Store(false)
			// A real end is believed.
			s.here.Delete(t, delegation.Job().Resource, "ml", "small")
			expects(t, events, MirrorRemoved)
		})
	}
}

// TestOtherClusterKeepsTheMirror: a context that leads to another cluster, which has no such
// origin, removes no mirror.
func TestOtherClusterKeepsTheMirror(t *testing.T) {
	s := newStage(t)
	events, _, _ := s.begins()
	expects(t, events, MirrorCreated)
	s.until("it is pinned", func() bool { return namesMirror(s.here.Get(delegation.Job().Resource, "ml", "small")) })
	s.here.SetNamespaces(map[string]string{metav1.NamespaceSystem: "another-uid"})
	s.here.Delete(t, delegation.Job().Resource, "ml", "small")
	lost := expects(t, events, Disconnected)
	assert.Assert(t, strings.Contains(lost.Message, "the context now reaches another cluster: namespace kube-system has the UID another-uid, and had here-uid"), lost.Message)
	assert.Assert(t, s.mirror() != nil)
	s.here.SetNamespaces(map[string]string{metav1.NamespaceSystem: "here-uid"})
	expects(t, events, MirrorRemoved)
}

// TestUnidentifiedOrigin: where nothing identifies the origin's cluster, its mirror stays, and
// the dispatch ends and says why.
func TestUnidentifiedOrigin(t *testing.T) {
	s := newStage(t)
	s.here.SetNamespaces(map[string]string{})
	events, ended, _ := s.begins()
	expects(t, events, MirrorCreated)
	s.until("it is pinned", func() bool { return namesMirror(s.here.Get(delegation.Job().Resource, "ml", "small")) })
	s.here.Delete(t, delegation.Job().Resource, "ml", "small")
	outcome := awaits(t, ended, "it ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "the cluster cannot be identified: the user may get neither namespace kube-system nor namespace ml")
	assert.Assert(t, s.mirror() != nil)
}

// TestCancelLeavesStrangers: an annotation that names somebody's Job, or the mirror of another
// origin, does not make that ours: neither cancel nor the end of a dispatch touches it.
func TestCancelLeavesStrangers(t *testing.T) {
	for name, label := range map[string]string{"payroll": "", "the mirror of the Job that was copied": "another"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			there := clusterOf(t, s.there, "there")
			stranger := s.addMirror(s.there, "finance", label)
			s.namesAt(there, stranger)
			c, _ := s.canceller(there)
			err := c.Cancel(t.Context(), delegation.Job(), "ml", "small")
			if label == "" {
				assert.ErrorContains(t, err, "job finance/small on there (UID "+string(stranger.GetUID())+") belongs to jobmanagedby.github.io/dispatch: it lacks the label")
			} else {
				assert.NilError(t, err)
			}
			assert.Assert(t, s.there.Get(delegation.Job().Resource, "finance", "small") != nil)

			// Nor does the dispatch of an origin that has ended.
			loop, _ := s.loop()
			loop.options.Plan.Namespace = "finance"
			job := loop.add(s.tasks[0], quick())
			job.mirrorRef.UID = string(stranger.GetUID())
			var other *ForeignError
			assert.Assert(t, errors.As(job.endMirror(t.Context()), &other))
			assert.Assert(t, s.there.Get(delegation.Job().Resource, "finance", "small") != nil)
		})
	}
}

// TestCopyRunsByItself: a copy of a dispatched Job, with its annotation, gets a mirror of its
// own, and the mirror that the annotation names is left alone.
func TestCopyRunsByItself(t *testing.T) {
	s := newStage(t)
	there := clusterOf(t, s.there, "there")
	first := dispatchtest.SmallJob(t)
	first.SetName("first")
	first.SetLabels(map[string]string{delegation.OriginUIDLabel: "the-first"})
	first = s.there.Create(t, delegation.Job().Resource, first)
	s.namesAt(there, first)
	events, _, _ := s.begins()
	expects(t, events, MirrorCreated)
	s.until("it names its own mirror", func() bool {
		return pinned(s.here.Get(delegation.Job().Resource, "ml", "small")).UID == string(s.mirror().GetUID())
	})
	assert.Equal(t, s.there.Get(delegation.Job().Resource, "ml", "first").GetResourceVersion(), first.GetResourceVersion())
}

// TestMirrorLosesItsLabel: without our label an object is not written to any more.
func TestMirrorLosesItsLabel(t *testing.T) {
	s := newStage(t)
	events, ended, _ := s.begins()
	expects(t, events, MirrorCreated)
	s.there.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	version := s.mirror().GetResourceVersion()
	s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.suspend", true) })
	outcome := awaits(t, ended, "it ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "job ml/small on there (UID "+string(s.mirror().GetUID())+") is not the mirror of job ml/small: it lacks the label")
	assert.Equal(t, s.mirror().GetResourceVersion(), version)
}

// TestCancelRemovesAll: cancel removes every mirror of the origin, on all workers and in all
// namespaces, and touches no other.
func TestCancelRemovesAll(t *testing.T) {
	s := newStage(t)
	other := dispatchtest.NewServer(t)
	uid := string(s.origin.GetUID())
	s.addMirror(s.there, "ml", uid)
	s.addMirror(s.there, "elsewhere", uid)
	s.addMirror(other, "ml", uid)
	s.addMirror(other, "kept", "another")
	c, told := s.canceller(clusterOf(t, s.there, "there"), clusterOf(t, other, "other"))
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, s.mirror() == nil)
	assert.Assert(t, s.there.Get(delegation.Job().Resource, "elsewhere", "small") == nil)
	assert.Assert(t, other.Get(delegation.Job().Resource, "ml", "small") == nil)
	assert.Assert(t, other.Get(delegation.Job().Resource, "kept", "small") != nil)
	assert.Assert(t, strings.HasSuffix((*told)[len(*told)-1].Message, "its 3 mirrors on there, other were removed"), "%v", *told)
}

// TestCancelSaysWhatWasGone: a mirror that goes in between is not said to be removed.
func TestCancelSaysWhatWasGone(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	there := clusterOf(t, s.there, "there")
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch && s.mirror() != nil {
			s.there.Delete(t, delegation.Job().Resource, "ml", "small")
		}
		return nil
	})
	c, told := s.canceller(there)
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, strings.HasSuffix((*told)[len(*told)-1].Message, "its mirror on there was gone already"), "%v", *told)
}

// TestTargetIsRecordedFirst: the Lease names the target when the mirror is created, and a
// dispatch to another target ends before it makes a second one, unless that was searched.
func TestTargetIsRecordedFirst(t *testing.T) {
	s := newStage(t)
	var recorded atomic.Pointer[string]
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		if isCreation(r) {
			target := s.here.Get(leases(), "ml", delegation.LeaseName("small")).GetAnnotations()[delegation.TargetAnnotation]
			recorded.Store(&target)
		}
		return nil
	}
	events, _, stop := s.begins()
	expects(t, events, MirrorCreated)
	assert.Equal(t, *recorded.Load(), "there-uid/ml/small")
	stop()
	expects(t, events, Interrupted)

	// As if the first had died before it noted its mirror.
	s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	third := dispatchtest.NewServer(t)
	run := func(cleared ...delegation.Place) Outcome {
		told := make(chan Event, 1000)
		loop := NewLoop(clusterOf(t, s.here, "here"), clusterOf(t, third, "third"), LoopOptions{Identity: "second"}, clock.RealClock{},
			NewRecorder(clock.RealClock{}, func(e *Event) { told <- *e }))
		task := s.tasks[0]
		task.Cleared = cleared
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan Outcome, 1)
		go func() { ended <- loop.Run(ctx, []Task{task})[0] }()
		if len(cleared) > 0 {
			expects(t, told, MirrorCreated)
			stop()
		}
		return awaits(t, ended, "it ends")
	}
	outcome := run()
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "its dispatch to ml/small on cluster there-uid was begun meanwhile")
	assert.Assert(t, third.Get(delegation.Job().Resource, "ml", "small") == nil)
	record := ReadRecord(t.Context(), clusterOf(t, s.here, "here"), delegation.Job(), s.here.Get(delegation.Job().Resource, "ml", "small"))
	assert.NilError(t, record.LeaseErr)
	assert.Equal(t, record.Target.String(), "there-uid/ml/small")
	run(record.Target)
	assert.Assert(t, third.Get(delegation.Job().Resource, "ml", "small") != nil)
}

// TestReplacedServiceStays: kubectl replace takes our annotation off; for a kind that never
// ends that is no cancellation, which cancel writes down.
func TestReplacedServiceStays(t *testing.T) {
	service, _ := delegation.KindNamed("rayservice")
	s := newStage(t)
	origin := dispatchtest.FromYAML(t, `{apiVersion: ray.io/v1, kind: RayService, metadata: {name: small, namespace: ml}, spec: {managedBy: kueue.x-k8s.io/multikueue, rayClusterConfig: {}}}`)
	origin.SetGroupVersionKind(service.GroupVersionKind())
	origin = s.here.Create(t, service.Resource, origin)
	s.tasks = []Task{{Kind: service, Namespace: "ml", Name: "small", UID: origin.GetUID()}}
	there := clusterOf(t, s.there, "there")
	told := make(chan Event, 1000)
	options := LoopOptions{Identity: "me"}
	options.Plan.Owner = delegation.MultiKueue
	loop := NewLoop(clusterOf(t, s.here, "here"), there, options, clock.RealClock{}, NewRecorder(clock.RealClock{}, func(e *Event) { told <- *e }))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan Outcome, 1)
	go func() { ended <- loop.Run(ctx, s.tasks)[0] }()
	mirror := func() *unstructured.Unstructured { return s.there.Get(service.Resource, "ml", "small") }
	isPinned := func() bool { return namesMirror(s.here.Get(service.Resource, "ml", "small")) }
	expects(t, told, MirrorCreated)
	s.until("it is pinned", isPinned)
	s.here.Change(t, service.Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	s.until("it is pinned again", isPinned)
	assert.Assert(t, mirror() != nil)

	c, _ := s.canceller(there)
	c.Owner = delegation.MultiKueue
	assert.NilError(t, c.Cancel(t.Context(), service, "ml", "small"))
	assert.Equal(t, awaits(t, ended, "it ends").End, Cancelled)
	assert.Assert(t, mirror() == nil)
	assert.Assert(t, !isPinned())
}
