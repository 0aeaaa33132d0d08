package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// jobNamed returns a Job in the namespace ml.
func jobNamed(name, uid string, annotations map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{}}}
	o.SetNamespace("ml")
	o.SetName(name)
	o.SetUID(types.UID(uid))
	o.SetAnnotations(annotations)
	return o
}

// clusterWith returns a cluster as a context sees it. identity is "UID of kube-system/UID of
// namespace ml", each "" if it is not readable. The cluster has Jobs train in the namespace ml,
// with the given UIDs. "UID=ORIGIN" adds our label with the UID of an origin.
func clusterWith(t *testing.T, name, identity string, uids ...string) *fleet.Cluster {
	t.Helper()
	return failingCluster(t, "", nil, name, identity, uids...)
}

// failingCluster returns such a cluster whose requests of a method for Jobs fail.
func failingCluster(t *testing.T, method string, err *apierrors.StatusError, name, identity string, uids ...string) *fleet.Cluster {
	t.Helper()
	server := dispatchtest.NewServer(t)
	for _, uid := range uids {
		uid, originUID, isMarked := strings.Cut(uid, "=")
		job := jobNamed("train", uid, nil)
		if isMarked {
			job.SetLabels(map[string]string{delegation.OriginUIDLabel: originUID})
		}
		server.Create(t, delegation.Job().Resource, job)
	}
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == method && (strings.HasSuffix(r.URL.Path, "/train") || strings.HasSuffix(r.URL.Path, "/jobs")) {
			return err
		}
		return nil
	}
	system, ml, _ := strings.Cut(identity, "/")
	server.Namespaces = map[string]string{"kube-system": system, "ml": ml}
	return server.Cluster(t, name)
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "train", errors.New("no"))

// proxyNotFound is the 404 of a proxy.
func proxyNotFound() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "no such cluster", 0, true)
}

// cluster404 is the 404 of Teleport and Karmada for an offline cluster.
func cluster404() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "Kubernetes cluster not found",
	}}
}

// TestCheckPlace checks that only our label with the origin's UID makes a mirror. A place is empty
// only if its cluster has proven its identity.
func TestCheckPlace(t *testing.T) {
	origin := RefOf("m", jobNamed("train", "origin", nil))
	for name, tt := range map[string]struct {
		mark   string
		worker *fleet.Cluster
		want   string
	}{
		"where it was written":               {"w/ml/train/u", clusterWith(t, "w", "w/", "u=origin"), "mirror"},
		"on another cluster":                 {"v/ml/train/u", clusterWith(t, "w", "w/", "u=origin"), "other"},
		"with fewer rights":                  {"w+n/ml/train/u", clusterWith(t, "w", "/n", "u=origin"), "mirror"},
		"without any identity":               {"unknown/ml/train/u", clusterWith(t, "w", "/", "u=origin"), "mirror"},
		"another mirror of this origin":      {"w/ml/train/u", clusterWith(t, "w", "w/", "v=origin"), "mirror"},
		"gone":                               {"w/ml/train/u", clusterWith(t, "w", "w/"), "gone"},
		"gone, by the namespace":             {"unknown+n/ml/train/u", clusterWith(t, "w", "/n"), "gone"},
		"replaced by a foreign object":       {"w/ml/train/u", clusterWith(t, "w", "w/", "x"), "gone"},
		"not there, and nothing is known":    {"unknown/ml/train/u", clusterWith(t, "w", "/"), "perhaps"},
		"not there, with fewer rights":       {"w/ml/train/u", clusterWith(t, "w", "/n"), "perhaps"},
		"another namespace of that name":     {"unknown+n/ml/train/u", clusterWith(t, "w", "w/o"), "perhaps"},
		"without our label":                  {"w/ml/train/u", clusterWith(t, "w", "w/", "u"), "foreign"},
		"without our label, on some cluster": {"unknown/ml/train/u", clusterWith(t, "w", "/", "u"), "foreign"},
		"of another origin":                  {"w/ml/train/u", clusterWith(t, "w", "w/", "u=another"), "copy"},
	} {
		t.Run(name, func(t *testing.T) {
			place, ok := delegation.ParsePlace(tt.mark)
			assert.Assert(t, ok)
			s, err := CheckPlace(t.Context(), tt.worker, delegation.Job(), origin, place)
			assert.NilError(t, err)
			got := map[delegation.Sameness]string{delegation.PerhapsSame: "perhaps", delegation.CertainlyOther: "other"}[s.Sameness]
			switch {
			case s.Mirror != nil:
				got = "mirror"
			case s.Foreign != nil:
				got = "foreign"
			case s.IsCopy:
				got = "copy"
			case s.IsGone:
				got = "gone"
			}
			assert.Equal(t, got, tt.want)
		})
	}
	place, _ := delegation.ParsePlace("w/ml/train/u")
	for _, answer := range []*apierrors.StatusError{errForbidden, proxyNotFound(), cluster404()} {
		s, err := CheckPlace(t.Context(), failingCluster(t, http.MethodGet, answer, "w", "w/"), delegation.Job(), origin, place)
		assert.Assert(t, err != nil && !s.IsGone, "%v", answer)
	}
}

// TestWithKnown checks that a dispatch with fewer rights keeps the UIDs that another
// one has recorded.
func TestWithKnown(t *testing.T) {
	mark := func(text string) delegation.Place {
		p, ok := delegation.ParsePlace(text)
		assert.Assert(t, ok, text)
		return p
	}
	assert.Equal(t, withKnown(mark("unknown+n/ml/train/u"), mark("w/ml/train/u")).String(), "w+n/ml/train/u")
	assert.Equal(t, withKnown(mark("w/ml/train/u"), mark("unknown+n/ml/train/u")).String(), "w+n/ml/train/u")
	assert.Equal(t, withKnown(mark("unknown/ml/train/v"), mark("w/ml/train/u")).String(), "unknown/ml/train/v")
}

// TestCancelFinds checks that cancel finds all mirrors by their label, and refuses if a place
// that may hold one was not searched.
func TestCancelFinds(t *testing.T) {
	type clusters = []*fleet.Cluster
	const unsearched = "nothing was changed. Not searched: "
	for name, tt := range map[string]struct {
		mark      string
		workers   clusters
		unreached []string
		// on are the contexts of the mirrors found. refused is the error otherwise.
		on, refused string
	}{
		"at the recorded place":               {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "v", "v/"), clusterWith(t, "w", "w/", "u=origin")}, on: "w"},
		"with fewer rights":                   {mark: "w+n/ml/train/u", workers: clusters{clusterWith(t, "w", "/n", "u=origin")}, on: "w"},
		"on two workers":                      {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "w", "w/", "u=origin"), clusterWith(t, "v", "v/", "x=origin")}, on: "w,v"},
		"on two workers, the second is named": {mark: "v/ml/train/x", workers: clusters{clusterWith(t, "w", "w/", "u=origin"), clusterWith(t, "v", "v/", "x=origin")}, on: "v,w"},
		"it names none, and there is one":     {workers: clusters{clusterWith(t, "v", "v/"), clusterWith(t, "w", "w/", "u=origin")}, on: "w"},
		"it names nonsense":                   {mark: "nonsense", workers: clusters{clusterWith(t, "w", "w/", "u=origin")}, on: "w"},
		"it is gone":                          {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "v", "v/"), clusterWith(t, "w", "w/")}},
		"it names none, and there is none":    {workers: clusters{clusterWith(t, "v", "v/")}},
		"a copy of another origin":            {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "w", "w/", "u=another")}},

		"a foreign Job":                             {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "w", "w/", "u")}, refused: "nothing was changed: the annotation jobmanagedby.github.io/mirror of job ml/train names an object that is not its mirror. job ml/train on w (UID u) is not the mirror"},
		"one does not answer":                       {mark: "v/ml/train/u", workers: clusters{clusterWith(t, "v", "v/")}, unreached: []string{"w"}, refused: unsearched + "context w."},
		"one does not answer, another has a mirror": {mark: "v/ml/train/u", workers: clusters{clusterWith(t, "v", "v/", "u=origin")}, unreached: []string{"w"}, refused: "although mirrors were found (ml/train on v). Not searched: context w."},
		"it names none, and one is down":            {workers: clusters{clusterWith(t, "v", "v/")}, unreached: []string{"w"}, refused: unsearched + "context w."},
		"a proxy answers 404":                       {mark: "w/ml/train/u", workers: clusters{failingCluster(t, http.MethodGet, proxyNotFound(), "w", "w/")}, refused: "the answer 404 is not from the API server of the cluster"},
		"a front answers 404":                       {workers: clusters{failingCluster(t, http.MethodGet, cluster404(), "w", "w/")}, refused: "the answer 404 is not from the API server of the cluster"},
		"nothing identifies the cluster":            {workers: clusters{clusterWith(t, "w", "/")}, refused: "the user may get neither namespace kube-system nor namespace ml"},
		"no context for that cluster":               {mark: "w/ml/train/u", workers: clusters{clusterWith(t, "v", "v/")}, refused: unsearched + "ml/train on cluster w, the recorded place of its mirror, which no context is proven to reach"},
		"it may not be searched":                    {mark: "w/ml/train/u", workers: clusters{failingCluster(t, http.MethodGet, errForbidden, "w", "w/")}, refused: unsearched + "context \"w\": "},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{}
			if tt.mark != "" {
				annotations[delegation.MirrorAnnotation] = tt.mark
			}
			here := clusterWith(t, "m", "m/")
			x := &cancellation{
				Canceller: &Canceller{Origin: here, Workers: tt.workers, Unreached: tt.unreached}, events: NewRecorder(clock.RealClock{}, func(*Event) {}),
				kind: delegation.Job(), ref: refTo(here, delegation.Job().GroupVersionKind(), "ml", "train", "origin"),
			}
			err := x.findMirrors(t.Context(), jobNamed("train", "origin", annotations))
			if tt.refused != "" {
				assert.ErrorContains(t, err, tt.refused)
				return
			}
			assert.NilError(t, err)
			var on []string
			for _, m := range x.mirrors {
				on = append(on, m.Cluster.Context)
			}
			assert.Equal(t, strings.Join(on, ","), tt.on)
		})
	}
}

// TestCancelWithFewRights has a user who can list Jobs in one namespace only. Cancel deletes the
// mirror recorded there and reports what it did not search. Without a record, no mirror was created, and
// cancel searches the Job's own namespace. If the record names another one, it refuses.
func TestCancelWithFewRights(t *testing.T) {
	server := dispatchtest.NewServer(t)
	job := jobNamed("train", "u", nil)
	job.SetLabels(map[string]string{delegation.OriginUIDLabel: "origin"})
	server.Create(t, delegation.Job().Resource, job)
	server.Namespaces = map[string]string{"ml": "n"}
	isDenied := func(path string) bool { return path == "/apis/batch/v1/jobs" }
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if isDenied(r.URL.Path) {
			return errForbidden
		}
		return nil
	}
	find := func(mark string) (*cancellation, []string, error) {
		var messages []string
		here := clusterWith(t, "m", "m/")
		x := &cancellation{
			Canceller: &Canceller{Origin: here, Workers: []*fleet.Cluster{server.Cluster(t, "w")}},
			events:    NewRecorder(clock.RealClock{}, func(e *Event) { messages = append(messages, e.Message) }),
			kind:      delegation.Job(), ref: refTo(here, delegation.Job().GroupVersionKind(), "ml", "train", "origin"),
		}
		annotations := map[string]string{}
		if mark != "" {
			annotations[delegation.MirrorAnnotation] = mark
		}
		err := x.findMirrors(t.Context(), jobNamed("train", "origin", annotations))
		return x, messages, err
	}
	x, messages, err := find("unknown+n/ml/train/u")
	assert.NilError(t, err)
	assert.Equal(t, len(x.mirrors), 1)
	assert.Equal(t, len(messages), 1)
	assert.Assert(t, strings.HasPrefix(messages[0], "not searched for mirrors: other namespaces than ml in context \"w\": "), messages[0])
	x, messages, err = find("")
	assert.NilError(t, err)
	assert.Equal(t, len(x.mirrors), 1)
	assert.Assert(t, strings.HasPrefix(messages[0], "not searched for mirrors: other namespaces than ml in context \"w\": "), messages[0])
	server.Namespaces["far"] = "f"
	isDenied = func(path string) bool {
		return path == "/apis/batch/v1/jobs" || strings.HasPrefix(path, "/apis/batch/v1/namespaces/far/")
	}
	_, _, err = find("unknown+f/far/train/x")
	assert.ErrorContains(t, err, "Not searched: other namespaces than ml in context \"w\": ")
	assert.ErrorContains(t, err, ". End the job and leave its mirrors with --abandon-mirror")
}

// TestCancelChooses checks that a mirror is deleted through a context with the right to do so.
// Without such a context, the origin is not ended.
func TestCancelChooses(t *testing.T) {
	dev, admin := failingCluster(t, http.MethodDelete, errForbidden, "dev", "/", "u"), clusterWith(t, "admin", "w/", "u")
	x := &cancellation{Canceller: &Canceller{Others: map[string][]*fleet.Cluster{"dev": {admin}}}, kind: delegation.Job()}
	m := FoundMirror{Cluster: dev, Object: jobNamed("train", "u", nil)}
	assert.NilError(t, x.chooseContext(t.Context(), &m))
	assert.Equal(t, m.Cluster.Context, "admin")

	m.Cluster, x.Others = dev, nil
	assert.ErrorContains(t, x.chooseContext(t.Context(), &m), "nothing was changed: context \"dev\": ")

	policy := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "train", nil)
	m.Cluster, x.Others = failingCluster(t, http.MethodDelete, policy, "policed", "p/", "u"), nil
	assert.ErrorContains(t, x.chooseContext(t.Context(), &m), "nothing was changed: context \"policed\": ")

	webhook := apierrors.NewBadRequest(`admission webhook "old.example.com" does not support dry run`)
	m.Cluster = failingCluster(t, http.MethodDelete, webhook, "old", "o/", "u")
	assert.NilError(t, x.chooseContext(t.Context(), &m))

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupt")
	cancel(cause)
	assert.ErrorIs(t, x.chooseContext(ctx, &m), cause)
}

// TestCancelPromises checks that the final status of an origin does not say that its mirror was
// removed: it is written first, and the deletion may fail.
func TestCancelPromises(t *testing.T) {
	here := clusterWith(t, "m", "m/")
	x := &cancellation{
		Canceller: &Canceller{Origin: here, Identity: "ann", Clock: clock.RealClock{}}, kind: delegation.Job(),
		mirrors: []FoundMirror{{Cluster: clusterWith(t, "w", "w/", "u"), Object: jobNamed("train", "u", nil)}},
	}
	last, err := x.lastStatus(jobNamed("train", "origin", nil))
	assert.NilError(t, err)
	text := fmt.Sprint(last.status)
	assert.Assert(t, strings.Contains(text, "cancelled by ann; cancel removes its mirror on w"), text)
}

// TestForeignMirrorIsNotDeleted checks that no error advises to delete an object that is not the
// mirror: after the deletion of a foreign object was refused, and after the owner of an origin
// without a mirror was changed.
func TestForeignMirrorIsNotDeleted(t *testing.T) {
	for name, tt := range map[string]struct {
		uid    string
		isOurs bool
	}{
		"a foreign Job": {uid: "u"},
		"the mirror":    {uid: "u=origin", isOurs: true},
	} {
		t.Run(name, func(t *testing.T) {
			here, worker := clusterWith(t, "m", "m/"), clusterWith(t, "w", "w/", tt.uid)
			origin := refTo(here, delegation.Job().GroupVersionKind(), "ml", "train", "origin")
			at := &task{Loop: &Loop{origin: &side{Cluster: here}}, worker: &side{Cluster: worker}, Task: Task{Kind: delegation.Job(), UID: "origin"}, ref: origin}
			at.mirrorRef = refTo(worker, delegation.Job().GroupVersionKind(), "ml", "train", "")
			err := at.ownerChanged(t.Context(), &ownerChangedError{Origin: origin, Owner: "acme.io/runner"})
			assert.Equal(t, strings.Contains(err.Error(), "kubectl"), tt.isOurs, err)

			x := &cancellation{Canceller: &Canceller{Origin: here}, kind: delegation.Job(), ref: origin}
			x.mirrors = []FoundMirror{{Cluster: worker, Object: jobNamed("train", "u", nil)}}
			err = x.removeMirrors(t.Context())
			assert.Equal(t, err == nil, tt.isOurs)
			if err != nil {
				assert.Assert(t, !strings.Contains(err.Error(), "kubectl"), err)
			}
		})
	}
}

// TestRecordOfUnlabeledLease checks that the target in a Lease counts although its label was
// removed: such a Lease keeps another dispatcher out.
func TestRecordOfUnlabeledLease(t *testing.T) {
	here := dispatchtest.NewServer(t).Cluster(t, "m")
	origin := jobNamed("train", "origin", nil)
	l := &leaseStore{cluster: here, kind: delegation.Job(), origin: refOf(here, origin)}
	target := delegation.Place{ClusterUID: "w", Namespace: "ml", Name: "train"}
	for uid, want := range map[string]delegation.Place{"origin": target, "": target, "another": {}} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}}
		o.SetNamespace("ml")
		o.SetName(l.name())
		if uid != "" {
			o.SetLabels(map[string]string{delegation.OriginUIDLabel: uid})
		}
		o.SetAnnotations(map[string]string{delegation.TargetAnnotation: target.String()})
		server := dispatchtest.NewServer(t)
		server.Create(t, schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, o)
		assert.Equal(t, ReadRecord(t.Context(), server.Cluster(t, "m"), delegation.Job(), origin).Target, want, uid)
	}
}
