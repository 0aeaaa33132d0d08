package dispatch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// lostOnce answers the first request of a method with 502 Bad Gateway after it was carried out, as a
// proxy does that lost the connection to the server.
func lostOnce(method string) func(*http.Request) *apierrors.StatusError {
	isLost := false
	return func(r *http.Request) *apierrors.StatusError {
		if isLost || r.Method != method {
			return nil
		}
		isLost = true
		return apierrors.NewGenericServerResponse(http.StatusBadGateway, "", schema.GroupResource{}, "", "", 0, true)
	}
}

// TestCancelWithLostAnswer checks that cancel continues if the end of the origin was written but not
// answered.
func TestCancelWithLostAnswer(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	s.here.After = lostOnce(http.MethodPatch)
	c, events := s.canceller(clusterOf(t, s.there, "there"))
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, s.mirror() == nil)
	assert.Assert(t, object.EndOf(delegation.Job(), s.here.Get(delegation.Job().Resource, "ml", "small")) != nil)
	assert.Assert(t, strings.HasSuffix((*events)[len(*events)-1].Message, "its mirror on there was removed"), "%v", *events)
}

// TestCancelOfDeletedOrigin checks that cancel removes the mirrors that it has found although the
// origin was deleted meanwhile: a second cancel would not find it.
func TestCancelOfDeletedOrigin(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	there := clusterOf(t, s.there, "there")
	s.there.SetBefore(func(r *http.Request) *apierrors.StatusError {
		// The dry run is the last request before the end of the origin.
		if r.Method == http.MethodDelete && s.here.Get(delegation.Job().Resource, "ml", "small") != nil {
			s.here.Delete(t, delegation.Job().Resource, "ml", "small")
		}
		return nil
	})
	c, events := s.canceller(there)
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, s.mirror() == nil)
	assert.Equal(t, (*events)[len(*events)-1].Message, "it was deleted meanwhile; its mirror on there was removed")
}

// refuseStartTime answers each status with a startTime as API servers without the exception for resumed Jobs
// (rule 32 of pkg/dispatch/projection).
func refuseStartTime(t *testing.T, startTime string) func(*http.Request) *apierrors.StatusError {
	t.Helper()
	return func(r *http.Request) *apierrors.StatusError {
		body, err := io.ReadAll(r.Body)
		assert.Check(t, err == nil, "%v", err)
		if r.Method != http.MethodPatch || !strings.Contains(string(body), `"startTime":"`+startTime) {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "small", field.ErrorList{
			field.Invalid(field.NewPath("status", "startTime"), startTime, "field is immutable for unsuspended job once set"),
		})
	}
}

// TestCancelKeepsTimes checks that cancel copies the end of a mirror that has started again to a server that
// accepts no other startTime. If the server accepts no end at all, the error does not say that another try alone helps.
func TestCancelKeepsTimes(t *testing.T) {
	jobs := delegation.Job().Resource
	for _, refused := range []string{"2026-11-23T10:00:01Z", ""} {
		t.Run("refuses "+refused, func(t *testing.T) {
			s := newStage(t)
			s.here.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) {
				dispatchtest.Set(t, o, "status.startTime", "2026-11-23T09:00:00Z")
				dispatchtest.Set(t, o, "status.conditions", `yaml:[{type: Suspended, status: "False"}]`)
			})
			s.addMirror(s.there, "ml", string(s.origin.GetUID()))
			s.there.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) {
				dispatchtest.Set(t, o, "status.conditions", `yaml:[{type: Suspended, status: "False"}]`)
			})
			s.completeMirror()
			c, _ := s.canceller(clusterOf(t, s.there, "there"))
			c.OriginMinor = 34
			s.here.SetBefore(refuseStartTime(t, refused))
			err := c.Cancel(t.Context(), delegation.Job(), "ml", "small")
			origin := s.here.Get(jobs, "ml", "small")
			if refused == "" {
				assert.ErrorContains(t, err, "cannot end job ml/small: ")
				assert.Assert(t, strings.HasSuffix(err.Error(), "Its mirrors were not deleted: ml/small on there. Run the command again once that is fixed"), "%v", err)
				assert.Assert(t, s.mirror() != nil)
				return
			}
			assert.NilError(t, err)
			assert.Assert(t, !object.EndOf(delegation.Job(), origin).Failed)
			assert.Equal(t, content.StringAt(origin, "status", "startTime"), "2026-11-23T09:00:00Z")
			assert.Assert(t, s.mirror() == nil)
		})
	}
}

// TestEndWithLostAnswer checks that a Job is complete if the answer to its final status was lost, and its TTL
// controller deleted it before it could be read again. Its mirror stays for its own TTL.
func TestEndWithLostAnswer(t *testing.T) {
	jobs := delegation.Job().Resource
	s := newStage(t)
	s.here.After = func(r *http.Request) *apierrors.StatusError {
		origin := s.here.Get(jobs, "ml", "small")
		if r.Method != http.MethodPatch || origin == nil || !object.HasFinished(delegation.Job(), origin) {
			return nil
		}
		s.here.Delete(t, jobs, "ml", "small")
		return apierrors.NewGenericServerResponse(http.StatusBadGateway, "", schema.GroupResource{}, "", "", 0, true)
	}
	loop, events := s.loop()
	loop.options.MirrorTTL = time.Hour
	ended := make(chan Outcome, 1)
	go func() { ended <- loop.Run(t.Context(), s.tasks)[0] }()
	expects(t, events, MirrorCreated)
	s.completeMirror()
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Completed)
	assert.Equal(t, content.At(s.mirror(), "spec", "ttlSecondsAfterFinished"), int64(3600))
	complete := expects(t, events, Completed)
	assert.Equal(t, complete.Status, delegation.Complete)
	assert.Equal(t, complete.Succeeded, int32(1))
}

// TestEndWithLostAnswerFoundGone checks that a Job is complete, too, if the next write finds it deleted before the
// watch has told so.
func TestEndWithLostAnswerFoundGone(t *testing.T) {
	jobs := delegation.Job().Resource
	s := newStage(t)
	tries := 0
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if !s.isFinalWrite(r) {
			return nil
		}
		tries++
		if tries == 1 {
			return apierrors.NewTimeoutError("no answer", 0)
		}
		s.here.Delete(t, jobs, "ml", "small")
		return apierrors.NewNotFound(jobs.GroupResource(), "small")
	})
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	s.completeMirror()
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Completed)
}

// isFinalWrite reports whether a request writes the origin's status after its mirror has finished.
func (s *stage) isFinalWrite(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") && s.mirror() != nil && object.HasFinished(delegation.Job(), s.mirror())
}

// TestUnstoredEnd checks that a Job which a user deletes is not complete if its final status was certainly not
// stored. Its mirror is deleted.
func TestUnstoredEnd(t *testing.T) {
	jobs := delegation.Job().Resource
	lost := apierrors.NewTimeoutError("no answer", 0)
	failing := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, answers := range map[string][]*apierrors.StatusError{
		"a failing webhook":                  {failing, failing},
		"a failing webhook after no answer":  {lost, failing},
		"another refusal after no answer":    {lost, apierrors.NewForbidden(jobs.GroupResource(), "small", errors.New("no"))},
		"an invalid status after no answer":  {lost, apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "small", nil)},
		"no answer between failing webhooks": {failing, lost, failing},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			tries := 0
			s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
				if !s.isFinalWrite(r) || tries == len(answers) {
					return nil
				}
				answer := answers[tries]
				tries++
				if tries == len(answers) {
					s.here.Delete(t, jobs, "ml", "small")
				}
				return answer
			})
			events, ended, _ := s.start()
			expects(t, events, MirrorCreated)
			s.completeMirror()
			assert.Equal(t, awaits(t, ended, "the dispatch ends").End, OriginDeleted)
			assert.Assert(t, s.mirror() == nil)
		})
	}
}

// TestSeenOriginBeforeLostEnd checks that an origin which was read after a lost answer counts, whether it has
// ended or not.
func TestSeenOriginBeforeLostEnd(t *testing.T) {
	s := newStage(t)
	job, _ := s.interruptible()
	completed := s.origin.DeepCopy()
	setCondition(t, completed, "Complete", "CompletionsReached", 9)
	job.copy.recordAnswer(copyResult{ended: completed}, apierrors.NewTimeoutError("no answer", 0))
	assert.Assert(t, job.knownEnd() == nil, "it exists")
	job.news.isOriginGone.Store(true)
	job.originNow = s.failOrigin(CancelReason)
	assert.Equal(t, job.knownEnd().Reason, CancelReason)
	job.originNow = s.origin.DeepCopy()
	job.originNow.SetResourceVersion("later")
	assert.Assert(t, job.knownEnd() == nil)
	job.originNow = s.origin
	assert.Assert(t, !job.knownEnd().Failed)
}

// TestCancelNamesWhatRuns checks that the error of an origin that cannot be ended names the mirrors.
func TestCancelNamesWhatRuns(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	there := clusterOf(t, s.there, "there")
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "small", errors.New("no"))
		}
		return nil
	})
	c, _ := s.canceller(there)
	assert.ErrorContains(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"), "Its mirrors were not deleted: ml/small on there.")
	assert.Assert(t, s.mirror() != nil)
}

// TestCreateOriginWithLostAnswer checks that an origin counts as created if only the answer was lost,
// and that its state is called unknown if it cannot be read, or if the request may still arrive.
func TestCreateOriginWithLostAnswer(t *testing.T) {
	server := dispatchtest.NewServer(t)
	server.After = lostOnce(http.MethodPost)
	c := clusterOf(t, server, "here")
	created, err := CreateOrigin(t.Context(), c, delegation.Job(), dispatchtest.SmallJob(t))
	assert.NilError(t, err)
	assert.Equal(t, created.GetUID(), server.Get(delegation.Job().Resource, "ml", "small").GetUID())

	// Another user of this program has just created one of that name. The answer that it exists is lost.
	server = dispatchtest.NewServer(t)
	other := dispatchtest.SmallJob(t)
	dispatchtest.Set(t, other, "spec.parallelism", int64(7))
	_, err = CreateOrigin(t.Context(), clusterOf(t, server, "here"), delegation.Job(), other)
	assert.NilError(t, err)
	server.Before = lostOnce(http.MethodPost)
	_, err = CreateOrigin(t.Context(), clusterOf(t, server, "here"), delegation.Job(), dispatchtest.SmallJob(t))
	assert.ErrorContains(t, err, `context "here": unknown whether job ml/small was created`)

	server = dispatchtest.NewServer(t)
	server.After = lostOnce(http.MethodPost)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/small") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "small", errors.New("no"))
		}
		return nil
	}
	_, err = CreateOrigin(t.Context(), clusterOf(t, server, "here"), delegation.Job(), dispatchtest.SmallJob(t))
	assert.ErrorContains(t, err, `context "here": unknown whether job ml/small was created`)

	server = dispatchtest.NewServer(t)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPost {
			return apierrors.NewServiceUnavailable("try again")
		}
		return nil
	}
	_, err = CreateOrigin(t.Context(), clusterOf(t, server, "here"), delegation.Job(), dispatchtest.SmallJob(t))
	assert.ErrorContains(t, err, `context "here": unknown whether job ml/small was created: try again. Run the command again`)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPost {
			return apierrors.NewInternalError(errors.New("failed calling webhook"))
		}
		return nil
	}
	_, err = CreateOrigin(t.Context(), clusterOf(t, server, "here"), delegation.Job(), dispatchtest.SmallJob(t))
	assert.ErrorContains(t, err, `context "here": cannot create job ml/small: `)
}

// TestInterruptedBeforeMirror checks that an interrupted dispatch says that a mirror may still be created, and
// leaves its Lease to expire, only if the worker's API server gave no answer.
func TestInterruptedBeforeMirror(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *apierrors.StatusError
		isOpen bool
	}{
		"a failing webhook": {apierrors.NewInternalError(errors.New(`failed calling webhook "mjob.kb.io": connection refused`)), false},
		"no credentials":    {apierrors.NewUnauthorized("expired"), false},
		"a busy server":     {apierrors.NewTooManyRequests("later", 0), false},
		"a proxy's 502":     {apierrors.NewGenericServerResponse(http.StatusBadGateway, "", schema.GroupResource{}, "", "", 0, true), true},
		"no time left":      {apierrors.NewTimeoutError("later", 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var tried atomic.Int64
			s.there.Before = func(r *http.Request) *apierrors.StatusError {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") {
					return nil
				}
				tried.Add(1)
				return tt.answer
			}
			events, ended, stop := s.start()
			eventually(t, "the mirror is requested", func() bool { return tried.Load() > 1 })
			stop()
			assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Interrupted)
			var last Event
			for len(events) > 0 {
				last = <-events
			}
			assert.Equal(t, strings.Contains(last.Message, "may still arrive"), tt.isOpen, last.Message)
			lease := s.here.Get(leases(), "ml", delegation.LeaseName("small"))
			assert.Equal(t, content.StringAt(lease, "spec", "holderIdentity") != "", tt.isOpen)
		})
	}
}
