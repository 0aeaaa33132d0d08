package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// recorder keeps the objects of one cluster, reduced to what may be kept. After everything is
// read, reading.finish decides which of them the snapshot has.
type recorder struct {
	redact bool

	mu      sync.Mutex
	records []*record
	// requested has the requested resources, each with the first error.
	requested map[schema.GroupVersionResource]error
}

// errNotRequested means that the resource was never requested.
var errNotRequested = errors.New("it was not read")

// Keep keeps an object.
func (r *recorder) Keep(gvr schema.GroupVersionResource, object map[string]any) {
	switch {
	case object == nil:
		r.Requested(gvr, wire.ErrInvalidAnswer)
		return
	case gvr == secrets().GroupVersionResource:
		object = cutSecret(object)
	case gvr == clusterProfiles().GroupVersionResource:
		cutProfile(object)
	}
	clean(object, gvr, r.redact)
	metadata, _ := object["metadata"].(map[string]any)
	about, _ := object["involvedObject"].(map[string]any)
	kept := &record{resource: gvr}
	kept.namespace, _ = metadata["namespace"].(string)
	kept.name, _ = metadata["name"].(string)
	kept.about, _ = about["kind"].(string)
	var err error
	if kept.json, err = json.Marshal(object); err != nil {
		r.Requested(gvr, fmt.Errorf("%s %q cannot be written: %w", gvr.GroupResource(), kept.name, err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, kept)
}

// Requested records the result of a request.
func (r *recorder) Requested(gvr schema.GroupVersionResource, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested[gvr] = cmp.Or(r.requested[gvr], err)
}

// unread returns the reason why a resource is incomplete; nil if it is complete.
func (r *recorder) unread(gvr schema.GroupVersionResource) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err, isRequested := r.requested[gvr]
	if !isRequested {
		return errNotRequested
	}
	return err
}

// objectsOf returns the objects of some resources, and sets their kinds.
func (r *recorder) objectsOf(resources []resource) (found []*record) {
	kinds := map[schema.GroupVersionResource]string{}
	for _, res := range resources {
		kinds[res.GroupVersionResource] = res.kind
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.records {
		if o.kind = kinds[o.resource]; o.kind != "" {
			found = append(found, o)
		}
	}
	return found
}
