package dispatch

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestSeveralWorkers: however many Jobs wait for a worker that does not answer, those of
// another one run.
func TestSeveralWorkers(t *testing.T) {
	s := newStage(t)
	frozen := dispatchtest.NewServer(t)
	stuck := clusterOf(t, frozen, "stuck")
	full, thaw := make(chan struct{}), make(chan struct{})
	var waiting atomic.Int32
	frozen.Before = func(*http.Request) *apierrors.StatusError {
		if waiting.Add(1) == workers {
			close(full)
		}
		<-thaw
		return nil
	}
	// The Job of the other worker comes when as many of the others wait as can at once.
	s.here.Before = func(r *http.Request) *apierrors.StatusError {
		body, err := io.ReadAll(r.Body)
		assert.Check(t, err == nil, "%v", err)
		if strings.Contains(r.URL.Path+string(body), delegation.LeaseName("small")) {
			<-full
		}
		return nil
	}
	for i := range workers + 1 {
		job := dispatchtest.SmallJob(t)
		job.SetName(fmt.Sprintf("job-%d", i))
		job = s.here.Create(t, delegation.Job().Resource, job)
		s.tasks = append([]Task{{Namespace: "ml", Name: job.GetName(), UID: job.GetUID(), Worker: stuck}}, s.tasks...)
	}
	events, ended, stop := s.begins()
	defer func() {
		close(thaw)
		stop()
		awaits(t, ended, "it ends")
	}()
	created := awaits(t, events, "an event")
	for ; created.Event != MirrorCreated; created = awaits(t, events, "an event") {
		// Who waits for those would hear first that they do not answer.
		assert.Assert(t, created.Event != Disconnected && created.Event != Warned, created.Message)
	}
	assert.Equal(t, created.Mirror.Context, "there")
	assert.Equal(t, created.Origin.Name, "small")
}

// TestMadeElsewhere: who was told the same of a Job may have put its mirror on another
// worker, and not have noted it yet; then no second one is made.
func TestMadeElsewhere(t *testing.T) {
	s := newStage(t)
	other := dispatchtest.NewServer(t)
	there := clusterOf(t, other, "other")
	is := func() bool {
		found, err := Unnoted(t.Context(), there, delegation.Job(), s.origin, "")
		assert.NilError(t, err)
		return found
	}
	assert.Assert(t, !is())
	mirror := dispatchtest.SmallJob(t)
	mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: "another"})
	mirror = other.Create(t, delegation.Job().Resource, mirror)
	assert.Assert(t, !is(), "it is another origin's")
	mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())})
	other.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetLabels(mirror.GetLabels()) })
	assert.Assert(t, is())

	begun := func() bool {
		was, err := WasBegun(t.Context(), clusterOf(t, s.here, "here"), delegation.Job(), s.origin)
		assert.NilError(t, err)
		return was
	}
	assert.Assert(t, !begun())
	s.tasks[0].Others = []*fleet.Cluster{there}
	// The other worker answers when the Lease has been seen: it is gone with the dispatch.
	seen := make(chan struct{})
	other.Before = func(*http.Request) *apierrors.StatusError { <-seen; return nil }
	events, ended, _ := s.begins()
	expects(t, events, LeaseTaken)
	taken := begun()
	close(seen)
	assert.Assert(t, taken)
	outcome := awaits(t, ended, "it ends")
	assert.Equal(t, outcome.End, Aborted)
	assert.ErrorContains(t, outcome.Err, "made its mirror on other meanwhile")
	assert.Assert(t, s.mirror() == nil)
}
