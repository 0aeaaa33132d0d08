package delegation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schemas are the schemas of one group and version of an API.
type Schemas struct {
	// texts are the components of the document, by their names.
	texts map[string]json.RawMessage
	kinds map[schema.GroupVersionKind]string
}

const (
	componentPrefix = "#/components/schemas/"
	kindsExtension  = "x-kubernetes-group-version-kind"
)

// MentionManagedBy says whether there is any point in looking for managedBy in an
// OpenAPI document.
func MentionManagedBy(document []byte) bool { return bytes.Contains(document, []byte(`"managedBy"`)) }

// ParseSchemas reads an OpenAPI v3 document as API servers publish it, as JSON.
func ParseSchemas(document []byte) (*Schemas, error) {
	var whole struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &whole); err != nil {
		return nil, fmt.Errorf("the schemas make no sense: %w", err)
	}
	s := &Schemas{texts: whole.Components.Schemas, kinds: map[schema.GroupVersionKind]string{}}
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		text := s.texts[name]
		if !bytes.Contains(text, []byte(kindsExtension)) {
			continue
		}
		var component struct {
			Kinds []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// What has another form there is the schema of no kind.
		_ = json.Unmarshal(text, &component)
		for _, k := range component.Kinds {
			s.kinds[schema.GroupVersionKind(k)] = name
		}
	}
	return s, nil
}

// Kind makes a kind of what a schema tells of one that is served as plural: whether
// it has a managedBy that is a text, in its spec or in the runPolicy there and
// nowhere else, and what is written about that (docs/reference/kinds.md#discovery). ok is
// false where it has none.
func (s *Schemas) Kind(gvk schema.GroupVersionKind, plural string, shortNames []string) (k Kind, ok bool) {
	for _, path := range [][]string{{"spec", "managedBy"}, {"spec", "runPolicy", "managedBy"}} {
		through, _ := s.follow(gvk, path)
		if len(through) <= len(path) || !through[len(path)].isText() {
			continue
		}
		k = DiscoveredKind(gvk, plural, shortNames, path)
		through[len(path)].describe(&k)
		k.Defaulted = k.Defaulted && through.reaches(path)
		if k.Change == WhileSet && k.Defaulted {
			k.Change = Never
		}
		return k, true
	}
	return Kind{}, false
}

// Lacks says whether the schema of a kind shows that it has no field at a path. Where
// it has fields that no schema tells of, as where there is no schema at all, it does
// not show that.
func (s *Schemas) Lacks(gvk schema.GroupVersionKind, path []string) bool {
	through, ok := s.follow(gvk, path)
	return ok && len(through) <= len(path)
}

// way is what a path leads through: the schema of the kind, then that of each of
// its steps, as far as there are any.
type way []fieldSchema

// follow goes along a path of properties from the schema of a kind. ok is false where
// it ended at something that has fields besides those that are told.
func (s *Schemas) follow(gvk schema.GroupVersionKind, path []string) (w way, ok bool) {
	name, known := s.kinds[gvk]
	if !known {
		return nil, false
	}
	at := s.resolve(s.texts[name])
	w = way{at}
	for _, step := range path {
		property := at.property(step)
		if property == nil {
			return w, !at.isOpen()
		}
		at = s.resolve(property)
		w = append(w, at)
	}
	return w, true
}

// reaches says whether every object has all of the steps of a path but the first and
// the last, so that a default at its end is always written. Every object that says
// anything has a spec.
func (w way) reaches(path []string) bool {
	for i := 1; i < len(path)-1; i++ {
		if w[i+1].first(hasDefault) == nil && !w[i].requires(path[i]) {
			return false
		}
	}
	return true
}

// resolve gathers what applies to a field: a schema, what that refers to, and what it
// puts together.
func (s *Schemas) resolve(text json.RawMessage) fieldSchema {
	var all fieldSchema
	seen := map[string]bool{}
	var add func(json.RawMessage)
	add = func(text json.RawMessage) {
		part := decodeSchema(text)
		all = append(all, part)
		if name, ok := strings.CutPrefix(part.Ref, componentPrefix); ok && !seen[name] {
			seen[name] = true
			add(s.texts[name])
		}
		for _, more := range part.AllOf {
			add(more)
		}
	}
	add(text)
	return all
}
