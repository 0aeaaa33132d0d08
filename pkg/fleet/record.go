package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// Recorder receives the objects that are read from a cluster, possibly from several goroutines at
// once.
type Recorder interface {
	// Keep receives an object as it was read. The recorder may keep and change it.
	Keep(r schema.GroupVersionResource, object map[string]any)
	// Requested is called after each request for an object or a list, with its error. Parts of a
	// failed list were passed to Keep before.
	Requested(r schema.GroupVersionResource, err error)
}

// Record makes recorders receive what EachObject, Object and sources of Objects read from the
// fleet's clusters, until stop is called. Other reads are not recorded.
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

// recorded is an object as it was read, and decoded for its reader, or with the error of decoding
// it.
type recorded[T any] struct {
	whole  map[string]any
	object T
	err    error
}

// UnmarshalJSON decodes both forms.
func (r *recorded[T]) UnmarshalJSON(text []byte) error {
	if err := apijson.Unmarshal(text, &r.whole); err != nil {
		return err
	}
	r.err = wire.DecodeText(text, &r.object)
	return nil
}

// recordRequest reports the result of a request to the recorder of a cluster, if there is one. If
// ctx is done, the error is its cause.
func (c *Cluster) recordRequest(ctx context.Context, r schema.GroupVersionResource, err error) {
	to := c.recorder.Load()
	if to == nil {
		return
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	(*to).Requested(r, err)
}
