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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestSeveralWorkers checks that a worker that does not answer does not delay the Jobs of another
// one, however many Jobs wait for it.
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
	// The Job of the other worker starts when as many Jobs wait as can wait at once.
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
	events, ended, stop := s.start()
	defer func() {
		close(thaw)
		stop()
		awaits(t, ended, "the dispatch ends")
	}()
	created := awaits(t, events, "an event")
	for ; created.Event != MirrorCreated; created = awaits(t, events, "an event") {
		// If the Job had waited for the others, their timeouts would come first.
		assert.Assert(t, created.Event != Disconnected && created.Event != Warned, created.Message)
	}
	assert.Equal(t, created.Mirror.Context, "there")
	assert.Equal(t, created.Origin.Name, "small")
}
