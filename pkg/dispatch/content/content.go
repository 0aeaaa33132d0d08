// Package content reads what objects of any kind hold, by the paths of fields, and tells
// people of it: what stands where, how one value differs from another, what a server has
// not stored of what it was sent.
//
// It knows JSON's objects, lists and values. What a field means, it does not know.
package content

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// At is what stands at a path, nil where nothing does.
func At(o *unstructured.Unstructured, path ...string) any {
	return In(o.Object, path...)
}

// In is the same in a part of an object.
func In(object map[string]any, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil {
		return nil
	}
	return value
}

// MapAt is the object that stands at a path, nil where none does.
func MapAt(o *unstructured.Unstructured, path ...string) map[string]any {
	value, _ := At(o, path...).(map[string]any)
	return value
}

// StringAt is the text that stands at a path, "" where none does.
func StringAt(o *unstructured.Unstructured, path ...string) string {
	value, _ := At(o, path...).(string)
	return value
}

// IsTrueAt says whether true stands at a path.
func IsTrueAt(o *unstructured.Unstructured, path ...string) bool {
	value, _ := At(o, path...).(bool)
	return value
}

// StringsAt reads labels and the like, nil where there are none. A null is an empty
// string, as the API server takes it.
func StringsAt(o *unstructured.Unstructured, path ...string) map[string]string {
	value, _, err := unstructured.NestedNullCoercingStringMap(o.Object, path...)
	if err != nil {
		return nil
	}
	return value
}

// Objects is an object, or the objects of a list.
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

// ObjectsAt are the objects at a path, which may lead through lists.
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

// Walk visits all objects in a value, those that hold others first, in the order of
// their paths.
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
