package content

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Lost is a path of which nothing is left, and what was there.
type Lost struct {
	Path  string
	Value any
}

// LostIn are the paths below path of which nothing is left in what a server has stored
// of what was sent. Values that are empty say nothing, and what the server changed or
// added is not looked at.
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

// reportLost reports what was lost, unless it was empty.
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

// counterpartOf finds an element of a list again: by its name where it has one,
// since webhooks put elements of their own into lists, or else by its place.
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
