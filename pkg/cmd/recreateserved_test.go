package cmd

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRecreateOfServedJob checks that recreate reads the Lease of the Job, and refuses a Job that a
// dispatcher serves. It does not refuse one whose dispatcher has stopped.
func TestRecreateOfServedJob(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// ago is when the API server stored the last renewal.
		ago  time.Duration
		want string
	}{
		"served":  {0, "job default/train cannot be recreated now: alice@laptop dispatches it (Lease default/jobs-managedby-train); end the dispatch first: `kubectl jobs-managedby cancel"},
		"stopped": {time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := serve(t, filepath.Join(recordings, "unknown-owner"), func(_ string, w http.ResponseWriter, r *http.Request) bool {
				var answer any
				switch {
				case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
					answer = &authorizationv1.SelfSubjectAccessReview{
						TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
						Status:   authorizationv1.SubjectAccessReviewStatus{Allowed: true},
					}
				case strings.HasSuffix(r.URL.Path, "/leases/jobs-managedby-train"):
					// The Lease is long, so that no machine is too slow.
					taken := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
					answer = &coordinationv1.Lease{
						TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
						ObjectMeta: metav1.ObjectMeta{
							Namespace: "default", Name: "jobs-managedby-train", ManagedFields: []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: time.Now().Add(-tt.ago)}}},
						},
						Spec: coordinationv1.LeaseSpec{
							HolderIdentity: new("alice@laptop"), LeaseDurationSeconds: new(int32(1500)),
							AcquireTime: &metav1.MicroTime{Time: taken}, RenewTime: &metav1.MicroTime{Time: taken.Add(90 * time.Second)},
						},
					}
				default:
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				assert.Check(t, json.NewEncoder(w).Encode(answer))
				return true
			})
			out, stderr, code := run(t, "recreate", "train", "-n", "default", "--managed-by", "example.com/runner", "--dry-run=client",
				"--backup", filepath.Join(t.TempDir(), "old.yaml"), "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir())
			if tt.want == "" {
				assert.Equal(t, code, 0, out+stderr)
				return
			}
			assert.Equal(t, code, 1, out+stderr)
			assert.Assert(t, strings.Contains(stderr, tt.want) && strings.Contains(stderr, "nothing was changed"), stderr)
		})
	}
}
