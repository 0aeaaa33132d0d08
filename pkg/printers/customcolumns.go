package printers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
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
// an error for a path that leads nowhere in objects of a type: kubectl would print an empty column, or fail after
// everything was read.
func flattenColumns(p *get.CustomColumnsPrinter, of reflect.Type) error {
	for i := range p.Columns {
		path := &p.Columns[i].FieldSpec
		typed := strings.Trim(*path, "{}")
		*path = flatten(*path)
		parsed, err := jsonpath.Parse("column", *path)
		if err != nil {
			return err
		}
		if _, err := (position{of: of, name: "the object"}).follow(parsed.Root); err != nil {
			return fmt.Errorf("unknown field %s for a column; %w", typed, err)
		}
	}
	return nil
}

// position is where a path into objects has led.
type position struct {
	// of is the type of the values there; nil if it is unknown.
	of reflect.Type
	// name is what an error calls them: the last field of the path, and a [*] for each index after it.
	name string
}

// follow returns where a path leads from a position. It returns an error if it cannot lead to a value.
func (p position) follow(path *jsonpath.ListNode) (position, error) {
	for _, node := range path.Nodes {
		next, err := p.step(node)
		if err != nil {
			return position{}, err
		}
		p = next
	}
	return p, nil
}

// step is follow for one step of a path.
func (p position) step(node jsonpath.Node) (position, error) {
	switch n := node.(type) {
	case *jsonpath.ListNode:
		return p.follow(n)
	case *jsonpath.FieldNode:
		return p.field(n.Value)
	case *jsonpath.ArrayNode:
		return p.element()
	case *jsonpath.FilterNode:
		return p.filtered(n)
	case *jsonpath.UnionNode:
		return p.union(n)
	case *jsonpath.WildcardNode:
		return p.all()
	}
	// After a recursion, the values may have several types.
	return position{}, nil
}

// field returns the position of a field by its name in JSON.
func (p position) field(name string) (position, error) {
	switch p.form() {
	case objectForm:
		return p.fieldOfStruct(name)
	case mapForm:
		return position{p.value().Elem(), name}, nil
	case listForm:
		return position{}, fmt.Errorf("%[1]s is a list: choose all its elements with %[1]s[*]", p.name)
	case scalarForm:
		return position{}, p.hasNoFields()
	case anyForm:
	}
	return position{}, nil
}

func (p position) fieldOfStruct(name string) (position, error) {
	var known []string
	for _, field := range reflect.VisibleFields(p.value()) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "" || tag == "-" {
			continue
		}
		if tag == name {
			return position{field.Type, name}, nil
		}
		known = append(known, tag)
	}
	return position{}, errors.New("choose one of " + strings.Join(known, ", "))
}

// element returns the position of the elements of a list.
func (p position) element() (position, error) {
	switch p.form() {
	case listForm:
		return position{p.value().Elem(), p.name + "[*]"}, nil
	case objectForm, mapForm, scalarForm:
		return position{}, errors.New(p.name + " is not a list")
	case anyForm:
	}
	return position{}, nil
}

// filtered returns the position of the elements that a filter selects.
func (p position) filtered(by *jsonpath.FilterNode) (position, error) {
	element, err := p.element()
	if err != nil {
		return position{}, err
	}
	for _, operand := range []*jsonpath.ListNode{by.Left, by.Right} {
		if _, err := element.follow(operand); err != nil {
			return position{}, err
		}
	}
	return element, nil
}

// union returns the position of the values of all alternatives.
func (p position) union(of *jsonpath.UnionNode) (position, error) {
	var all position
	for i, path := range of.Nodes {
		alternative, err := p.follow(path)
		if err != nil {
			return position{}, err
		}
		if i == 0 {
			all = alternative
		}
		if alternative.of != all.of {
			all.of = nil
		}
	}
	return all, nil
}

// all returns the position of all fields or elements.
func (p position) all() (position, error) {
	switch p.form() {
	case mapForm, listForm:
		return position{p.value().Elem(), p.name + "[*]"}, nil
	case scalarForm:
		return position{}, p.hasNoFields()
	case objectForm, anyForm:
	}
	return position{}, nil
}

func (p position) hasNoFields() error { return errors.New(p.name + " has no fields") }

// value returns the type of the values without pointers; nil if it is unknown.
func (p position) value() reflect.Type {
	of := p.of
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of
}

// form is the form of values in JSON.
type form int

const (
	// anyForm is the form of values of an unknown type.
	anyForm form = iota
	// objectForm is an object with certain fields, and mapForm one with any.
	objectForm
	mapForm
	listForm
	// scalarForm is everything else, such as a number or a time.
	scalarForm
)

func (p position) form() form {
	of := p.value()
	if of == nil || of.Kind() == reflect.Interface {
		return anyForm
	}
	marshaler := reflect.TypeFor[json.Marshaler]()
	switch kind := of.Kind(); {
	case of.Implements(marshaler) || reflect.PointerTo(of).Implements(marshaler):
		return scalarForm
	case kind == reflect.Struct:
		return objectForm
	case kind == reflect.Map:
		return mapForm
	case kind == reflect.Slice || kind == reflect.Array:
		return listForm
	}
	return scalarForm
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
