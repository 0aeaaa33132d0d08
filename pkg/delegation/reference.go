package delegation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference is a place in an object's spec that names another object of its namespace. The kind's
// controller reads the named object on the cluster where it runs the object, which fails without
// it.
type Reference struct {
	// Path is the path, through lists, of the object that has the name.
	Path []string
	// Field is the field with the name.
	Field string
	// Kind and Resource are the kind of the named object.
	Kind     string
	Resource schema.GroupVersionResource
}

// reference returns a Reference by a path with dots, whose last part is the field with the name.
func reference(path, kind string, resource schema.GroupVersionResource) Reference {
	fields := strings.Split(path, ".")
	last := len(fields) - 1
	return Reference{Path: fields[:last], Field: fields[last], Kind: kind, Resource: resource}
}

// Names returns the names of the objects to which an object refers, sorted. It leaves out names of
// another kind, addresses such as https://example.com/build.yaml, and variables such as $(params.a).
func (r Reference) Names(content map[string]any) []string {
	var names []string
	for _, value := range At(content, r.Path...) {
		name, kind := TextAt(value, r.Field), TextAt(value, "kind")
		if name != "" && (kind == "" || kind == r.Kind) && !strings.ContainsAny(name, ":$") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
