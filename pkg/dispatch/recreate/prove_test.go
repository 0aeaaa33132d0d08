package recreate_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// TestOtherCluster checks that no Job is created on another cluster that the context reaches once the old
// Job is deleted, and that its 404 for the old Job proves nothing.
func TestOtherCluster(t *testing.T) {
	const back = `saved the old job in backup.yaml. First make context "c" reach the cluster again whose namespace kube-system has the UID c-uid. ` +
		"Once job ml/small is gone there, this restores it: `kubectl --context c create -f backup.yaml`"
	const moved = "the context now reaches another cluster: namespace kube-system has the UID other-uid, and had c-uid"
	for name, tt := range map[string]struct {
		// after is the method of the first request after which the context reaches another cluster.
		after string
		// isRefused is whether the cluster refuses that request. isLost is whether its answer is lost.
		isRefused, isLost bool
		// isBack is whether the context reaches the cluster again, once the other one was identified.
		isBack bool
		// byNamespace is whether kube-system is not readable.
		byNamespace bool
		want        []string
	}{
		"after the deletion":              {after: http.MethodDelete, want: []string{"was deleted, but is not proven to be gone after 1m0s: " + moved, "the new job was not created", back}},
		"after the deletion, for a while": {after: http.MethodDelete, isBack: true},
		"known by the namespace": {
			after: http.MethodDelete, byNamespace: true, want: []string{"namespace ml has the UID other-uid, and had ml-uid", "First make context \"c\" reach the cluster again whose namespace ml has the UID ml-uid. "},
		},
		"after a deletion with a conflict": {after: http.MethodDelete, isRefused: true, want: []string{moved, "nothing was changed"}},
		"after a creation without quota": {
			after: http.MethodPost, isRefused: true, want: []string{"cannot create the new job", "cannot create the old one again", moved, back},
		},
		"after a creation without an answer": {
			after: http.MethodPost, isLost: true, want: []string{"cannot create the new job", "it may exist nevertheless. " + back},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t) // It listens on the network, so it must not be in the bubble.
			synctest.Test(t, func(t *testing.T) {
				known := map[string]string{metav1.NamespaceSystem: "c-uid"}
				other := map[string]string{metav1.NamespaceSystem: "other-uid"}
				if tt.byNamespace {
					known, other = map[string]string{"ml": "ml-uid"}, map[string]string{"ml": "other-uid"}
				}
				server.SetNamespaces(known)
				jobs := delegation.Job().Resource
				old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
				var mu sync.Mutex
				hasMoved := false
				var created []string
				server.SetBefore(func(r *http.Request) *apierrors.StatusError {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case hasMoved && r.Method == http.MethodPost:
						created = append(created, r.URL.Path)
					case hasMoved && strings.HasSuffix(r.URL.Path, "/jobs/small"):
						return cluster404()
					case r.Method == tt.after && tt.isRefused && !hasMoved:
						hasMoved = true
						server.SetNamespaces(other)
						if tt.after == http.MethodDelete {
							return apierrors.NewConflict(jobs.GroupResource(), "small", errors.New("no"))
						}
						return ownQuota()
					}
					return nil
				})
				server.After = func(r *http.Request) *apierrors.StatusError {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case r.Method == tt.after && !hasMoved:
						hasMoved = true
						server.SetNamespaces(other)
						if tt.isLost {
							return apierrors.NewTimeoutError("no answer", 0)
						}
					case hasMoved && tt.isBack && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"):
						hasMoved = false
						tt.after = ""
						server.SetNamespaces(known)
					}
					return nil
				}
				r := &recreate.Runner{Cluster: server.BubbleCluster(t, "c"), DeletionTimeout: time.Minute, Backup: "backup.yaml"}
				replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
				assert.NilError(t, err)
				_, err = r.Run(t.Context(), replacement)
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, len(created), 0, "it was created on another cluster: %v, %v", created, err)
				live := server.Get(jobs, "ml", "small")
				if len(tt.want) == 0 {
					assert.NilError(t, err)
					assert.Assert(t, live != nil && live.GetUID() != old.GetUID())
					return
				}
				for _, want := range tt.want {
					assert.ErrorContains(t, err, want)
				}
				assert.Equal(t, live != nil, tt.after == http.MethodDelete && tt.isRefused || tt.isLost)
			})
		})
	}
}

// TestUnreadIdentity checks that an answer which a retry does not change ends the creations at once, and that
// another one does not.
func TestUnreadIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *apierrors.StatusError
		// isLost is whether the answer to the first creation is lost. Otherwise the quota refuses it.
		isLost bool
		// took is how long the creations were retried.
		took time.Duration
		want []string
	}{
		"logged out": {
			answer: apierrors.NewUnauthorized("logged out"), took: 500 * time.Millisecond,
			want: []string{"cannot create the new job", "cannot create the old one again", "once job ml/small is gone, this restores it: "},
		},
		"logged out after a creation without an answer": {
			answer: apierrors.NewUnauthorized("logged out"), isLost: true, took: 500 * time.Millisecond, want: []string{"cannot create the new job", "it may exist nevertheless. saved"},
		},
		"failed store": {
			answer: apierrors.NewInternalError(errors.New("etcdserver: leader changed")), took: time.Minute, want: []string{"cannot create the old one again", "etcdserver: leader changed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t) // It listens on the network, so it must not be in the bubble.
			synctest.Test(t, func(t *testing.T) {
				server.SetNamespaces(map[string]string{metav1.NamespaceSystem: "c-uid"})
				old := server.Create(t, delegation.Job().Resource, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
				r := &recreate.Runner{Cluster: server.BubbleCluster(t, "c"), DeletionTimeout: time.Minute, Backup: "backup.yaml"}
				isUnread, tried := false, time.Time{}
				server.SetBefore(func(r *http.Request) *apierrors.StatusError {
					switch {
					case r.Method == http.MethodPost:
						isUnread, tried = true, time.Now()
						if tt.isLost {
							return apierrors.NewTimeoutError("no answer", 0)
						}
						return ownQuota()
					case isUnread && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"):
						return tt.answer
					}
					return nil
				})
				replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
				assert.NilError(t, err)
				_, err = r.Run(t.Context(), replacement)
				for _, want := range tt.want {
					assert.ErrorContains(t, err, want)
				}
				assert.Equal(t, time.Since(tried), tt.took)
			})
		})
	}
}

// ownQuota returns the refusal of a quota that still counts the old Job.
func ownQuota() *apierrors.StatusError {
	refused := apierrors.NewForbidden(delegation.Job().Resource.GroupResource(), "small", errors.New("no"))
	refused.ErrStatus.Message = "exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1"
	return refused
}

// TestCheckIdentifies checks that Check reads what identifies the cluster if kube-system is not readable.
func TestCheckIdentifies(t *testing.T) {
	server := dispatchtest.NewServer(t)
	old := server.Create(t, delegation.Job().Resource, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
	r := &recreate.Runner{Cluster: server.Cluster(t, "c")}
	server.SetNamespaces(map[string]string{"ml": "ml-uid"})
	p, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
	assert.NilError(t, err)
	assert.NilError(t, r.Check(t.Context(), p))
	assert.Equal(t, r.Cluster.Identity().Namespaces["ml"], "ml-uid")
}

// TestCheckWithoutNamespaces checks that a 404 which is not about the namespace leaves the cluster unidentified, and
// does not keep a Job from being recreated.
func TestCheckWithoutNamespaces(t *testing.T) {
	server := dispatchtest.NewServer(t)
	old := server.Create(t, delegation.Job().Resource, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
	r := &recreate.Runner{Cluster: server.Cluster(t, "c")}
	server.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") {
			return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true)
		}
		return nil
	})
	p, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "c", ManagedBy: "example.com/runner"})
	assert.NilError(t, err)
	assert.NilError(t, r.Check(t.Context(), p))
}

// cluster404 is the 404 of an API server for the old Job.
func cluster404() *apierrors.StatusError {
	return apierrors.NewNotFound(delegation.Job().Resource.GroupResource(), "small")
}
