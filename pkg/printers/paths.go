package printers

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// objectPath is a path into an object, as kubectl get takes it. What is printed of a Job
// has these fields without what stands around them.
var objectPath = regexp.MustCompile(`\.(?:metadata|spec|status)\.(\w+)`)

// flat is an expression with its paths as they are here, .name for .metadata.name. fields
// are those that such paths lead to.
func flat(expression string) (text string, fields []string) {
	for _, path := range objectPath.FindAllStringSubmatch(expression, -1) {
		fields = append(fields, path[1])
	}
	return objectPath.ReplaceAllString(expression, ".$1"), fields
}

// flatOutput has the columns of a value of -o take paths as kubectl get does. A template
// that goes through what is printed as a whole, whose lists are others, is an error.
func flatOutput(output string) (text string, fields []string, err error) {
	name, _, _ := strings.Cut(output, "=")
	text, fields = flat(output)
	switch {
	case len(fields) == 0 || strings.HasSuffix(name, "-file"):
		return output, nil, nil
	case name != customColumns:
		return "", nil, fmt.Errorf("output format %q: what is printed is no object of Kubernetes, and has no %s; -o json shows what it has",
			output, objectPath.FindString(output))
	}
	return text, fields, nil
}

// customColumns is the format that prints objects one by one.
const customColumns = "custom-columns"

// checkFields makes an error of columns that no object of a type can have.
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
			return fmt.Errorf("no column can be made of %s: what is printed has no such field; there are %s", field, strings.Join(known, ", "))
		}
	}
	return nil
}
