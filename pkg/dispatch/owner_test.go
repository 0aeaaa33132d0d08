package dispatch

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

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

// TestCancelOfOtherOwner checks that cancel does not advise to delete a Job that may have a mirror: the mirror would
// become an orphan (docs/dispatch.md, "If you delete the origin").
func TestCancelOfOtherOwner(t *testing.T) {
	const (
		mine   = "job ml/small is managed by example.com/mine, not by jobmanagedby.github.io/dispatch"
		cancel = ". If it was dispatched with --managed-by: `kubectl jobs-managedby cancel small -n ml --context here --managed-by "
		remove = ", and names no mirror of dispatch. To end the Job: `kubectl --context here -n ml delete job small`"
	)
	jobs := delegation.Job().Resource
	for name, tt := range map[string]struct {
		owner, mirror string
		hasLease      bool
		ofUID         string
		cancelled     delegation.Owner
		refused       string
		want          string
	}{
		"with a mirror":                {owner: "example.com/mine", mirror: "c/ml/small/u", want: mine + ", but names a mirror of dispatch" + cancel + "example.com/mine`"},
		"with an unreadable mirror":    {owner: "example.com/mine", mirror: "?", want: mine + ", but names a mirror of dispatch" + cancel + "example.com/mine`"},
		"with a Lease":                 {owner: "example.com/mine", hasLease: true, want: mine + ", but has the Lease jobs-managedby-small of dispatch" + cancel + "example.com/mine`"},
		"with a Lease of an older Job": {owner: "example.com/mine", hasLease: true, ofUID: "older", want: mine + remove},
		"with an unread Lease": {
			owner: "example.com/mine", refused: "leases",
			want: mine + ", and its Lease cannot be read: leases.coordination.k8s.io is forbidden: not today" + cancel + "example.com/mine`",
		},
		"of MultiKueue, with a mirror": {
			owner: string(delegation.MultiKueue), mirror: "c/ml/small/u",
			want: "job ml/small is managed by kueue.x-k8s.io/multikueue, not by jobmanagedby.github.io/dispatch, but names a mirror of dispatch" + cancel + "kueue.x-k8s.io/multikueue`",
		},
		"of dispatch": {
			owner: string(delegation.Dispatch), cancelled: "example.com/mine",
			want: "job ml/small is managed by jobmanagedby.github.io/dispatch, not by example.com/mine. To end its dispatch: `kubectl jobs-managedby cancel small -n ml --context here`",
		},
		"not delegated, with a mirror": {
			owner: "kubernetes.io/job-controller", mirror: "c/ml/small/u",
			want: "job ml/small is managed by built-in, not by jobmanagedby.github.io/dispatch, but names a mirror of dispatch, which may still run. " +
				"To find the mirror in each CONTEXT: `kubectl --context CONTEXT get job -A -l jobmanagedby.github.io/origin-uid=",
		},
		"never dispatched": {owner: "example.com/mine", want: mine + remove},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if tt.hasLease {
				s.addLease("", time.Now())
			}
			if tt.ofUID != "" {
				s.here.Change(t, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
					l.SetLabels(map[string]string{delegation.OriginUIDLabel: tt.ofUID})
				})
			}
			s.here.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) {
				dispatchtest.Set(t, o, "spec.managedBy", tt.owner)
				if tt.mirror != "" {
					o.SetAnnotations(map[string]string{delegation.MirrorAnnotation: tt.mirror})
				}
			})
			c, _ := s.canceller(clusterOf(t, s.there, "there"))
			c.Owner = cmp.Or(tt.cancelled, delegation.Dispatch)
			s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
				if tt.refused != "" && strings.Contains(r.URL.Path, "/"+tt.refused) {
					return apierrors.NewForbidden(leases().GroupResource(), "", errors.New("not today"))
				}
				return nil
			})
			err := c.Cancel(t.Context(), delegation.Job(), "ml", "small")
			assert.ErrorContains(t, err, tt.want)
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
