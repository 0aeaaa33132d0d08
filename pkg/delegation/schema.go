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
	// texts are the components of the document, by name.
	texts map[string]json.RawMessage
	kinds map[schema.GroupVersionKind]string
}

const (
	componentPrefix = "#/components/schemas/"
	kindsExtension  = "x-kubernetes-group-version-kind"
)

// MentionsManagedBy reports whether an OpenAPI document mentions managedBy at all.
func MentionsManagedBy(document []byte) bool { return bytes.Contains(document, []byte(`"managedBy"`)) }

// ParseSchemas parses an OpenAPI v3 document of an API server, as JSON.
func ParseSchemas(document []byte) (*Schemas, error) {
	var parsed struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, fmt.Errorf("cannot parse the OpenAPI schemas: %w", err)
	}
	s := &Schemas{texts: parsed.Components.Schemas, kinds: map[schema.GroupVersionKind]string{}}
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		text := s.texts[name]
		if !bytes.Contains(text, []byte(kindsExtension)) {
			continue
		}
		var component struct {
			Kinds []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// A component with another form is not the schema of a kind.
		_ = json.Unmarshal(text, &component)
		for _, k := range component.Kinds {
			s.kinds[schema.GroupVersionKind(k)] = name
		}
	}
	return s, nil
}

// Kind returns a kind according to the schema of the kind that is served as plural: whether it
// has a string managedBy in its spec or in the runPolicy there, and the facts about that field
// (docs/reference/kinds.md#discovery). ok is false if it has none.
func (s *Schemas) Kind(gvk schema.GroupVersionKind, plural string, shortNames []string) (k Kind, ok bool) {
	for _, path := range [][]string{{"spec", "managedBy"}, {"spec", "runPolicy", "managedBy"}} {
		schemas, _ := s.follow(gvk, path)
		if len(schemas) <= len(path) || !schemas[len(path)].isText() {
			continue
		}
		k = DiscoveredKind(gvk, plural, shortNames, path)
		schemas[len(path)].describe(&k)
		k.Defaulted = k.Defaulted && schemas.reaches(path)
		if k.Change == WhileSet && k.Defaulted {
			k.Change = Never
		}
		return k, true
	}
	return Kind{}, false
}

// Lacks reports whether the schema of a kind shows that it has no field at a path. A missing
// schema, or one that allows unknown fields, does not show that.
func (s *Schemas) Lacks(gvk schema.GroupVersionKind, path []string) bool {
	schemas, ok := s.follow(gvk, path)
	return ok && len(schemas) <= len(path)
}

// schemaPath has the schemas along a path: that of the kind, then that of each step, up to the
// first step without a schema.
type schemaPath []fieldSchema

// follow follows a path of properties from the schema of a kind. ok is false if it ends at an
// object that allows unknown fields.
func (s *Schemas) follow(gvk schema.GroupVersionKind, path []string) (p schemaPath, ok bool) {
	name, known := s.kinds[gvk]
	if !known {
		return nil, false
	}
	at := s.resolve(s.texts[name])
	p = schemaPath{at}
	for _, step := range path {
		property := at.property(step)
		if property == nil {
			return p, !at.isOpen()
		}
		at = s.resolve(property)
		p = append(p, at)
	}
	return p, true
}

// reaches reports whether every object has all steps of a path except the first and the last, so
// that a default at its end is always set. Every object with any content has a spec.
func (p schemaPath) reaches(path []string) bool {
	for i := 1; i < len(path)-1; i++ {
		if p[i+1].first(hasDefault) == nil && !p[i].requires(path[i]) {
			return false
		}
	}
	return true
}

// resolve collects the schemas that apply to a field: its own, those that it refers to, and those
// in allOf.
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
