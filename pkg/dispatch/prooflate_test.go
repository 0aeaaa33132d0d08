package dispatch

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestSuspendedMeanwhile checks that an origin which is suspended after its mirror was planned
// gets a suspended mirror.
func TestSuspendedMeanwhile(t *testing.T) {
	s := newStage(t)
	var once atomic.Bool
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		// The mirror is planned by now. This is the last read before its creation.
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs/small") && once.CompareAndSwap(false, true) {
			s.here.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.suspend", true) })
		}
		if isCreation(r) {
			assert.Check(t, once.Load())
		}
		return nil
	}
	events, _, _ := s.start()
	expects(t, events, MirrorCreated)
	for _, change := range s.there.Added("ml", "small") {
		assert.Assert(t, content.IsTrueAt(change, "spec", "suspend"), "it was created running")
	}
}

// TestAbandonLeavesTheMirror checks that cancel --abandon-mirror ends a running dispatch, and
// that the mirror remains.
func TestAbandonLeavesTheMirror(t *testing.T) {
	s := newStage(t)
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	c, _ := s.canceller()
	c.Abandon = true
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Cancelled)
	assert.Assert(t, s.mirror() != nil)
}

// TestMirrorHeldByFinalizer checks that waiting for a mirror that a finalizer holds is reported.
func TestMirrorHeldByFinalizer(t *testing.T) {
	s := newStage(t)
	mirror := dispatchtest.SmallJob(t)
	mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())})
	mirror.SetFinalizers([]string{"example.com/keep"})
	mirror.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)})
	s.there.Create(t, delegation.Job().Resource, mirror)
	events, _, _ := s.start()
	event := expects(t, events, Warned)
	assert.Equal(t, event.Message, "job ml/small on there has been terminating since 2026-11-23T10:00:00Z, held by the finalizers example.com/keep; waiting until it is gone")
}

// TestPodsOfTheOldMirror checks that a new mirror is created only after the Pods of the previous
// one have ended.
func TestPodsOfTheOldMirror(t *testing.T) {
	s := newStage(t)
	there := clusterOf(t, s.there, "there")
	old := s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	s.namesAt(there, old)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	pod := dispatchtest.FromYAML(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ml}, status: {phase: Running}}`)
	pod.SetLabels(map[string]string{batchv1.ControllerUidLabel: string(old.GetUID())})
	s.there.Create(t, pods, pod)
	s.there.Delete(t, delegation.Job().Resource, "ml", "small")
	events := make(chan Event, 1000)
	loop := NewLoop(clusterOf(t, s.here, "here"), there, LoopOptions{Identity: "me", NewMirror: true}, clock.RealClock{}, NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan []Outcome, 1)
	go func() { ended <- loop.Run(ctx, s.tasks) }()
	warned := expects(t, events, Warned)
	assert.Equal(t, warned.Message, "waiting until the Pods of its earlier mirror on there end; still running: 1")
	assert.Assert(t, s.mirror() == nil)
	s.there.Delete(t, pods, "ml", "p")
	expects(t, events, MirrorCreated)
	stop()
	awaits(t, ended, "the dispatch ends")
}

// TestEndlessLease checks that the loop does not wait for a Lease with a longer duration than
// dispatch writes.
func TestEndlessLease(t *testing.T) {
	s := newStage(t)
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("mallory"), LeaseDurationSeconds: new(int32(2147483647))}}
	l.Name, l.Labels = delegation.LeaseName("small"), map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())}
	_, err := clusterOf(t, s.here, "here").Kubernetes().CoordinationV1().Leases("ml").Create(t.Context(), l, metav1.CreateOptions{})
	assert.NilError(t, err)
	_, ended, _ := s.start()
	outcome := awaits(t, ended, "the dispatch ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "mallory holds it for 596523h14m7s, which no dispatch writes; delete the Lease if no dispatch runs")
}

// TestForgedAnnotation checks that a forged annotation makes the holder of the Lease neither
// delete nor forget its mirror.
func TestForgedAnnotation(t *testing.T) {
	s := newStage(t)
	events, _, _ := s.start()
	expects(t, events, MirrorCreated)
	isPinned := func() bool {
		return pinnedMirror(s.here.Get(delegation.Job().Resource, "ml", "small")).UID == string(s.mirror().GetUID())
	}
	s.until("it is pinned", isPinned)
	uid := s.mirror().GetUID()
	s.nameMirror("forged")
	event := expects(t, events, Warned)
	assert.Assert(t, strings.Contains(event.Message, "named ml/small on cluster third-uid; corrected to its mirror on there"), event.Message)
	s.until("it is pinned again", isPinned)
	assert.Equal(t, s.mirror().GetUID(), uid)
}
