package preflight

import (
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestNewNamespace checks that preflight waits for the default ServiceAccount of a new
// namespace, and for no other one.
func TestNewNamespace(t *testing.T) {
	for account, want := range map[string]struct{ tries, problems int }{"default": {3, 0}, "robot": {1, 1}} {
		t.Run(account, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			cluster, tries := server.Cluster(t, "worker"), 0
			server.Before = func(*http.Request) *apierrors.StatusError {
				tries++
				if tries < 3 {
					return apierrors.NewForbidden(corev1.Resource("pods"), "train-",
						errors.New("error looking up service account ml/"+account+`: serviceaccount "`+account+`" not found`))
				}
				return nil
			}
			mirror := &unstructured.Unstructured{}
			mirror.SetNamespace("ml")
			c := &check{worker: NewProbe(cluster), mirror: mirror}
			pod := &unstructured.Unstructured{}
			pod.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
			pod.SetNamespace("ml")
			got, err := c.tryUntilClear(t.Context(), pod)
			assert.NilError(t, err)
			assert.Equal(t, tries, want.tries)
			assert.Equal(t, len(got.problems), want.problems, "%+v", got.problems)
		})
	}
}

// TestWebhookLooksForController checks that a webhook may look for the mirror, which does not exist
// yet, and that all other refusals of webhooks count.
func TestWebhookLooksForController(t *testing.T) {
	for text, want := range map[string]struct{ tries, problems int }{
		`admission webhook "mpod.kb.io" denied the request: workload owner not found` + "\n" + `Job.batch "train" not found`: {2, 0},
		`admission webhook "policy.example.com" denied the request: no team label`:                                           {1, 1},
	} {
		t.Run(text, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			cluster, tries := server.Cluster(t, "worker"), 0
			server.Before = func(*http.Request) *apierrors.StatusError {
				tries++
				if tries > 1 {
					return nil
				}
				return apierrors.NewForbidden(corev1.Resource("pods"), "train-", errors.New(text))
			}
			c := &check{worker: NewProbe(cluster), mirror: &unstructured.Unstructured{}, kind: delegation.Job()}
			c.mirror.SetNamespace("ml")
			c.mirror.SetName("train")
			got, err := c.tryUntilClear(t.Context(), c.podOf(&pods{}))
			assert.NilError(t, err)
			assert.Equal(t, tries, want.tries)
			assert.Equal(t, len(got.problems), want.problems, "%+v", got.problems)
		})
	}
}
