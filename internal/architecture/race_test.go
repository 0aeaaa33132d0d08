package architecture

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestUnracedPackagesStartNoGoroutine: make test runs the tests of packages without the race detector
// unless the Makefile lists them as RACED. That is correct if they start no goroutine and share
// nothing between goroutines.
func TestUnracedPackagesStartNoGoroutine(t *testing.T) {
	raced := sets.New[string]()
	for _, p := range load(t, packages.NeedName, racedPatterns(t)...) {
		raced.Insert(p.PkgPath)
	}
	assert.Assert(t, len(raced) > 10, "%v", raced)
	unraced := 0
	for _, p := range load(t, packages.NeedName|packages.NeedImports|packages.NeedFiles|packages.NeedCompiledGoFiles|packages.NeedSyntax|packages.NeedTypes, "./cmd/...", "./hack/...", "./internal/...", "./pkg/...") {
		if raced.Has(p.PkgPath) || len(p.Syntax) == 0 {
			continue
		}
		unraced++
		for path := range p.Imports {
			isLock := path == "sync" || strings.HasPrefix(path, "sync/") || strings.HasSuffix(path, "/errgroup")
			assert.Check(t, !isLock || readsOnce(p.PkgPath), "%s imports %s: add it to RACED in the Makefile", p.PkgPath, path)
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if _, isStart := n.(*ast.GoStmt); isStart {
					t.Errorf("%s starts a goroutine: add the package to RACED in the Makefile", p.Fset.Position(n.Pos()))
				}
				return true
			})
		}
	}
	assert.Assert(t, unraced > 10, "only %d packages run without the race detector", unraced)
}

// readsOnce reports whether a package imports sync only to read its embedded files once, with
// sync.OnceValue.
func readsOnce(path string) bool {
	return strings.HasSuffix(path, "/rules/prose")
}

// racedPatterns returns the patterns of packages that the Makefile lists as RACED.
func racedPatterns(t *testing.T) []string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	assert.NilError(t, err)
	found := regexp.MustCompile(`(?m)^RACED := (.*)$`).FindSubmatch(makefile)
	assert.Assert(t, found != nil, "the Makefile has no RACED")
	return strings.Fields(string(found[1]))
}

func load(t *testing.T, mode packages.LoadMode, patterns ...string) []*packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, patterns...)
	assert.NilError(t, err)
	return loaded
}
