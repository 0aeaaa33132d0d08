package command_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNoCommandOfStrings checks that no code builds commands from strings instead of words.
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
					t.Errorf("%s: build this command with package command, not with a format: %s", set.Position(n.Pos()), text)
				}
			case *ast.CallExpr:
				if isFormat(n) && slices.ContainsFunc(n.Args, hasCommand) {
					t.Errorf("%s: use command.Say or command.Errorf for a text with commands: they escape the other arguments", set.Position(n.Pos()))
				}
			case *ast.BinaryExpr:
				for _, side := range []ast.Expr{n.X, n.Y} {
					if text := textOf(side); n.Op == token.ADD && inSum.MatchString(text) {
						t.Errorf("%s: build this command with package command, not by addition: %s", set.Position(n.Pos()), text)
					}
				}
			}
			return true
		})
		return nil
	})
	assert.NilError(t, err)
	assert.Assert(t, files > 100, "only %d files were checked", files)
}

// isFormat reports whether a call is one of fmt's that return text or errors.
func isFormat(call *ast.CallExpr) bool {
	callee, ok := call.Fun.(*ast.SelectorExpr)
	return ok && nameOf(callee.X) == "fmt" && slices.Contains([]string{"Errorf", "Sprintf", "Sprint"}, callee.Sel.Name)
}

// hasCommand reports whether an argument contains commands, by the name of its function.
func hasCommand(arg ast.Expr) bool {
	functions := []string{"Kubectl", "Of", "Plugin", "PluginFor", "Say", "restoreCommand", "describeBackup", "HowToRemove", "cancelFor", "CancelFor", "recreateFor", "Resume", "Cancel"}
	if call, ok := arg.(*ast.CallExpr); ok {
		return slices.Contains(functions, nameOf(call.Fun))
	}
	return strings.EqualFold(nameOf(arg), "remedy")
}

// nameOf returns the last name of an expression, or "".
func nameOf(e ast.Expr) string {
	switch n := e.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	}
	return ""
}

// textOf returns the text of a string literal, or "".
func textOf(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}
