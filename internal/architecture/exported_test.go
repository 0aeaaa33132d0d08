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
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestExportedIsUsedElsewhere: another directory, or an external test, uses the name of each exported
// function and method of pkg. Only names are compared, which takes less than a second.
func TestExportedIsUsedElsewhere(t *testing.T) {
	declared, users := map[string]string{}, map[string]sets.Set[string]{}
	files := token.NewFileSet()
	assert.NilError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if strings.HasSuffix(file.Name.Name, "_test") {
			dir += "_test"
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if users[n.Sel.Name] == nil {
					users[n.Sel.Name] = sets.New[string]()
				}
				users[n.Sel.Name].Insert(dir)
			case *ast.FuncDecl:
				if strings.HasPrefix(dir, "pkg/") && !isForTests(dir+"/") && n.Name.IsExported() && !strings.HasSuffix(path, "_test.go") {
					declared[dir+"."+n.Name.Name] = files.Position(n.Pos()).String()
				}
			}
			return true
		})
		return nil
	}))
	assert.Assert(t, len(declared) > 100)
	// Interfaces of libraries require these, except Answer, which is what package answer is for.
	exempt := sets.New("Error", "Unwrap", "String", "RoundTrip", "WrappedRoundTripper", "UnmarshalJSON", "UnmarshalJSONFrom", "MarshalJSON", "ReadByte",
		"ServerGroupsWithContext", "ServerGroupsAndResourcesWithContext", "RecordEvent", "ToRESTMapper", "HandleWarningHeaderWithContext", "Footer", "Answer")
	for name, position := range declared {
		dir, short, _ := strings.Cut(name, ".")
		if !exempt.Has(short) && users[short].Difference(sets.New(dir)).Len() == 0 {
			t.Errorf("%s: only its own package uses %s", position, name)
		}
	}
}
