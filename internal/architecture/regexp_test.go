package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestExpressionsAreCompiledOnce: no function of the plugin compiles a constant regular expression at each call.
func TestExpressionsAreCompiledOnce(t *testing.T) {
	files, compiled := token.NewFileSet(), 0
	isCompilation := func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "MustCompile" {
			return false
		}
		of, ok := selector.X.(*ast.Ident)
		return ok && of.Name == "regexp"
	}
	assert.NilError(t, filepath.WalkDir(filepath.Join(root, "pkg"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			function, isFunction := declaration.(*ast.FuncDecl)
			ast.Inspect(declaration, func(n ast.Node) bool {
				switch {
				case !isCompilation(n):
				case isFunction:
					t.Errorf("%s: %s compiles a regular expression at each call: declare it outside", files.Position(n.Pos()), function.Name.Name)
				default:
					compiled++
				}
				return true
			})
		}
		return nil
	}))
	assert.Assert(t, compiled > 10, "found only %d regular expressions", compiled)
}
