package dispatch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestRefusedCredentials checks that a first refusal of credentials is not reported, because the
// client then gets new ones. A second refusal is.
func TestRefusedCredentials(t *testing.T) {
	var r refusal
	assert.Assert(t, !r.mayPass(errors.New("else")))
	assert.Assert(t, r.mayPass(apierrors.NewUnauthorized("no")))
	assert.Assert(t, !r.mayPass(apierrors.NewUnauthorized("no")))
}

// TestStatusThatCannotBeStored checks that writes to a server that cannot store a status are
// retried with growing delays and reported once, and that the status is not lost.
func TestStatusThatCannotBeStored(t *testing.T) {
	s := newStage(t)
	var refuses atomic.Bool
	var tried atomic.Int64
	s.here.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") && refuses.Load() {
			tried.Add(1)
			return apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded"))
		}
		return nil
	}
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	refuses.Store(true)
	began := time.Now()
	s.there.Change(t, delegation.Job().Resource, "ml", "small", func(m *unstructured.Unstructured) {
		dispatchtest.Set(t, m, "status.startTime", "2026-01-01T00:00:00Z")
		dispatchtest.Set(t, m, "status.active", int64(1))
	})
	warned := expects(t, events, Warned)
	assert.Assert(t, strings.Contains(warned.Message, "Its etcd is full"), warned.Message)
	eventually(t, "the write is retried", func() bool { return tried.Load() == 8 })
	// The delays start at 20 ms and double. A constant pace would allow ten tries per second.
	assert.Assert(t, time.Since(began) > 1200*time.Millisecond, "eight times in %s", time.Since(began))
	refuses.Store(false)
	for e := (Event{}); e.Event != StatusCopied; {
		e = awaits(t, events, "the status is stored")
		assert.Assert(t, e.Event != Warned, "told again: %s", e.Message)
	}
	select {
	case end := <-ended:
		t.Fatalf("it ended: %+v", end)
	default:
	}
}

// TestSeveralWorkers checks that a worker that does not answer does not delay the Jobs of another
// one, however many Jobs wait for it.
func TestSeveralWorkers(t *testing.T) {
	s := newStage(t)
	frozen := dispatchtest.NewServer(t)
	stuck := clusterOf(t, frozen, "stuck")
	full, thaw := make(chan struct{}), make(chan struct{})
	var waiting atomic.Int32
	frozen.Before = func(*http.Request) *apierrors.StatusError {
		if waiting.Add(1) == syncsAtOnce {
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
	for i := range syncsAtOnce + 1 {
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
