package dispatch

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestRetireKeepsRayClusterTTL checks that a mirror RayJob gets no
// ttlSecondsAfterFinished, and that this is reported. That field belongs to its RayCluster, and
// KubeRay calls a RayJob invalid that has it and keeps its RayCluster.
func TestRetireKeepsRayClusterTTL(t *testing.T) {
	ray, _ := delegation.KindNamed("rayjob")
	mirror := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ttlSecondsAfterFinished": int64(60)}}}
	mirror.SetGroupVersionKind(ray.GroupVersionKind())
	mirror.SetNamespace("ml")
	mirror.SetName("train")
	server := dispatchtest.NewServer(t)
	worker := server.Cluster(t, "worker-1")
	server.Before = func(r *http.Request) *apierrors.StatusError {
		t.Errorf("%s %s", r.Method, r.URL)
		return nil
	}
	var messages []string
	events := NewRecorder(testclock.NewFakePassiveClock(time.Unix(0, 0)), func(e *Event) { messages = append(messages, e.Message) })
	at := &task{
		Loop: &Loop{options: LoopOptions{MirrorTTL: time.Hour}, events: events},
		Task: Task{Kind: ray}, worker: &side{Cluster: worker},
	}
	assert.NilError(t, at.deleteOrExpire(t.Context(), mirror))
	assert.Assert(t, len(messages) == 1 && strings.Contains(messages[0], "its mirror on worker-1 stays until it is deleted, because nothing deletes a finished RayJob there by itself"), "%v", messages)
}

// TestMirrorState checks the description of a mirror in each state. Only a running mirror "keeps
// running".
func TestMirrorState(t *testing.T) {
	planned, held, queued, ended := dispatchtest.SmallJob(t), dispatchtest.SmallJob(t), dispatchtest.SmallJob(t), dispatchtest.SmallJob(t)
	dispatchtest.Set(t, held, "spec.suspend", true)
	dispatchtest.Set(t, queued, "spec.suspend", true)
	queued.SetLabels(map[string]string{delegation.QueueNameLabel: "gpu"})
	ended.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	task := &task{Task: Task{Kind: delegation.Job(), Plan: &plan.Plan{Kind: delegation.Job(), Mirror: planned}}}
	task.mirrorNow = planned
	assert.Equal(t, task.mirrorState(), "keeps running")
	task.mirrorNow = held
	assert.Assert(t, strings.Contains(task.mirrorState(), "as Kueue does if it manages all Jobs"), task.mirrorState())
	task.creation.ownUID = "uid"
	assert.Assert(t, !task.isSuspendedForCopies(), "its Pods need nothing")
	task.mirrorNow = queued
	assert.Equal(t, task.mirrorState(), "stays suspended until Kueue there admits it")
	task.mirrorNow = ended
	assert.Equal(t, task.mirrorState(), "has finished")
	task.mirrorNow, task.Plan.Mirror = held, held
	assert.Equal(t, task.mirrorState(), "stays suspended")
	// The task of an origin that had finished before has no Plan.
	task.Plan = nil
	assert.Equal(t, task.mirrorState(), "stays suspended")
}

// TestSharedMirrorName checks that an event of a mirror reaches all tasks whose mirror has its name,
// which may also be the task of a finished origin in another namespace.
func TestSharedMirrorName(t *testing.T) {
	loop := &Loop{clock: testclock.NewFakeClock(time.Unix(0, 0)), origin: &side{}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[*task]())
	t.Cleanup(queue.ShutDown)
	ended, current := &task{queue: queue}, &task{queue: queue}
	known := map[string][]*task{"shared/small": {ended, current}}
	mirror := dispatchtest.SmallJob(t)
	mirror.SetNamespace("shared")
	loop.enqueue(scope{side: &side{}}, known, nil, mirror)
	assert.Equal(t, queue.Len(), 2)
}

// TestGraceOfAnyLength checks that a terminationGracePeriodSeconds that no duration can hold is a long time.
func TestGraceOfAnyLength(t *testing.T) {
	for seconds, least := range map[int64]time.Duration{0: drainGrace, 600: 10 * time.Minute, 18446744075: time.Hour, 1<<63 - 1: time.Hour} {
		mirror := &unstructured.Unstructured{Object: map[string]any{}}
		dispatchtest.Set(t, mirror, "spec.template.spec.terminationGracePeriodSeconds", seconds)
		grace := (&task{}).grace(mirror)
		assert.Check(t, grace >= least, "%d: %s", seconds, grace)
	}
}
