package controllers

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// eachDispatched runs a test for each kind of the ecosystem, whose objects are delegated to
// dispatch, or to MultiKueue if the kind allows no other owner. start creates such an object named
// train and dispatches it.
func eachDispatched(t *testing.T, suffix string, test func(t *testing.T, q queued, ns string, start func(annotations string) *dispatching.Process)) {
	t.Helper()
	if os.Getenv("ECOSYSTEM") == "" {
		t.Skip("make test-ecosystem runs it")
	}
	t.Parallel()
	for _, q := range ecosystemKinds() {
		t.Run(q.kind, func(t *testing.T) {
			t.Parallel()
			kind, ok := delegation.KindNamed(strings.ToLower(q.kind))
			assert.Assert(t, ok)
			ns := "dispatch-" + strings.ToLower(q.kind) + "-" + suffix
			inNamespace(t, ns)
			owner, flags := delegation.Dispatch, []string{q.name()}
			if len(kind.Allowed) > 0 && !slices.Contains(kind.Allowed, owner) {
				owner, flags = delegation.MultiKueue, append(flags, "--as-multikueue")
			}
			test(t, q, ns, func(annotations string) *dispatching.Process {
				q.manifest.create(t, management, ns, annotations, func(o *unstructured.Unstructured) {
					assert.NilError(t, unstructured.SetNestedField(o.Object, string(owner), kind.ManagedBy...))
				})
				d := dispatches(t, ns, flags...)
				d.Expect(dispatch.MirrorCreated, "")
				return d
			})
		})
	}
}

// TestEcosystemToTheEnd dispatches objects until they complete.
func TestEcosystemToTheEnd(t *testing.T) {
	eachDispatched(t, "end", func(t *testing.T, q queued, ns string, start func(string) *dispatching.Process) {
		t.Helper()
		d := start(forHours)
		runs(t, ns, q.pods)
		q.showsOn(t, both, ns, isRunning)
		q.logsAreRead(t, both, ns)
		if q.endless {
			return
		}
		completePods(t, ns, q.ending)
		assert.Equal(t, d.End(), 0, d.Stderr.String())
		q.showsEnd(t, ns, look{status: delegation.Complete, state: inspect.StateComplete, mirror: worker})
	})
}

// TestEcosystemFails dispatches objects whose Pods fail.
func TestEcosystemFails(t *testing.T) {
	eachDispatched(t, "fails", func(t *testing.T, q queued, ns string, start func(string) *dispatching.Process) {
		t.Helper()
		if q.endless {
			t.Skip("it never ends")
		}
		d := start(toFail)
		assert.Equal(t, d.End(), 5, d.Stderr.String())
		q.showsEnd(t, ns, look{status: delegation.Failed, state: inspect.StateFailed, mirror: worker})
	})
}

// TestEcosystemDeleted deletes the origins of running mirrors.
func TestEcosystemDeleted(t *testing.T) {
	eachDispatched(t, "deleted", func(t *testing.T, q queued, ns string, start func(string) *dispatching.Process) {
		t.Helper()
		d := start(forHours)
		runs(t, ns, q.pods)
		assert.NilError(t, dynamicClient(management).Resource(q.resource).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
		assert.Equal(t, d.End(), 1, d.Stderr.String())
		eventually(t, worker, q.resource, ns, "train", isAbsent)
		runs(t, ns, 0)
		eventuallyFinds(t, both, ns, "")
	})
}

// showsEnd waits until ls, trace and check show the end of a dispatched object. AppWrappers,
// PipelineRuns and TaskRuns have no TTL, so their mirrors stay (JM204). The controller of a mirror may update its status after the end,
// so differences are left out.
func (q queued) showsEnd(t *testing.T, ns string, want look) {
	t.Helper()
	if slices.Contains([]string{"AppWrapper", "PipelineRun", "TaskRun"}, q.kind) {
		want.findings = "JM204 info"
	}
	var got look
	_ = poll(t.Context(), func(context.Context) bool {
		got = q.look(t, both, ns)
		got.differs = ""
		return got == want
	})
	assert.Equal(t, got, want)
}
