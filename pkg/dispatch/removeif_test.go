package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestRemoveIf checks that a change right before the deletion cancels it if the reason to delete the
// object no longer holds.
func TestRemoveIf(t *testing.T) {
	jobs := delegation.Job().Resource
	for _, tt := range []struct {
		name       string
		change     func(t *testing.T, s *dispatchtest.Server)
		isRemoved  bool
		isRepaired bool
	}{
		{name: "unchanged", change: func(*testing.T, *dispatchtest.Server) {}, isRemoved: true},
		{name: "its status has changed", isRemoved: true, change: func(t *testing.T, s *dispatchtest.Server) {
			t.Helper()
			s.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"seen": "true"}) })
		}},
		{name: "another client has repaired it", isRepaired: true, change: func(t *testing.T, s *dispatchtest.Server) {
			t.Helper()
			s.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(t, o, "spec.managedBy", "example.com/runner") })
		}},
		{name: "another client has recreated it", change: func(t *testing.T, s *dispatchtest.Server) {
			t.Helper()
			s.Delete(t, jobs, "ml", "small")
			s.Create(t, jobs, dispatchtest.SmallJob(t))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			server.SetNamespaces(map[string]string{"kube-system": "uid-of-the-cluster"})
			wrong := dispatchtest.SmallJob(t)
			unstructured.RemoveNestedField(wrong.Object, "spec", "managedBy")
			stored := server.Create(t, jobs, wrong)
			c, deletions := server.Cluster(t, "here"), 0
			server.SetBefore(func(r *http.Request) *apierrors.StatusError {
				if r.Method == http.MethodDelete {
					deletions++
				}
				if r.Method == http.MethodDelete && deletions == 1 {
					tt.change(t, server)
				}
				return nil
			})
			removed, err := c.RemoveIf(t.Context(), jobs, stored, func(o *unstructured.Unstructured) bool {
				_, hasOwner, _ := unstructured.NestedString(o.Object, "spec", "managedBy")
				return !hasOwner
			})
			assert.Equal(t, removed, tt.isRemoved, "%v", err)
			changed := (*fleet.ChangedError)(nil)
			assert.Equal(t, errors.As(err, &changed), tt.isRepaired, "%v", err)
			assert.Equal(t, err != nil, tt.isRepaired, "%v", err)
			assert.Equal(t, server.Get(jobs, "ml", "small") == nil, tt.isRemoved)
		})
	}
}

// TestRemoveIfAnsweredByProxy checks that an answer 200 counts only if the object is gone or terminating.
func TestRemoveIfAnsweredByProxy(t *testing.T) {
	jobs := delegation.Job().Resource
	for _, tt := range []struct {
		name string
		// lies is how many deletions a proxy answers instead of the server.
		lies      int
		isRemoved bool
		err       string
	}{
		{"once", 1, true, ""},
		{"always", 100, false, `context "here": jobs.batch ml/small still exists, although the server answered that it is deleted`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			stored := server.Create(t, jobs, dispatchtest.SmallJob(t))
			lies := 0
			server.Before = func(r *http.Request) *apierrors.StatusError {
				if r.Method != http.MethodDelete || lies == tt.lies {
					return nil
				}
				lies++
				return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK}}
			}
			removed, err := server.Cluster(t, "here").RemoveIf(t.Context(), jobs, stored, func(*unstructured.Unstructured) bool { return true })
			assert.Equal(t, removed, tt.isRemoved)
			assert.Equal(t, server.Get(jobs, "ml", "small") == nil, tt.isRemoved)
			if tt.err == "" {
				assert.NilError(t, err)
			} else {
				assert.Error(t, err, tt.err)
			}
		})
	}
}

// TestRemoveIfUnread checks that RemoveIf claims nothing about an object that it could not read afterwards.
func TestRemoveIfUnread(t *testing.T) {
	jobs := delegation.Job().Resource
	server := dispatchtest.NewServer(t)
	stored := server.Create(t, jobs, dispatchtest.SmallJob(t))
	always := func(*unstructured.Unstructured) bool { return true }
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := server.Cluster(t, "here").RemoveIf(ended, jobs, stored, always)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Assert(t, server.Get(jobs, "ml", "small") != nil)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodGet {
			return apierrors.NewTimeoutError("the server does not answer", 0)
		}
		return nil
	}
	removed, err := server.Cluster(t, "here").RemoveIf(t.Context(), jobs, stored, always)
	assert.ErrorContains(t, err, "no answer in time")
	assert.Assert(t, !removed)
}
