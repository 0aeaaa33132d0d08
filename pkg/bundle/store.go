package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// object is an object of a snapshot as JSON, with its keys.
type object struct {
	resource        resource
	namespace, name string
	labels          labels.Set
	// json is the object. metadata is a part of it.
	json, metadata []byte
	version        uint64
}

// store holds the objects of one file.
type store struct {
	tables map[schema.GroupVersionResource]*table
	count  int
	// version is the highest resource version.
	version string
}

// newStore indexes the items of a List. plurals has the resource names of kinds that cannot be
// derived.
func newStore(items [][]byte, plurals map[schema.GroupVersionKind]string) (*store, error) {
	s := &store{tables: map[schema.GroupVersionResource]*table{}, count: len(items)}
	highest := uint64(1)
	for i, text := range items {
		o, err := newObject(text, plurals)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		t, ok := s.tables[o.resource.GroupVersionResource]
		if !ok {
			t = newTable(o.resource)
			s.tables[o.resource.GroupVersionResource] = t
		}
		if !t.add(o) {
			return nil, fmt.Errorf("item %d: %s %q appears twice", i+1, o.resource.kind, o.key())
		}
		highest = max(highest, o.version)
	}
	for _, t := range s.tables {
		slices.SortFunc(t.objects, byKey)
	}
	s.version = strconv.FormatUint(highest, 10)
	return s, nil
}

// metadata are the keys of objects.
type metadata struct {
	Name            string     `json:"name"`
	Namespace       string     `json:"namespace"`
	ResourceVersion string     `json:"resourceVersion"`
	Labels          labels.Set `json:"labels"`
}

func newObject(text []byte, plurals map[schema.GroupVersionKind]string) (*object, error) {
	var whole struct {
		envelope `json:",inline"`
		Metadata rawItem `json:"metadata"`
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, errors.New("it is not an object")
	}
	if err := apijson.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("it is invalid: %w", err)
	}
	switch {
	case whole.Kind == "":
		return nil, errors.New("it has no kind")
	case whole.APIVersion == "":
		return nil, fmt.Errorf("the %s has no apiVersion", whole.Kind)
	case len(whole.Metadata) == 0:
		return nil, fmt.Errorf("the %s has no metadata", whole.Kind)
	}
	var found metadata
	if err := apijson.Unmarshal(whole.Metadata, &found); err != nil {
		return nil, fmt.Errorf("the metadata of the %s is invalid: %w", whole.Kind, err)
	}
	if found.Name == "" {
		return nil, fmt.Errorf("the %s has no metadata.name", whole.Kind)
	}
	gv, err := schema.ParseGroupVersion(whole.APIVersion)
	if err != nil {
		return nil, err
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(whole.Kind))
	if stored := plurals[gv.WithKind(whole.Kind)]; stored != "" {
		plural.Resource = stored
	}
	o := &object{
		resource:  resource{plural, whole.Kind, found.Namespace != ""},
		namespace: found.Namespace, name: found.Name, labels: found.Labels,
		json: text, metadata: whole.Metadata,
	}
	// The version may be omitted, so an error is ignored.
	o.version, _ = strconv.ParseUint(found.ResourceVersion, 10, 64)
	return o, nil
}

// key returns the name, with the namespace if there is one.
func (o *object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

func byKey(a, b *object) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// versions returns the groups and versions of the objects.
func (s *store) versions() []schema.GroupVersion {
	var versions []schema.GroupVersion
	for r := range s.tables {
		versions = append(versions, r.GroupVersion())
	}
	return versions
}
