package printers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kubectl/pkg/cmd/get"
)

// customColumns is the format that prints objects one by one.
const customColumns = "custom-columns"

// fileSuffix ends the names of formats whose template is in a file.
const fileSuffix = "-file"

// readTemplate returns the name of the format in a value of -o, and its template. It reads the file of a template, so
// that nothing else does: a pipe can be read only once. The format then has the name of its inline form, except
// custom columns, which have another form in a file.
func readTemplate(output string) (name, template string, err error) {
	name, template, _ = strings.Cut(output, "=")
	inline, isFile := map[string]string{
		"jsonpath-file": "jsonpath", "go-template-file": "go-template", "templatefile": "template", customColumns + fileSuffix: customColumns + fileSuffix,
	}[name]
	if !isFile || template == "" {
		return name, template, nil
	}
	content, err := os.ReadFile(template)
	return inline, string(content), err
}

// columnsPrinter returns kubectl's printer for custom columns, whose paths it checks: kubectl parses them only when it
// prints. output has the content of a file in place of its name.
func columnsPrinter(output string) (printers.ResourcePrinter, error) {
	p, err := unparsedColumns(output)
	if err != nil {
		return nil, err
	}
	if columns, ok := p.(*get.CustomColumnsPrinter); ok {
		for _, column := range columns.Columns {
			if _, err := jsonpath.Parse(column.Header, column.FieldSpec); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func unparsedColumns(output string) (printers.ResourcePrinter, error) {
	if content, isFile := strings.CutPrefix(output, customColumns+fileSuffix+"="); isFile {
		return get.NewCustomColumnsPrinterFromTemplate(strings.NewReader(content), nil)
	}
	return get.NewCustomColumnsPrintFlags().ToPrinter(output)
}

// objectPath matches a path into an object, as in kubectl get. The printed form of a Job has
// these fields at its top level.
var objectPath = regexp.MustCompile(`\.(?:metadata|spec|status)\.(\w+)`)

// flatten returns an expression with its paths made top-level: .name for .metadata.name.
func flatten(expression string) string { return objectPath.ReplaceAllString(expression, ".$1") }

// flattenColumns makes the paths of columns top-level, so that columns accept the paths of kubectl get. It returns
// an error for a field that objects of a type do not have: kubectl would print an empty column.
func flattenColumns(p *get.CustomColumnsPrinter, of reflect.Type) error {
	for i := range p.Columns {
		path := &p.Columns[i].FieldSpec
		typed := strings.Trim(*path, "{}")
		*path = flatten(*path)
		parsed, err := jsonpath.Parse("column", *path)
		if err != nil {
			return err
		}
		if _, known := fieldAt(of, parsed.Root); known != nil {
			return fmt.Errorf("unknown field %s for a column; choose one of %s", typed, strings.Join(known, ", "))
		}
	}
	return nil
}

// fieldAt returns the type of the values at a path; nil if it is unknown. If the path has a field that does not
// exist, fieldAt returns the fields that exist in its place.
func fieldAt(of reflect.Type, path *jsonpath.ListNode) (found reflect.Type, known []string) {
	for _, node := range path.Nodes {
		for of != nil && of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of == nil || isScalar(of) {
			return nil, nil
		}
		switch n := node.(type) {
		case *jsonpath.ListNode:
			of, known = fieldAt(of, n)
		case *jsonpath.FieldNode:
			of, known = fieldNamed(of, n.Value)
		case *jsonpath.ArrayNode, *jsonpath.FilterNode:
			of = elementOf(of)
		default:
			// Of a wildcard, a recursion or a union, the values may have several types.
			of = nil
		}
		if known != nil {
			return nil, known
		}
	}
	return of, nil
}

// isScalar reports whether a type has its own form in JSON, such as a time.
func isScalar(of reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return of.Implements(marshaler) || reflect.PointerTo(of).Implements(marshaler)
}

// elementOf returns the type of the elements of lists and maps; nil for others.
func elementOf(of reflect.Type) reflect.Type {
	if slices.Contains([]reflect.Kind{reflect.Slice, reflect.Array, reflect.Map}, of.Kind()) {
		return of.Elem()
	}
	return nil
}

// fieldNamed returns the type of a field by its name in JSON; nil if it is unknown. If there is no such field, it
// returns the existing ones.
func fieldNamed(of reflect.Type, name string) (found reflect.Type, known []string) {
	if of.Kind() != reflect.Struct {
		return elementOf(of), nil
	}
	for _, field := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type, nil
		}
		if tag != "" && tag != "-" {
			known = append(known, tag)
		}
	}
	return nil, known
}

// expressions match the expressions in a template, and literals the texts in them.
var (
	expressions = regexp.MustCompile(`\{[^{}]*\}`)
	literals    = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// refuseObjectPaths returns an error if a template has paths as in kubectl get, because the lists in a document differ
// from kubectl's. name is the format.
func refuseObjectPaths(name, template string) error {
	if strings.HasPrefix(name, customColumns) {
		return nil
	}
	for _, expression := range expressions.FindAllString(template, -1) {
		if path := objectPath.FindString(literals.ReplaceAllString(expression, "")); path != "" {
			return errors.New("the printed objects have no " + path + ". Show their fields with -o json")
		}
	}
	return nil
}
