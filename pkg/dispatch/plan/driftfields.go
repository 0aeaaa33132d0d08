package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// changedFields returns the fields that change, with their new values. It descends as long as
// both sides have the same structure.
func changedFields(path string, from, to any) []string {
	if equality.Semantic.DeepEqual(from, to) {
		return nil
	}
	a, wasMap := from.(map[string]any)
	b, isMap := to.(map[string]any)
	l, wasList := from.([]any)
	m, isList := to.([]any)
	var fields []string
	switch {
	case isMap && len(b) > 0 && (wasMap || from == nil):
		all := maps.Clone(b)
		maps.Copy(all, a)
		for key := range all {
			fields = append(fields, changedFields(below(path, key), a[key], b[key])...)
		}
	case isList && wasList && len(l) == len(m) && len(content.Objects(m)) == len(m):
		for i := range m {
			fields = append(fields, changedFields(fmt.Sprintf("%s[%d]", path, i), l[i], m[i])...)
		}
	default:
		fields = []string{path + "=" + content.Shortened(to)}
	}
	slices.Sort(fields)
	return fields
}

// below returns the path of a field or of a user-defined key.
func below(path, key string) string {
	switch path[strings.LastIndex(path, ".")+1:] {
	case "labels", "annotations", "nodeSelector", "limits", "requests":
		return content.Keyed(path, key)
	case "":
		return key
	}
	return path + "." + key
}
