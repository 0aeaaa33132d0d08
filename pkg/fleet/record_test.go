package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// shown records the calls of a recorder as text.
type shown struct {
	mu  sync.Mutex
	all []string
}

func (s *shown) Keep(r schema.GroupVersionResource, object map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, fmt.Sprint("keep ", r.Resource, " ", object["data"]))
}

func (s *shown) Requested(r schema.GroupVersionResource, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := "came"
	if err != nil {
		why = string(apierrors.ReasonForError(err)) + err.Error()
	}
	s.all = append(s.all, r.Resource+" "+why)
}

// TestRecord checks that a recorder receives everything that is read, complete, through any of a
// cluster's contexts. That includes objects that the reader cannot decode, and errors.
func TestRecord(t *testing.T) {
	const folder = "/api/v1/namespaces/default/configmaps"
	dev, admin := mayRead("u"), mayRead("u", folder)
	admin.answers[folder] = `{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"data":"x"},{"metadata":{"name":7},"data":"y"},{"metadata":{"name":"c"},"data":"z"}]}`
	admin.answers[folder+"/a"] = `{"kind":"ConfigMap","metadata":{"name":"a"},"data":"x"}`
	f := Open(t.Context(), []Context{at("dev", "https://a x", dev), at("admin", "https://b x", admin)}, Options{AllNamespaces: true})
	assert.DeepEqual(t, f.Contexts(), []string{"dev"})
	maps := corev1.SchemeGroupVersion.WithResource("configmaps")
	read := func(ctx context.Context) (names []string, err error) {
		err = EachObject(ctx, f.Clusters()[0], maps, "default", metav1.ListOptions{}, func(o *metav1.PartialObjectMetadata) { names = append(names, o.Name) })
		return names, err
	}
	to := &shown{}
	stop := f.Record(func(c *Cluster) Recorder {
		assert.Equal(t, c.Context, "dev")
		return to
	})
	names, err := read(t.Context())
	assert.DeepEqual(t, names, []string{"a", "c"})
	assert.ErrorIs(t, err, wire.ErrInvalidAnswer)
	assert.DeepEqual(t, to.all, []string{"keep configmaps x", "keep configmaps y", "keep configmaps z", "configmaps came"})

	to.all = nil
	for _, name := range []string{"a", "b"} {
		_, err = Object(t.Context(), f.Clusters()[0], maps, "default", name)
		assert.Equal(t, apierrors.IsForbidden(err), name == "b", "%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("time is up"))
	_, err = read(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.DeepEqual(t, to.all, []string{"keep configmaps x", "configmaps came", "configmaps Forbiddenno", "configmaps time is up"})

	stop()
	_, err = Object(t.Context(), f.Clusters()[0], maps, "default", "a")
	assert.NilError(t, err)
	assert.Equal(t, len(to.all), 4)
}
