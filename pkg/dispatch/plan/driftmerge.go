package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// mergeMaps returns the new value of a field of the mirror; nil removes the field. Maps are
// merged by key: planned keys are set, keys that only before has are removed, and keys that only
// the mirror has belong to other clients and remain. Other values are replaced.
func mergeMaps(planned, before, mirror any) any {
	return mergeBy(content.IsSame, planned, before, mirror)
}

// mergedResources is mergeMaps for quantities, which servers normalize: 1000m becomes 1.
func mergedResources(planned, before, mirror any) any {
	return mergeBy(isSameQuantity, planned, before, mirror)
}

func mergeBy(same func(a, b any) bool, planned, before, mirror any) any {
	p, isMap := planned.(map[string]any)
	b, wasMap := before.(map[string]any)
	switch {
	case planned == nil && before == nil:
		return mirror
	case planned == nil && !wasMap:
		return nil
	case planned != nil && !isMap:
		if same(planned, mirror) {
			return mirror
		}
		return planned
	}
	m, _ := mirror.(map[string]any)
	result := maps.Clone(m)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range p {
		if value != nil {
			result[key] = mergeBy(same, value, b[key], m[key])
		}
	}
	for key, value := range b {
		if value != nil && p[key] == nil {
			delete(result, key)
		}
	}
	if len(result) == 0 {
		return nil
	}
	return result
}

// mergedSet is mergeMaps for a list without an order.
func mergedSet(planned, before, mirror any) any {
	p, _ := planned.([]any)
	b, _ := before.([]any)
	m, _ := mirror.([]any)
	result := slices.Clone(p)
	missing := slices.ContainsFunc(p, func(element any) bool { return !contains(m, element) })
	for _, element := range m {
		if contains(p, element) {
			continue
		}
		if contains(b, element) {
			missing = true
			continue
		}
		result = append(result, element)
	}
	switch {
	case !missing:
		return mirror
	case len(result) == 0:
		return nil
	}
	return result
}

func contains(list []any, element any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return content.IsSame(other, element) })
}

func isSameQuantity(a, b any) bool {
	if content.IsSame(a, b) {
		return true
	}
	x, ok := quantity(a)
	y, both := quantity(b)
	return ok && both && x.Cmp(y) == 0
}

func quantity(value any) (resource.Quantity, bool) {
	switch value.(type) {
	case string, int64, float64:
		q, err := resource.ParseQuantity(strings.Trim(content.JSON(value), `"`))
		return q, err == nil
	}
	return resource.Quantity{}, false
}

// isQuantity reports whether a field contains quantities.
func isQuantity(field string) bool {
	switch field {
	case "limits", "requests", "overhead", "sizeLimit", "divisor":
		return true
	}
	return false
}

// isContradiction reports whether two values cannot be the same field with and without a server's
// defaults. Defaults add fields, but no list elements.
func isContradiction(a, b any, areQuantities bool) bool {
	if a == nil || b == nil {
		return false
	}
	x, isMap := a.(map[string]any)
	y, bothMaps := b.(map[string]any)
	if isMap && bothMaps {
		for key, value := range x {
			if isContradiction(value, y[key], areQuantities || isQuantity(key)) {
				return true
			}
		}
		return false
	}
	l, isList := a.([]any)
	m, bothLists := b.([]any)
	if isList && bothLists {
		return !slices.EqualFunc(l, m, func(v, w any) bool { return !isContradiction(v, w, areQuantities) })
	}
	if areQuantities {
		return !isSameQuantity(a, b)
	}
	return !content.IsSame(a, b)
}

// without returns a copy without the keys for which the function returns true.
func without(object map[string]any, key func(string) bool) map[string]any {
	object = maps.Clone(object)
	maps.DeleteFunc(object, func(k string, _ any) bool { return key(k) })
	return object
}
