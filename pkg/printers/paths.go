package printers

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// objectPath matches a path into an object, as in kubectl get. The printed form of a Job has
// these fields at its top level.
var objectPath = regexp.MustCompile(`\.(?:metadata|spec|status)\.(\w+)`)

// flatten returns an expression with its paths made top-level: .name for .metadata.name. fields
// are the fields that such paths refer to.
func flatten(expression string) (text string, fields []string) {
	for _, path := range objectPath.FindAllStringSubmatch(expression, -1) {
		fields = append(fields, path[1])
	}
	return objectPath.ReplaceAllString(expression, ".$1"), fields
}

// flatOutput makes the paths of custom columns top-level, so that columns accept the paths of
// kubectl get. It returns an error for such paths in a template, because the lists in a document
// differ from kubectl's.
func flatOutput(output string) (text string, fields []string, err error) {
	name, _, _ := strings.Cut(output, "=")
	text, fields = flatten(output)
	switch {
	case len(fields) == 0 || strings.HasSuffix(name, "-file"):
		return output, nil, nil
	case name != customColumns:
		return "", nil, fmt.Errorf("output format %q: the printed objects have no %s. Show their fields with -o json",
			output, objectPath.FindString(output))
	}
	return text, fields, nil
}

// customColumns is the format that prints objects one by one.
const customColumns = "custom-columns"

// checkFields returns an error if a column refers to a field that T does not have.
func checkFields[T any](fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	var known []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			known = append(known, name)
		}
	}
	for _, field := range fields {
		if !slices.Contains(known, field) {
			return fmt.Errorf("unknown field %s for a column; choose one of %s", field, strings.Join(known, ", "))
		}
	}
	return nil
}
