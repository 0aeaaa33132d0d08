package read

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// sizesOf returns the fields of an object that say how many Pods it needs, by path. spec has the
// encoded fields of the object's spec. Most of it is Pod templates, which are skipped without
// decoding.
func sizesOf(kind *delegation.Kind, spec map[string]json.RawMessage) map[string]int64 {
	var found map[string]int64
	for _, path := range kind.PodCounts {
		if len(path) < 2 {
			continue
		}
		eachSize("spec."+path[1], spec[path[1]], path[2:], func(field string, n int64) {
			if found == nil {
				found = map[string]int64{}
			}
			found[field] = n
		})
	}
	return found
}

// eachSize calls visit for the numbers at the end of a path. It ignores other values.
func eachSize(field string, raw json.RawMessage, path []string, visit func(field string, n int64)) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
	case raw[0] == '[':
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) == nil {
			for i, element := range elements {
				eachSize(fmt.Sprintf("%s[%s]", field, nameIn(element, i)), element, path, visit)
			}
		}
	case raw[0] == '{' && len(path) > 0:
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return
		}
		keys := []string{path[0]}
		if path[0] == "*" {
			keys = slices.Sorted(maps.Keys(fields))
		}
		for _, key := range keys {
			eachSize(field+"."+key, fields[key], path[1:], visit)
		}
	case len(path) == 0:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			visit(field, n)
		}
	}
}

// nameIn returns the name of a list element, or its index if it has none.
func nameIn(element json.RawMessage, i int) string {
	var named struct {
		Name      string `json:"name"`
		GroupName string `json:"groupName"`
	}
	if json.Unmarshal(element, &named) == nil {
		for _, name := range []string{named.Name, named.GroupName} {
			if name != "" {
				return name
			}
		}
	}
	return strconv.Itoa(i)
}
