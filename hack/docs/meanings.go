package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// meanings has the doc comments of the constants of string types, by type as "pkg/inspect.JobReason", and by value.
type meanings map[string]map[string]string

// explain adds to the schema of a type with a few values what each value means, in their order. It adds nothing
// if a value other than "" has no doc comment.
func (m meanings) explain(t reflect.Type, schema *jsonschema.Schema) error {
	directory := strings.TrimPrefix(t.PkgPath(), module+"/")
	if err := m.read(directory); err != nil {
		return err
	}
	texts := make([]string, len(schema.Enum))
	for i, value := range schema.Enum {
		text := m[directory+"."+t.Name()][fmt.Sprint(value)]
		switch {
		case text != "":
		case value == "":
			text = "Empty."
		default:
			return nil
		}
		texts[i] = text
	}
	schema.Extras = map[string]any{"enumDescriptions": texts}
	return nil
}

// read reads the constants of the package in a directory, once.
func (m meanings) read(directory string) error {
	if _, isRead := m[directory]; isRead {
		return nil
	}
	m[directory] = nil
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(directory), "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			outer := group.Doc
			if len(group.Specs) > 1 {
				outer = nil
			}
			for _, spec := range group.Specs {
				m.add(directory, spec, outer)
			}
		}
	}
	return nil
}

// add adds a constant with its doc comment, if it has both a type and a string as its value. outer is the comment of
// the declaration of a single constant.
func (m meanings) add(directory string, spec ast.Spec, outer *ast.CommentGroup) {
	constant, ok := spec.(*ast.ValueSpec)
	if !ok {
		return
	}
	doc := cmp.Or(constant.Doc, outer)
	if doc == nil || len(constant.Names) != 1 || len(constant.Values) != 1 {
		return
	}
	kind, isNamed := constant.Type.(*ast.Ident)
	literal, isLiteral := constant.Values[0].(*ast.BasicLit)
	if !isNamed || !isLiteral {
		return
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	key := directory + "." + kind.Name
	if m[key] == nil {
		m[key] = map[string]string{}
	}
	m[key][value] = meaning(constant.Names[0].Name, doc.Text())
}

// isField reports whether a sentence begins with a field of the API, such as spec.active.
func isField(sentence string) bool {
	return strings.HasPrefix(sentence, "spec.") || strings.HasPrefix(sentence, "status.")
}

// meaning returns a doc comment as a sentence about the value, without the name of the constant.
func meaning(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, lead := range []string{name + " means that ", name + ": "} {
		rest, ok := strings.CutPrefix(text, lead)
		switch {
		case ok && isField(rest):
			return rest
		case ok:
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}
