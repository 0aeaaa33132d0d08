package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// stage has an origin on one server, and another server for its mirror.
type stage struct {
	*testing.T
	here, there *dispatchtest.Server
	origin      *unstructured.Unstructured
	// tasks are the tasks of the loop.
	tasks []Task
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, here: dispatchtest.NewServer(t), there: dispatchtest.NewServer(t)}
	job := dispatchtest.SmallJob(t)
	dispatchtest.Set(t, job, "spec.suspend", false) // Servers set this default.
	s.origin = s.here.Create(t, delegation.Job().Resource, job)
	s.tasks = []Task{{Namespace: "ml", Name: "small", UID: s.origin.GetUID()}}
	return s
}

// loop returns a loop and the channel of its events.
func (s *stage) loop() (*Loop, chan Event) {
	s.Helper()
	events := make(chan Event, 1000)
	tell := func(e *Event) {
		s.Log(e.Event, e.Message)
		events <- *e
	}
	return NewLoop(clusterOf(s.T, s.here, "here"), clusterOf(s.T, s.there, "there"), LoopOptions{Identity: "me"}, clock.RealClock{}, NewRecorder(clock.RealClock{}, tell)), events
}

// start starts a dispatch, which continues until the test ends or stop is called.
func (s *stage) start() (events chan Event, ended chan Outcome, stop func()) {
	s.Helper()
	loop, events := s.loop()
	ctx, stop := context.WithCancel(s.Context())
	ended = make(chan Outcome, 1)
	var running sync.WaitGroup
	running.Go(func() { ended <- loop.Run(ctx, s.tasks)[0] })
	// The loop logs its last events to the test, and releases its Lease, so both have to exist
	// until it ends.
	s.Cleanup(func() {
		stop()
		running.Wait()
	})
	return events, ended, stop
}

func (s *stage) mirror() *unstructured.Unstructured {
	return s.there.Get(delegation.Job().Resource, "ml", "small")
}

// giveLeaseTo changes the holder of the Lease.
func (s *stage) giveLeaseTo(holder string) {
	s.Helper()
	s.here.Change(s.T, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
		dispatchtest.Set(s.T, l, "spec.holderIdentity", holder)
	})
}

// setTarget changes the target in the Lease.
func (s *stage) setTarget(place string) {
	s.Helper()
	s.here.Change(s.T, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
		l.SetAnnotations(map[string]string{delegation.TargetAnnotation: place})
	})
}

// nameMirror makes the origin name a mirror on another cluster.
func (s *stage) nameMirror(uid string) {
	s.Helper()
	s.here.Change(s.T, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{delegation.MirrorAnnotation: delegation.Place{ClusterUID: "third-uid", Namespace: "ml", Name: "small", UID: uid}.String()})
	})
}

func expects(t *testing.T, events chan Event, want EventType) Event {
	t.Helper()
	for {
		if e := awaits(t, events, string(want)); e.Event == want {
			return e
		}
	}
}

func isCreation(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
}

// TestCreateAfterLostLease checks that a dispatcher creates no mirror if it was suspended and has
// lost its Lease without noticing.
func TestCreateAfterLostLease(t *testing.T) {
	s := newStage(t)
	var once sync.Once
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		if strings.HasSuffix(r.URL.Path, "/jobs/small") {
			// This request looks for the mirror. The Lease changes after it.
			once.Do(func() { s.giveLeaseTo("theirs") })
		}
		return nil
	}
	events, ended, stop := s.start()
	expects(t, events, LeaseWaiting)
	assert.Assert(t, s.mirror() == nil)
	stop()
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Interrupted)
}

// TestCheckedPlanIsCreated checks that the mirror which preflight has checked is created, and that
// the mirror is planned again after a change of the origin.
func TestCheckedPlanIsCreated(t *testing.T) {
	s := newStage(t)
	seen, err := plan.New(s.origin, plan.Options{SetLabels: map[string]string{"seen-by": "preflight"}})
	assert.NilError(t, err)
	s.tasks[0].Plan = seen
	events, _, _ := s.start()
	expects(t, events, MirrorCreated)
	assert.Equal(t, s.mirror().GetLabels()["seen-by"], "preflight")
	s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.parallelism", int64(5)) })
	expects(t, events, SpecPushed)
	assert.Equal(t, s.mirror().GetLabels()["seen-by"], "")
}

// TestYieldDeletesMirror checks that a dispatcher deletes its mirror if another dispatcher has started
// meanwhile. The origin keeps naming the other mirror.
func TestYieldDeletesMirror(t *testing.T) {
	s := newStage(t)
	var once sync.Once
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		if isCreation(r) {
			once.Do(func() {
				s.giveLeaseTo("theirs")
				s.nameMirror("theirs-uid")
			})
		}
		return nil
	}
	events, ended, _ := s.start()
	assert.Equal(t, awaits(t, events, "an event of the Lease").Event, LeaseTaken, "a server that lists instead of watching all is no lost one")
	expects(t, events, MirrorCreated)
	expects(t, events, MirrorRemoved)
	outcome := awaits(t, ended, "the dispatch ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "another dispatcher created a mirror of it")
	assert.Assert(t, s.mirror() == nil)
	assert.Equal(t, pinnedMirror(s.here.Get(delegation.Job().Resource, "ml", "small")).UID, "theirs-uid")
}

// TestYieldWithoutResponse is TestYieldDeletesMirror for a mirror whose creation got no response, because
// its dispatcher was suspended for longer than the timeout.
func TestYieldWithoutResponse(t *testing.T) {
	for _, regained := range []bool{false, true} {
		s := newStage(t)
		s.there.Before = func(r *http.Request) *apierrors.StatusError {
			if !isCreation(r) || s.mirror() != nil {
				return nil
			}
			made := dispatchtest.SmallJob(t)
			made.SetLabels(map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())})
			s.there.Create(t, delegation.Job().Resource, made)
			s.nameMirror("theirs-uid")
			if !regained {
				s.giveLeaseTo("theirs")
			} else {
				s.setTarget("third-uid/ml/small")
			}
			return apierrors.NewTimeoutError("no answer", 0)
		}
		events, ended, _ := s.start()
		expects(t, events, MirrorRemoved)
		assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Aborted)
		assert.Assert(t, s.mirror() == nil)
		assert.Equal(t, pinnedMirror(s.here.Get(delegation.Job().Resource, "ml", "small")).UID, "theirs-uid")
	}
}

// TestYield checks what happens to the mirror of a dispatcher that has lost its Lease.
func TestYield(t *testing.T) {
	held := &heldError{Holder: "theirs"}
	for _, tt := range []struct {
		name string
		// named is the mirror that the origin names; "made" is ours.
		named              string
		stays, ends, waits bool
	}{
		{name: "they go on with ours", named: "made", stays: true, ends: true},
		{name: "they have another", named: "theirs-uid", ends: true},
		{name: "unknown yet", stays: true, waits: true},
		{name: "it still names the one that is gone", named: "gone-uid", stays: true, waits: true},
		{name: "the origin is gone", named: "nothing", ends: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			loop, _ := s.loop()
			job := loop.add(s.tasks[0], quickTiming())
			created := dispatchtest.SmallJob(t)
			created.SetLabels(map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())})
			job.mirrorRef.UID = string(s.there.Create(t, delegation.Job().Resource, created).GetUID())
			job.creation.ownUID, job.creation.supersededUID = job.mirrorRef.UID, "gone-uid"
			switch tt.named {
			case "":
			case "made":
				s.nameMirror(job.creation.ownUID)
			case "nothing":
				s.here.Delete(t, delegation.Job().Resource, "ml", "small")
			default:
				s.nameMirror(tt.named)
			}
			again, err := job.yield(t.Context(), held)
			assert.NilError(t, err)
			assert.Equal(t, s.mirror() != nil, tt.stays)
			assert.Equal(t, job.hasEnded(), tt.ends)
			assert.Equal(t, again > 0, tt.waits)
		})
	}
}

// needsSettings makes the Job of the stage depend on a ConfigMap that only the origin's cluster
// has.
func (s *stage) needsSettings() {
	s.Helper()
	settings := dispatchtest.FromYAML(s.T, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: ml}, data: {a: x}}`)
	s.here.Create(s.T, corev1.SchemeGroupVersion.WithResource("configmaps"), settings)
	s.tasks[0].Dependencies = []dependency.Object{{Kind: dependency.ConfigMap, Namespace: "ml", Name: "settings"}}
}

func (s *stage) copied() *unstructured.Unstructured {
	return s.there.Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "ml", "settings")
}

// hasAllDependencies reports whether the mirror runs with all of its dependencies.
func (s *stage) hasAllDependencies() bool {
	mirror, copied := s.mirror(), s.copied()
	return mirror != nil && copied != nil && !content.IsTrueAt(mirror, "spec", "suspend") &&
		len(copied.GetOwnerReferences()) == 1 && copied.GetOwnerReferences()[0].UID == mirror.GetUID()
}

// TestKilledAnywhere kills a dispatcher before each of its requests. No copy is ever without an
// owner, no Pod can start without its dependencies, and the next dispatcher completes the same
// mirror.
func TestKilledAnywhere(t *testing.T) {
	isDone := false
	for n := 0; !isDone; n++ {
		assert.Assert(t, n < 100, "it does not end")
		s := newStage(t)
		s.needsSettings()
		var served atomic.Int64
		var revived atomic.Bool
		ctx, kill := context.WithCancel(t.Context())
		answer := func(r *http.Request) *apierrors.StatusError {
			if copied := s.copied(); copied != nil {
				assert.Check(t, len(copied.GetOwnerReferences()) > 0, "before %s %s", r.Method, r.URL)
			} else if mirror := s.mirror(); mirror != nil {
				assert.Check(t, content.IsTrueAt(mirror, "spec", "suspend"), "before %s %s", r.Method, r.URL)
			}
			if revived.Load() || served.Add(1) <= int64(n) {
				return nil
			}
			kill()
			return apierrors.NewInternalError(errors.New("it was killed"))
		}
		loop, events := s.loop()
		s.here.Before, s.there.Before = answer, answer
		ended := make(chan []Outcome, 1)
		go func() { ended <- loop.Run(ctx, s.tasks) }()
		for isOver := false; !isOver; {
			select {
			case <-ended:
				isOver = true
			case e := <-events:
				if isDone = isDone || e.Event == SpecPushed && s.hasAllDependencies(); isDone {
					kill()
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it does not end")
			}
		}
		before := s.mirror()
		revived.Store(true)
		_, next, stop := s.start()
		err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return s.hasAllDependencies(), nil })
		assert.NilError(t, err, "killed before request %d, it is not completed", n)
		assert.Assert(t, before == nil || before.GetUID() == s.mirror().GetUID())
		stop()
		awaits(t, next, "the dispatch ends")
	}
}

// TestOldWorkerTakesNoTemplate has a worker before Kubernetes 1.36, where the Pod template of a
// Job that has run once is immutable even if the Job is suspended. The loop reports that, and
// writes the other changes.
func TestOldWorkerTakesNoTemplate(t *testing.T) {
	s := newStage(t)
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		body, err := io.ReadAll(r.Body)
		assert.Check(t, err == nil, "%v", err)
		if r.Method != http.MethodPatch || !bytes.Contains(body, []byte(`"template"`)) {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "small", field.ErrorList{
			field.Invalid(field.NewPath("spec", "template"), "", "field is immutable"),
		})
	}
	change := func(change func(*unstructured.Unstructured)) {
		s.here.Change(t, delegation.Job().Resource, "ml", "small", change)
	}
	change(func(o *unstructured.Unstructured) {
		dispatchtest.Set(t, o, "spec.suspend", true)
		dispatchtest.Set(t, o, "spec.parallelism", int64(1)) // Servers set this default.
	})
	events, _, _ := s.start()
	expects(t, events, MirrorCreated)

	change(func(o *unstructured.Unstructured) {
		dispatchtest.Set(t, o, "spec.template.metadata.annotations", map[string]any{"a": "b"})
	})
	event := expects(t, events, Warned)
	assert.Assert(t, strings.Contains(event.Message, "rejects spec.template.metadata.annotations"), event.Message)

	change(func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.parallelism", int64(5)) })
	event = expects(t, events, SpecPushed)
	assert.Assert(t, strings.HasSuffix(event.Message, ": spec.parallelism=5"), event.Message)
	assert.Equal(t, content.At(s.mirror(), "spec", "parallelism"), int64(5))
}
