package content

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Lost is a path and the value that a server did not store there.
type Lost struct {
	Path  string
	Value any
}

// LostIn returns the paths below path that were sent and are missing in the stored object. It
// ignores empty values, and fields that the server changed or added.
func LostIn(path string, sent, stored any) []Lost {
	var paths []Lost
	compare(path, sent, stored, &paths)
	return paths
}

func compare(path string, sent, stored any, paths *[]Lost) {
	switch sent := sent.(type) {
	case map[string]any:
		other, ok := stored.(map[string]any)
		if !ok {
			reportLost(path, sent, paths)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(sent)) {
			if value, ok := other[key]; ok {
				compare(path+"."+key, sent[key], value, paths)
			} else {
				reportLost(path+"."+key, sent[key], paths)
			}
		}
	case []any:
		other, ok := stored.([]any)
		if !ok {
			reportLost(path, sent, paths)
			return
		}
		for i, element := range sent {
			counterpart := counterpartOf(element, i, other)
			if counterpart == nil {
				reportLost(fmt.Sprintf("%s[%d]", path, i), element, paths)
				continue
			}
			compare(fmt.Sprintf("%s[%d]", path, i), element, counterpart, paths)
		}
	}
}

// reportLost adds a lost value, unless it is empty.
func reportLost(path string, value any, paths *[]Lost) {
	if !saysNothing(value) {
		*paths = append(*paths, Lost{path, value})
	}
}

func saysNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, v := range value {
			if !saysNothing(v) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return reflect.ValueOf(value).IsZero()
}

// counterpartOf finds the stored version of a list element. It compares names if there are any,
// because webhooks insert elements into lists, and otherwise positions.
func counterpartOf(element any, i int, among []any) any {
	if fields, ok := element.(map[string]any); ok {
		if name, ok := fields["name"].(string); ok && name != "" {
			for _, other := range among {
				if o, ok := other.(map[string]any); ok && o["name"] == name {
					return other
				}
			}
			return nil
		}
	}
	if i < len(among) {
		return among[i]
	}
	return nil
}
