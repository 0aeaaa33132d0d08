package command_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNoCommandOfStrings: commands are put together of words, nowhere of strings.
func TestNoCommandOfStrings(t *testing.T) {
	inFormat := regexp.MustCompile(`(^|[^\w/.-])kubectl [^"]*%(\[\d+\])?[sqvd]`)
	inSum := regexp.MustCompile(`(^|[:;,] )kubectl( |$)`)
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "../command" {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.BasicLit:
				if text := textOf(n); inFormat.MatchString(text) {
					t.Errorf("%s: a command is made by a format: %s", set.Position(n.Pos()), text)
				}
			case *ast.BinaryExpr:
				for _, side := range []ast.Expr{n.X, n.Y} {
					if text := textOf(side); n.Op == token.ADD && inSum.MatchString(text) {
						t.Errorf("%s: a command is made by addition: %s", set.Position(n.Pos()), text)
					}
				}
			}
			return true
		})
		return nil
	})
	assert.NilError(t, err)
	assert.Assert(t, files > 100, "only %d files were looked at", files)
}

// textOf is the text of a literal, "" of everything else.
func textOf(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}
