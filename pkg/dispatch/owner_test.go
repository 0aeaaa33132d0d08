package dispatch

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// jobSets returns a server with a JobSet of dispatch, and a function that gives it back to its own
// controller, as a user can on a cluster without the webhook of JobSet.
func jobSets(t *testing.T) (k delegation.Kind, here *dispatchtest.Server, stored *unstructured.Unstructured, giveBack func()) {
	t.Helper()
	k, _ = delegation.KindNamed("jobset")
	here = dispatchtest.NewServer(t)
	stored = here.Create(t, k.Resource, dispatchtest.FromYAML(t, `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: ml}
spec: {managedBy: jobmanagedby.github.io/dispatch}
`))
	return k, here, stored, func() {
		here.Change(t, k.Resource, "ml", "train", func(o *unstructured.Unstructured) {
			dispatchtest.Set(t, o, "spec.managedBy", "jobset.sigs.k8s.io/jobset-controller")
		})
	}
}

// notPatched fails the test at each change of an object on a server.
func notPatched(t *testing.T) func(*http.Request) *apierrors.StatusError {
	t.Helper()
	return func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		return nil
	}
}

// TestCancelAfterOwnerChanged checks that cancel does not write to an origin that got another owner
// while its mirrors were searched, and says how to delete a mirror that was found.
func TestCancelAfterOwnerChanged(t *testing.T) {
	for name, hasMirror := range map[string]bool{"without a mirror": false, "with a mirror": true} {
		t.Run(name, func(t *testing.T) {
			k, here, origin, giveBack := jobSets(t)
			there := dispatchtest.NewServer(t)
			if hasMirror {
				mirror := origin.DeepCopy()
				mirror.SetUID("")
				mirror.SetResourceVersion("")
				mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: string(origin.GetUID())})
				there.Create(t, k.Resource, mirror)
			}
			c, _ := (&stage{T: t, here: here, there: there}).canceller(clusterOf(t, there, "there"))
			there.SetBefore(func(r *http.Request) *apierrors.StatusError {
				if r.Method == http.MethodGet && r.URL.Query().Has("labelSelector") {
					giveBack()
				}
				return nil
			})
			here.SetBefore(notPatched(t))
			err := c.Cancel(t.Context(), k, "ml", "train")
			var changed *ownerChangedError
			assert.Assert(t, errors.As(err, &changed), "%v", err)
			assert.ErrorContains(t, err, "jobset ml/train: spec.managedBy changed to built-in, so it was not ended")
			advice := "The mirror on there keeps running. Delete the mirror: `kubectl --context there -n ml delete jobsets.jobset.x-k8s.io train`"
			assert.Equal(t, strings.Contains(err.Error(), advice), hasMirror, "%v", err)
			assert.Equal(t, there.Get(k.Resource, "ml", "train") != nil, hasMirror)
		})
	}
}

// TestUnpinAfterOwnerChanged checks that an interrupted dispatch does not write to an origin that has
// another owner now.
func TestUnpinAfterOwnerChanged(t *testing.T) {
	k, here, origin, giveBack := jobSets(t)
	cluster := clusterOf(t, here, "here")
	at := &task{Loop: &Loop{origin: &side{Cluster: cluster}}, Task: Task{Kind: k, UID: origin.GetUID()}, ref: refOf(cluster, origin)}
	giveBack()
	here.SetBefore(notPatched(t))
	assert.Error(t, at.unpin(t.Context()), "jobset ml/train: spec.managedBy changed to built-in")
}
