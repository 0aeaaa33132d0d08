package dispatchtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// isSelected reports whether the selectors of a list or a watch match an object.
func isSelected(r *http.Request, o *unstructured.Unstructured) bool {
	if name, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="); ok && name != o.GetName() {
		return false
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}

// isIn reports whether an object is in a collection, of one namespace or of all.
func isIn(path, collection string) bool {
	if strings.Contains(collection, "/namespaces/") {
		return strings.HasPrefix(path, collection+"/")
	}
	version, resource := collection[:strings.LastIndex(collection, "/")], lastOf(collection)
	inNamespace, ok := strings.CutPrefix(path, version+"/namespaces/")
	steps := strings.Split(inNamespace, "/")
	return ok && len(steps) == 3 && steps[1] == resource || strings.HasPrefix(path, collection+"/")
}

func (s *Server) list(r *http.Request, collection string) map[string]any {
	items := []any{}
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if o := s.objects[path]; isIn(path, collection) && isSelected(r, o) {
			items = append(items, o.Object)
			list["apiVersion"], list["kind"] = o.GetAPIVersion(), o.GetKind()+"List"
		}
	}
	list["items"] = items
	list["metadata"] = map[string]any{"resourceVersion": strconv.FormatInt(s.version, 10)}
	return list
}

// watch sends all changes after a resource version until the client disconnects.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	for {
		s.mu.Lock()
		more, changed := s.log, s.changed
		s.mu.Unlock()
		for _, c := range more {
			version, _ := strconv.ParseInt(c.object.GetResourceVersion(), 10, 64)
			if version <= since {
				continue
			}
			since = version
			if strings.HasPrefix(c.path, r.URL.Path+"/") && isSelected(r, c.object) {
				if json.NewEncoder(w).Encode(map[string]any{"type": c.kind, "object": c.object.Object}) != nil {
					return
				}
			}
		}
		flusher.Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
