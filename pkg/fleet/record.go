package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// Recorder is shown the objects that are read of a cluster, at any time and from several
// goroutines.
type Recorder interface {
	// Keep is shown an object as it came. It is the recorder's.
	Keep(r schema.GroupVersionResource, object map[string]any)
	// Asked is told when all that was asked for has come, be it an object, a list or none, or
	// else why not: what came of a list before is a part of it.
	Asked(r schema.GroupVersionResource, err error)
}

// Record has recorders see what EachObject, Object and sources of Objects read of the fleet's
// clusters, until stop is called. Whatever is read in another way they do not see.
func (f *Fleet) Record(recorderOf func(*Cluster) Recorder) (stop func()) {
	clusters := f.Clusters()
	for _, c := range clusters {
		r := recorderOf(c)
		c.recorder.Store(&r)
	}
	return func() {
		for _, c := range clusters {
			c.recorder.Store(nil)
		}
	}
}

// recorded is an object in both forms: as it came, and as its reader wants it, or why it makes
// no sense to that.
type recorded[T any] struct {
	whole  map[string]any
	object T
	err    error
}

// UnmarshalJSON decodes both.
func (r *recorded[T]) UnmarshalJSON(text []byte) error {
	if err := apijson.Unmarshal(text, &r.whole); err != nil {
		return err
	}
	r.err = DecodeText(text, &r.object)
	return nil
}

// asked tells the recorder of a cluster what came of a request, if there is one. What was
// broken off with ctx failed for the reason of that.
func (c *Cluster) asked(ctx context.Context, r schema.GroupVersionResource, err error) {
	to := c.recorder.Load()
	if to == nil {
		return
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	(*to).Asked(r, err)
}
