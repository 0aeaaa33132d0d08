// Package content reads fields of objects of any kind by their paths, and describes them for
// people. It also compares values, and finds the fields that a server did not store.
//
// It knows only JSON's objects, lists and values, and not the meaning of a field.
package content

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// At returns the value at a path; nil if there is none.
func At(o *unstructured.Unstructured, path ...string) any {
	return In(o.Object, path...)
}

// In returns the value at a path in a part of an object; nil if there is none.
func In(object map[string]any, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil {
		return nil
	}
	return value
}

// MapAt returns the object at a path; nil if there is none.
func MapAt(o *unstructured.Unstructured, path ...string) map[string]any {
	value, _ := At(o, path...).(map[string]any)
	return value
}

// StringAt returns the string at a path; "" if there is none.
func StringAt(o *unstructured.Unstructured, path ...string) string {
	value, _ := At(o, path...).(string)
	return value
}

// IsTrueAt reports whether the value at a path is true.
func IsTrueAt(o *unstructured.Unstructured, path ...string) bool {
	value, _ := At(o, path...).(bool)
	return value
}

// StringsAt returns the string map at a path, such as labels; nil if there is none. A null value
// becomes an empty string, as in the API server.
func StringsAt(o *unstructured.Unstructured, path ...string) map[string]string {
	value, _, err := unstructured.NestedNullCoercingStringMap(o.Object, path...)
	if err != nil {
		return nil
	}
	return value
}

// Objects returns the objects in a list, or a single object as a list.
func Objects(value any) []map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var all []map[string]any
		for _, element := range v {
			all = append(all, Objects(element)...)
		}
		return all
	}
	return nil
}

// ObjectsAt returns the objects at a path, which may pass through lists.
func ObjectsAt(value any, path ...string) []map[string]any {
	all := Objects(value)
	for _, field := range path {
		var below []map[string]any
		for _, object := range all {
			below = append(below, Objects(object[field])...)
		}
		all = below
	}
	return all
}

// Walk visits all objects in a value, in the order of their paths. It visits an object before
// those inside it.
func Walk(path string, value any, visit func(path string, object map[string]any)) {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			Walk(fmt.Sprintf("%s[%d]", path, i), element, visit)
		}
	case map[string]any:
		visit(path, v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			Walk(path+"."+key, v[key], visit)
		}
	}
}
