package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// table has the objects of one resource, by namespace and name.
type table struct {
	resource resource
	objects  []*object
	byName   map[string]*object

	mu sync.Mutex
	// columns are the values of fields used in selectors, one for each object.
	columns map[string][]string
}

func newTable(r resource) *table {
	return &table{resource: r, byName: map[string]*object{}, columns: map[string][]string{}}
}

// add reports whether the object is new.
func (t *table) add(o *object) bool {
	if _, ok := t.byName[o.key()]; ok {
		return false
	}
	t.byName[o.key()] = o
	t.objects = append(t.objects, o)
	t.resource.namespaced = t.resource.namespaced || o.resource.namespaced
	return true
}

func (t *table) get(namespace, name string) *object {
	if t == nil {
		return nil
	}
	return t.byName[(&object{namespace: namespace, name: name}).key()]
}

// list returns the objects of a namespace, or of all, that match selectors.
func (t *table) list(namespace string, label labels.Selector, field fields.Selector) []*object {
	if t == nil {
		return nil
	}
	from, to := 0, len(t.objects)
	if namespace != "" {
		byNamespace := func(o *object, namespace string) int { return cmp.Compare(o.namespace, namespace) }
		from, _ = slices.BinarySearchFunc(t.objects, namespace, byNamespace)
		to, _ = slices.BinarySearchFunc(t.objects, namespace+"\x00", byNamespace)
	}
	wanted := field.Requirements()
	values := make([][]string, len(wanted))
	for i, w := range wanted {
		values[i] = t.column(w.Field)
	}
	var picked []*object
	for n := from; n < to; n++ {
		matches := true
		for i := 0; i < len(wanted) && matches; i++ {
			matches = (values[i][n] == wanted[i].Value) == (wanted[i].Operator != selection.NotEquals)
		}
		if o := t.objects[n]; matches && label.Matches(o.labels) {
			picked = append(picked, o)
		}
	}
	return picked
}

// column returns the values of a field. It caches them, because each object has to be parsed.
func (t *table) column(path string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if values, ok := t.columns[path]; ok {
		return values
	}
	values := make([]string, len(t.objects))
	for i, o := range t.objects {
		values[i] = o.field(path)
	}
	t.columns[path] = values
	return values
}

// field returns the value of a field as a field selector sees it.
func (o *object) field(path string) string {
	switch {
	case path == "metadata.name":
		return o.name
	case path == "metadata.namespace":
		return o.namespace
	case path == "status.successful" && o.resource.kind == "Job":
		// Field selectors of Jobs have their own name for this field (kubernetes:
		// pkg/apis/batch/v1/conversion.go).
		return cmp.Or(o.field("status.succeeded"), "0")
	}
	var value any
	if err := apijson.Unmarshal(o.json, &value); err != nil {
		return ""
	}
	for _, step := range strings.Split(path, ".") {
		m, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = m[step]
	}
	switch value.(type) {
	case string, int64, float64, bool:
		return fmt.Sprint(value)
	default:
		return ""
	}
}
