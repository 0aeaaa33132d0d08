package dispatch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// jobNamed is a Job of the namespace ml.
func jobNamed(name, uid string, annotations map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{}}}
	o.SetNamespace("ml")
	o.SetName(name)
	o.SetUID(types.UID(uid))
	o.SetAnnotations(annotations)
	return o
}

// clusterWith is a cluster as a context sees it. Its uids are those of Jobs that are all
// called train.
func clusterWith(t *testing.T, name, clusterUID, stamp string, uids ...string) *fleet.Cluster {
	t.Helper()
	return failing(t, "", nil, name, clusterUID, stamp, uids...)
}

// failing is one of which every request of a method fails.
func failing(t *testing.T, method string, err *apierrors.StatusError, name, clusterUID, stamp string, uids ...string) *fleet.Cluster {
	t.Helper()
	server := dispatchtest.NewServer(t)
	for _, uid := range uids {
		server.Create(t, delegation.Job().Resource, jobNamed("train", uid, nil))
	}
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == method && strings.HasSuffix(r.URL.Path, "/train") {
			return err
		}
		return nil
	}
	c := server.Cluster(t, name)
	c.SetUID(clusterUID)
	c.Stamp = stamp
	return c
}

var errNo = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "train", errors.New("no"))

// TestMirrorOf: the uid of a mirror is the proof, whatever its cluster was called when
// it was made; without it, what is not known is neither here nor gone.
func TestMirrorOf(t *testing.T) {
	for name, tt := range map[string]struct {
		mark   string
		worker *fleet.Cluster
		is     delegation.Sameness
		here   bool
	}{
		"as it was written":                      {"w/ml/train/u", clusterWith(t, "w", "w", "s"), delegation.CertainlySame, true},
		"another cluster":                        {"v/ml/train/u", clusterWith(t, "w", "w", "s", "u"), delegation.CertainlyOther, false},
		"fewer rights than then":                 {"w/ml/train/u", clusterWith(t, "w", "", "s", "u"), delegation.CertainlySame, true},
		"fewer rights, and not there":            {"w/ml/train/u", clusterWith(t, "w", "", "s"), delegation.PerhapsSame, false},
		"fewer rights, and another is there":     {"w/ml/train/u", clusterWith(t, "w", "", "s", "x"), delegation.PerhapsSame, false},
		"more rights than then":                  {"unknown/ml/train/u", clusterWith(t, "w", "w", "s", "u"), delegation.CertainlySame, true},
		"more rights, and not there":             {"unknown/ml/train/u", clusterWith(t, "w", "w", "s"), delegation.PerhapsSame, false},
		"unknown then and now":                   {"unknown/ml/train/u", clusterWith(t, "w", "", "", "u"), delegation.CertainlySame, true},
		"unknown then and now, and not there":    {"unknown/ml/train/u", clusterWith(t, "w", "", ""), delegation.PerhapsSame, false},
		"known by its address":                   {"unknown-s/ml/train/u", clusterWith(t, "w", "", "s"), delegation.CertainlySame, true},
		"known by its address, with more rights": {"unknown-s/ml/train/u", clusterWith(t, "w", "w", "s"), delegation.CertainlySame, true},
		"another address, and not there":         {"unknown-s/ml/train/u", clusterWith(t, "w", "", "t"), delegation.PerhapsSame, false},
		"another namespace":                      {"w/other/train/u", clusterWith(t, "w", "w", "s"), delegation.CertainlySame, false},
	} {
		t.Run(name, func(t *testing.T) {
			origin := jobNamed("train", "origin", map[string]string{delegation.MirrorAnnotation: tt.mark})
			m, err := MirrorOf(t.Context(), tt.worker, delegation.Job(), origin, "")
			assert.NilError(t, err)
			assert.Equal(t, m.Worker, tt.is)
			assert.Equal(t, m.Here, tt.here)
		})
	}
	origin := jobNamed("train", "origin", map[string]string{delegation.MirrorAnnotation: "unknown/ml/train/u"})
	_, err := MirrorOf(t.Context(), failing(t, http.MethodGet, errNo, "w", "w", ""), delegation.Job(), origin, "")
	assert.ErrorContains(t, err, "no", "what may not be looked at is not taken for what is not there")
}

// TestExpect: a dispatch to another worker neither says that the mirror is gone nor
// makes another.
func TestExpect(t *testing.T) {
	origin := jobNamed("train", "origin", map[string]string{delegation.MirrorAnnotation: "unknown/ml/train/u"})
	expect := func(worker *fleet.Cluster) (*task, error, error) {
		x := &task{worker: &side{Cluster: worker}, Loop: &Loop{}, Task: Task{Kind: delegation.Job()}}
		x.mirrorRef = refTo(worker, delegation.Job().GroupVersionKind(), "ml", "train", "")
		final, err := x.expect(t.Context(), origin)
		return x, final, err
	}
	x, final, err := expect(clusterWith(t, "w", "", "", "u"))
	assert.NilError(t, errors.Join(final, err))
	assert.Equal(t, x.mirrorRef.UID, "u")

	_, final, err = expect(clusterWith(t, "other", "", ""))
	assert.NilError(t, err)
	assert.ErrorContains(t, final, "is dispatched to ml/train (uid u) on a cluster that whoever dispatched it could not identify already")

	_, final, err = expect(failing(t, http.MethodGet, errNo, "w", "", ""))
	assert.NilError(t, final)
	assert.ErrorContains(t, err, "no")
}

// TestWorseMark: who may read less does not overwrite what somebody else knew.
func TestWorseMark(t *testing.T) {
	mark := func(cluster, uid string) delegation.Place {
		return delegation.Place{ClusterUID: cluster, Namespace: "ml", Name: "train", UID: uid}
	}
	assert.Assert(t, isWorse(mark("unknown-s", "u"), mark("w", "u")))
	assert.Assert(t, isWorse(mark("unknown", "u"), mark("unknown-s", "u")))
	assert.Assert(t, !isWorse(mark("w", "u"), mark("unknown-s", "u")))
	assert.Assert(t, !isWorse(mark("unknown", "v"), mark("w", "u")), "it is another mirror")
}

// TestCancelFinds: what cannot be looked at is refused, with a reason, and nothing is
// taken for not there that may be.
func TestCancelFinds(t *testing.T) {
	type workers = []*fleet.Cluster
	for name, tt := range map[string]struct {
		mark      string
		workers   workers
		unreached []string
		only      string
		// on is where it is found; refused what is said where it is not known.
		on, refused string
	}{
		"where it is said to be":             {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "v", ""), clusterWith(t, "w", "w", "", "u")}, on: "w"},
		"with fewer rights":                  {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "", ""), clusterWith(t, "w", "", "", "u")}, on: "w"},
		"with more rights":                   {mark: "unknown/ml/train/u", workers: workers{clusterWith(t, "v", "v", ""), clusterWith(t, "w", "w", "", "u")}, on: "w"},
		"it is gone":                         {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "v", ""), clusterWith(t, "w", "w", "")}},
		"it is gone, by the address":         {mark: "unknown-s/ml/train/u", workers: workers{clusterWith(t, "v", "", "t"), clusterWith(t, "w", "", "s")}},
		"its cluster does not answer":        {mark: "unknown/ml/train/u", workers: workers{clusterWith(t, "v", "", "")}, unreached: []string{"w"}, refused: "it is not on v, which may be that cluster or another; w could not be looked at, so nothing was changed; --abandon-mirror"},
		"nobody knows which one":             {mark: "unknown/ml/train/u", workers: workers{clusterWith(t, "v", "v", "")}, refused: "it is not on v, which may be that cluster or another, so nothing was changed"},
		"no context leads there":             {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "v", "")}, refused: "is on cluster w, which no context that answers reaches"},
		"one that is not known, and another": {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "v", ""), clusterWith(t, "x", "", "")}, refused: "uid u, is on cluster w; it is not on x, which may be that cluster or another, so nothing"},
		"it may not be looked at":            {mark: "w/ml/train/u", workers: workers{failing(t, http.MethodGet, errNo, "w", "w", "")}, refused: "could not look for the mirror"},
		"it may not be looked at, perhaps":   {mark: "unknown/ml/train/u", workers: workers{failing(t, http.MethodGet, errNo, "w", "w", "")}, refused: "w could not be looked at"},
		"only one is asked":                  {mark: "w/ml/train/u", workers: workers{clusterWith(t, "v", "v", "")}, only: "v", refused: "is not on v, but on cluster w"},
		"it names nonsense":                  {mark: "nonsense", workers: workers{clusterWith(t, "v", "v", "")}, refused: "it names no object"},
		"it names none":                      {workers: workers{clusterWith(t, "v", "", "")}},
		"it names none, and one is down":     {workers: workers{clusterWith(t, "v", "", "")}, unreached: []string{"w"}, refused: "does not say where its mirror is"},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{}
			if tt.mark != "" {
				annotations[delegation.MirrorAnnotation] = tt.mark
			}
			x := &cancellation{
				Canceller: &Canceller{Workers: tt.workers, Unreached: tt.unreached, Only: tt.only}, kind: delegation.Job(),
				ref: refTo(clusterWith(t, "m", "m", ""), delegation.Job().GroupVersionKind(), "ml", "train", "origin"),
			}
			err := x.find(t.Context(), jobNamed("train", "origin", annotations))
			if tt.refused != "" {
				assert.ErrorContains(t, err, tt.refused)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, x.mirror != nil, tt.on != "")
			if tt.on != "" {
				assert.Equal(t, x.worker.Context, tt.on)
			}
		})
	}
}

// TestCancelChooses: a mirror is removed through a context that may, and where none may,
// its origin is not ended.
func TestCancelChooses(t *testing.T) {
	dev, admin := failing(t, http.MethodDelete, errNo, "dev", "", "", "u"), clusterWith(t, "admin", "w", "", "u")
	x := &cancellation{Canceller: &Canceller{Others: map[string][]*fleet.Cluster{"dev": {admin}}}, kind: delegation.Job(), worker: dev, mirror: jobNamed("train", "u", nil)}
	assert.NilError(t, x.choose(t.Context()))
	assert.Equal(t, x.worker.Context, "admin")

	x.worker, x.Others = dev, nil
	assert.ErrorContains(t, x.choose(t.Context()), "may not be removed, so nothing was changed: context dev: ")

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupt")
	cancel(cause)
	assert.ErrorIs(t, x.choose(ctx), cause)
}
