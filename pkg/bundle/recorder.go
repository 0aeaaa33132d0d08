package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// recorder keeps what it is shown of one cluster, cut down to what may be kept. Which of it a
// bundle holds is decided when all of it was read.
type recorder struct {
	redact bool

	mu      sync.Mutex
	records []*record
	// asked has the resources that were asked for, with the first reason why not all of one
	// came.
	asked map[schema.GroupVersionResource]error
}

// errUnasked is why nothing is known of what nobody has asked for.
var errUnasked = errors.New("it was not read")

// Keep keeps an object.
func (r *recorder) Keep(gvr schema.GroupVersionResource, object map[string]any) {
	switch {
	case object == nil:
		r.Asked(gvr, fleet.ErrSenseless)
		return
	case gvr == secrets().GroupVersionResource:
		object = cutSecret(object)
	case gvr == clusterProfiles().GroupVersionResource:
		cutProfile(object)
	}
	clean(object, gvr, r.redact)
	metadata, _ := object["metadata"].(map[string]any)
	about, _ := object["involvedObject"].(map[string]any)
	one := &record{resource: gvr}
	one.namespace, _ = metadata["namespace"].(string)
	one.name, _ = metadata["name"].(string)
	one.about, _ = about["kind"].(string)
	var err error
	if one.json, err = json.Marshal(object); err != nil {
		r.Asked(gvr, fmt.Errorf("%s %q cannot be written: %w", gvr.GroupResource(), one.name, err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, one)
}

// Asked notes what became of a request.
func (r *recorder) Asked(gvr schema.GroupVersionResource, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[gvr] = cmp.Or(r.asked[gvr], err)
}

// unread is why not all of a resource is known; nil if it is.
func (r *recorder) unread(gvr schema.GroupVersionResource) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err, isAsked := r.asked[gvr]
	if !isAsked {
		return errUnasked
	}
	return err
}

// of are the objects of some resources, which tell of what kind they are.
func (r *recorder) of(resources []resource) (found []*record) {
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
