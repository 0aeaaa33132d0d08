package content

import (
	"k8s.io/apimachinery/pkg/api/equality"
)

// MergePatch returns the JSON merge patch (RFC 7386) from one object to another; empty if they
// are equal.
func MergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, stays := to[key]; !stays {
			patch[key] = nil
		}
	}
	for key, value := range to {
		old, was := from[key]
		if was && equality.Semantic.DeepEqual(old, value) {
			continue
		}
		a, wasMap := old.(map[string]any)
		b, isMap := value.(map[string]any)
		if wasMap && isMap {
			value = MergePatch(a, b)
		}
		patch[key] = value
	}
	return patch
}

// IsSame reports whether two values are equal. A missing value equals an empty one.
func IsSame(a, b any) bool {
	return equality.Semantic.DeepEqual(a, b) || isEmpty(a) && isEmpty(b)
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
