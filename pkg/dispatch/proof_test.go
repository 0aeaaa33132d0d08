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

// recordingCanceller is a Canceller with a recorder.
type recordingCanceller struct {
	Canceller
	recorder *Recorder
}

func (c *recordingCanceller) Cancel(ctx context.Context, k delegation.Kind, namespace, name string) error {
	return c.Canceller.Cancel(ctx, c.recorder, k, namespace, name)
}

// canceller returns a Canceller for the stage, and its events.
func (s *stage) canceller(workers ...*fleet.Cluster) (*recordingCanceller, *[]Event) {
	s.Helper()
	var events []Event
	return &recordingCanceller{
		Canceller{Origin: clusterOf(s.T, s.here, "here"), Workers: workers, Owner: delegation.Dispatch, Identity: "me", Clock: clock.RealClock{}},
		NewRecorder(clock.RealClock{}, func(e *Event) { events = append(events, *e) }),
	}, &events
}

// addMirror stores a mirror of the stage's origin, with that UID in its label.
func (s *stage) addMirror(server *dispatchtest.Server, namespace, originUID string) *unstructured.Unstructured {
	s.Helper()
	mirror := dispatchtest.SmallJob(s.T)
	mirror.SetNamespace(namespace)
	if originUID != "" {
		mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: originUID})
	}
	return server.Create(s.T, delegation.Job().Resource, mirror)
}

// namesAt makes the origin name an object on a server.
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

// TestStray404KeepsTheMirror checks that a 404 which is not from the origin's API server deletes
// no mirror, however genuine it looks. A genuine one does.
func TestStray404KeepsTheMirror(t *testing.T) {
	for name, answer := range map[string]*apierrors.StatusError{"a front's Status": cluster404(), "a page": proxyNotFound()} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			events, _, _ := s.start()
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
			// The loop accepts a proven deletion.
			s.here.Delete(t, delegation.Job().Resource, "ml", "small")
			expects(t, events, MirrorRemoved)
		})
	}
}

// TestOtherClusterKeepsTheMirror checks that a context that now reaches another cluster, without
// the origin, deletes no mirror.
func TestOtherClusterKeepsTheMirror(t *testing.T) {
	s := newStage(t)
	events, _, _ := s.start()
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

// TestUnidentifiedOrigin checks that the mirror remains if the origin's cluster cannot be
// identified. The dispatch ends with the reason.
func TestUnidentifiedOrigin(t *testing.T) {
	s := newStage(t)
	s.here.SetNamespaces(map[string]string{})
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	s.until("it is pinned", func() bool { return namesMirror(s.here.Get(delegation.Job().Resource, "ml", "small")) })
	s.here.Delete(t, delegation.Job().Resource, "ml", "small")
	outcome := awaits(t, ended, "the dispatch ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "the cluster cannot be identified: the user may get neither namespace kube-system nor namespace ml")
	assert.Assert(t, s.mirror() != nil)
}

// TestCancelLeavesStrangers checks that an annotation which names a user's Job, or the mirror of
// another origin, does not make it ours. Neither cancel nor the end of a dispatch deletes it.
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

			// The dispatch of an ended origin does not delete it either.
			loop, _ := s.loop()
			loop.options.Plan.Namespace = "finance"
			job := loop.add(s.tasks[0], quickTiming())
			job.mirrorRef.UID = string(stranger.GetUID())
			var other *foreignError
			assert.Assert(t, errors.As(job.endMirror(t.Context()), &other))
			assert.Assert(t, s.there.Get(delegation.Job().Resource, "finance", "small") != nil)
		})
	}
}

// TestCopyRunsByItself checks that a copy of a dispatched Job, including its annotation, gets its
// own mirror. The mirror that the annotation names is not changed.
func TestCopyRunsByItself(t *testing.T) {
	s := newStage(t)
	there := clusterOf(t, s.there, "there")
	first := dispatchtest.SmallJob(t)
	first.SetName("first")
	first.SetLabels(map[string]string{delegation.OriginUIDLabel: "the-first"})
	first = s.there.Create(t, delegation.Job().Resource, first)
	s.namesAt(there, first)
	events, _, _ := s.start()
	expects(t, events, MirrorCreated)
	s.until("it names its own mirror", func() bool {
		return pinnedMirror(s.here.Get(delegation.Job().Resource, "ml", "small")).UID == string(s.mirror().GetUID())
	})
	assert.Equal(t, s.there.Get(delegation.Job().Resource, "ml", "first").GetResourceVersion(), first.GetResourceVersion())
}

// TestMirrorLosesItsLabel checks that an object without our label is no longer written to.
func TestMirrorLosesItsLabel(t *testing.T) {
	s := newStage(t)
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	s.there.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	version := s.mirror().GetResourceVersion()
	s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.suspend", true) })
	outcome := awaits(t, ended, "the dispatch ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "job ml/small on there (UID "+string(s.mirror().GetUID())+") is not the mirror of job ml/small: it lacks the label")
	assert.Equal(t, s.mirror().GetResourceVersion(), version)
}

// TestCancelRemovesAll checks that cancel deletes every mirror of the origin, on all workers and
// in all namespaces, and no other object.
func TestCancelRemovesAll(t *testing.T) {
	s := newStage(t)
	other := dispatchtest.NewServer(t)
	uid := string(s.origin.GetUID())
	s.addMirror(s.there, "ml", uid)
	s.addMirror(s.there, "elsewhere", uid)
	s.addMirror(other, "ml", uid)
	s.addMirror(other, "kept", "another")
	c, events := s.canceller(clusterOf(t, s.there, "there"), clusterOf(t, other, "other"))
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, s.mirror() == nil)
	assert.Assert(t, s.there.Get(delegation.Job().Resource, "elsewhere", "small") == nil)
	assert.Assert(t, other.Get(delegation.Job().Resource, "ml", "small") == nil)
	assert.Assert(t, other.Get(delegation.Job().Resource, "kept", "small") != nil)
	assert.Assert(t, strings.HasSuffix((*events)[len(*events)-1].Message, "its 3 mirrors on there, other were removed"), "%v", *events)
}

// TestCancelReportsMissingMirror checks that cancel does not claim to have deleted a mirror that
// another client has deleted.
func TestCancelReportsMissingMirror(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	there := clusterOf(t, s.there, "there")
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch && s.mirror() != nil {
			s.there.Delete(t, delegation.Job().Resource, "ml", "small")
		}
		return nil
	})
	c, events := s.canceller(there)
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, strings.HasSuffix((*events)[len(*events)-1].Message, "its mirror on there was already gone"), "%v", *events)
}

// TestTargetIsRecordedFirst checks that the Lease names the target before the mirror is created.
// A dispatch to another target ends before it creates a second mirror, unless the first target
// was searched.
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
	events, _, stop := s.start()
	expects(t, events, MirrorCreated)
	assert.Equal(t, *recorded.Load(), "there-uid/ml/small")
	stop()
	expects(t, events, Interrupted)

	// This is the state after the first dispatcher died before it recorded its mirror.
	s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	third := dispatchtest.NewServer(t)
	run := func(cleared ...delegation.Place) Outcome {
		events := make(chan Event, 1000)
		loop := NewLoop(clusterOf(t, s.here, "here"), clusterOf(t, third, "third"), LoopOptions{Identity: "second"}, clock.RealClock{},
			NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }))
		task := s.tasks[0]
		task.Cleared = cleared
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan Outcome, 1)
		go func() { ended <- loop.Run(ctx, []Task{task})[0] }()
		if len(cleared) > 0 {
			expects(t, events, MirrorCreated)
			stop()
		}
		return awaits(t, ended, "the dispatch ends")
	}
	outcome := run()
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "another dispatcher has started its dispatch to ml/small on cluster there-uid")
	assert.Assert(t, third.Get(delegation.Job().Resource, "ml", "small") == nil)
	record := ReadRecord(t.Context(), clusterOf(t, s.here, "here"), delegation.Job(), s.here.Get(delegation.Job().Resource, "ml", "small"))
	assert.NilError(t, record.LeaseErr)
	assert.Equal(t, record.Target.String(), "there-uid/ml/small")
	run(record.Target)
	assert.Assert(t, third.Get(delegation.Job().Resource, "ml", "small") != nil)
}

// TestReplacedServiceStays checks that kubectl replace, which removes our annotation, does not
// count as a cancellation for a kind that never ends. Cancel marks the origin instead.
func TestReplacedServiceStays(t *testing.T) {
	service, _ := delegation.KindNamed("rayservice")
	s := newStage(t)
	origin := dispatchtest.FromYAML(t, `{apiVersion: ray.io/v1, kind: RayService, metadata: {name: small, namespace: ml}, spec: {managedBy: kueue.x-k8s.io/multikueue, rayClusterConfig: {}}}`)
	origin.SetGroupVersionKind(service.GroupVersionKind())
	origin = s.here.Create(t, service.Resource, origin)
	s.tasks = []Task{{Kind: service, Namespace: "ml", Name: "small", UID: origin.GetUID()}}
	there := clusterOf(t, s.there, "there")
	events := make(chan Event, 1000)
	options := LoopOptions{Identity: "me"}
	options.Plan.Owner = delegation.MultiKueue
	loop := NewLoop(clusterOf(t, s.here, "here"), there, options, clock.RealClock{}, NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan Outcome, 1)
	go func() { ended <- loop.Run(ctx, s.tasks)[0] }()
	mirror := func() *unstructured.Unstructured { return s.there.Get(service.Resource, "ml", "small") }
	isPinned := func() bool { return namesMirror(s.here.Get(service.Resource, "ml", "small")) }
	expects(t, events, MirrorCreated)
	s.until("it is pinned", isPinned)
	s.here.Change(t, service.Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	s.until("it is pinned again", isPinned)
	assert.Assert(t, mirror() != nil)

	c, _ := s.canceller(there)
	c.Owner = delegation.MultiKueue
	assert.NilError(t, c.Cancel(t.Context(), service, "ml", "small"))
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Cancelled)
	assert.Assert(t, mirror() == nil)
	assert.Assert(t, !isPinned())
}
