package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// merged is what a value of the mirror is to become. Objects are merged key by
// key: those that are planned are set, those that only before has are removed, and
// those that only the mirror has are somebody else's. Everything else is taken
// whole. It is nil for what is to be removed.
func merged(planned, before, mirror any) any {
	return mergedBy(content.IsSame, planned, before, mirror)
}

// mergedResources is the same for quantities, which servers write in their own
// way: 1000m as 1.
func mergedResources(planned, before, mirror any) any {
	return mergedBy(isSameQuantity, planned, before, mirror)
}

func mergedBy(same func(a, b any) bool, planned, before, mirror any) any {
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
			result[key] = mergedBy(same, value, b[key], m[key])
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

// mergedSet is merged for a list whose order means nothing.
func mergedSet(planned, before, mirror any) any {
	p, _ := planned.([]any)
	b, _ := before.([]any)
	m, _ := mirror.([]any)
	result := slices.Clone(p)
	missing := slices.ContainsFunc(p, func(element any) bool { return !has(m, element) })
	for _, element := range m {
		if has(p, element) {
			continue
		}
		if has(b, element) {
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

func has(list []any, element any) bool {
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

// isQuantity says whether a field holds a quantity, or some by name.
func isQuantity(field string) bool {
	switch field {
	case "limits", "requests", "overhead", "sizeLimit", "divisor":
		return true
	}
	return false
}

// contradicts says whether two values cannot be the same field, once by itself and
// once with a server's defaults. Defaults only add fields; lists they leave alone.
func contradicts(a, b any, areQuantities bool) bool {
	if a == nil || b == nil {
		return false
	}
	x, isMap := a.(map[string]any)
	y, bothMaps := b.(map[string]any)
	if isMap && bothMaps {
		for key, value := range x {
			if contradicts(value, y[key], areQuantities || isQuantity(key)) {
				return true
			}
		}
		return false
	}
	l, isList := a.([]any)
	m, bothLists := b.([]any)
	if isList && bothLists {
		return !slices.EqualFunc(l, m, func(v, w any) bool { return !contradicts(v, w, areQuantities) })
	}
	if areQuantities {
		return !isSameQuantity(a, b)
	}
	return !content.IsSame(a, b)
}

// without leaves out some keys.
func without(object map[string]any, key func(string) bool) map[string]any {
	object = maps.Clone(object)
	maps.DeleteFunc(object, func(k string, _ any) bool { return key(k) })
	return object
}
