package architecture

import (
	"go/ast"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"gotest.tools/v3/assert"
)

// TestRulesRunNothingAtOnce: make test runs the tests of rules without the race detector. It has
// nothing to detect there: the package starts no goroutine and shares nothing between any.
func TestRulesRunNothingAtOnce(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes, Dir: root}, "./pkg/inspect/rules/...")
	assert.NilError(t, err)
	assert.Assert(t, len(loaded) > 0)
	for _, p := range loaded {
		assert.Assert(t, len(p.Syntax) > 0)
		for path := range p.Imports {
			assert.Check(t, path != "sync" && !strings.HasPrefix(path, "sync/"), "%s imports %s", p.PkgPath, path)
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if _, isStart := n.(*ast.GoStmt); isStart {
					t.Errorf("%s starts a goroutine", p.Fset.Position(n.Pos()))
				}
				return true
			})
		}
	}
}
