// Package architecture checks ARCHITECTURE.md against the code: the packages, their imports, and
// that the files of a package call each other in one direction only.
package architecture

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"gotest.tools/v3/assert"
)

const (
	root   = "../.."
	module = "github.com/jobmanagedby/kubectl-jobmanagedby/"
)

// page returns ARCHITECTURE.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	assert.NilError(t, err)
	return string(text)
}

// imports returns, for each package of the plugin, the packages of the plugin that it imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports, Dir: root}, "./cmd/...", "./pkg/...")
	assert.NilError(t, err)
	known := map[string][]string{}
	for _, p := range loaded {
		known[strings.TrimPrefix(p.PkgPath, module)] = nil
	}
	for _, p := range loaded {
		for path := range p.Imports {
			to := strings.TrimPrefix(path, module)
			if _, ours := known[to]; ours {
				name := strings.TrimPrefix(p.PkgPath, module)
				known[name] = append(known[name], to)
			}
		}
	}
	assert.Assert(t, len(known) > 30)
	return known
}

// TestLayers: every package is in one layer of the picture, and imports only packages of lower
// layers.
func TestLayers(t *testing.T) {
	_, after, ok := strings.Cut(page(t), "\n## Layers\n")
	assert.Assert(t, ok)
	picture := strings.Split(after, "```")[1]
	layers := map[string]int{}
	for i, line := range strings.Split(picture, "\n") {
		for _, name := range strings.Fields(line) {
			_, isTwice := layers[name]
			assert.Check(t, !isTwice, "%s is in two layers", name)
			layers[name] = i
		}
	}
	all := imports(t)
	for _, from := range slices.Sorted(maps.Keys(all)) {
		if isForTests(from) {
			continue
		}
		layer, ok := layers[from]
		assert.Check(t, ok, "ARCHITECTURE.md shows no layer for %s", from)
		for _, to := range all[from] {
			assert.Check(t, layer < layers[to], "%s imports %s, which is not in a lower layer", from, to)
		}
	}
	for name := range layers {
		_, ok := all[name]
		assert.Check(t, ok, "ARCHITECTURE.md shows a layer for %s, which does not exist", name)
	}
}

// isForTests reports whether only tests import a package.
func isForTests(name string) bool { return strings.Contains(name, "/internal/") }

// TestPackagesAreDescribed: each package has a row in a table, except commands, whose names are
// enough; and no row is about a package that does not exist.
func TestPackagesAreDescribed(t *testing.T) {
	all, text := imports(t), page(t)
	for name := range all {
		isCommand := strings.HasPrefix(name, "pkg/cmd/") && !strings.HasPrefix(name, "pkg/cmd/util")
		isLinked := strings.Contains(text, "]("+name+")") || strings.Contains(text, "]("+name+"/main.go)")
		assert.Check(t, isCommand || isForTests(name) || isLinked, "ARCHITECTURE.md does not describe %s", name)
	}
	for _, link := range regexp.MustCompile(`\]\((pkg/[a-z/]+)\)`).FindAllStringSubmatch(text, -1) {
		_, ok := all[link[1]]
		assert.Check(t, ok, "ARCHITECTURE.md describes %s, which does not exist", link[1])
	}
}

// TestImportsOfDispatch: the table of the packages below pkg/dispatch has their imports.
func TestImportsOfDispatch(t *testing.T) {
	const dispatch = "pkg/dispatch/"
	rows := regexp.MustCompile(`(?m)^\| \[\w+\]\((pkg/dispatch/\w+)\) \|[^|]*\|([^|]*)\|$`).FindAllStringSubmatch(page(t), -1)
	assert.Assert(t, len(rows) > 5)
	all := imports(t)
	for _, row := range rows {
		listed := strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
		var imported []string
		for _, to := range all[row[1]] {
			if name, isBelow := strings.CutPrefix(to, dispatch); isBelow {
				imported = append(imported, name)
			}
		}
		slices.Sort(listed)
		slices.Sort(imported)
		assert.Check(t, slices.Equal(listed, imported), "%s imports %q, but ARCHITECTURE.md lists %q", row[1], imported, listed)
	}
}

// TestFilesCallInOneDirection: the files of a command's package can be ordered so that each calls
// only later files. Types may be used in an earlier file.
func TestFilesCallInOneDirection(t *testing.T) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
		packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, "./pkg/cmd/...")
	assert.NilError(t, err)
	assert.Assert(t, len(loaded) > 10)
	for _, p := range loaded {
		assert.Equal(t, len(p.Errors), 0, "%v", p.Errors)
		calls := callsOf(p)
		for len(calls) > 0 {
			before := len(calls)
			maps.DeleteFunc(calls, func(file string, to map[string]string) bool {
				maps.DeleteFunc(to, func(file, _ string) bool { return calls[file] == nil })
				isCalled := func(others map[string]string) bool { return others[file] != "" }
				return len(to) == 0 || !slices.ContainsFunc(slices.Collect(maps.Values(calls)), isCalled)
			})
			if len(calls) == before {
				t.Errorf("%s: these files call each other in a circle; the calls of each file: %v", p.PkgPath, calls)
				break
			}
		}
	}
}

// callsOf returns, for each file of a package, the other files whose functions, constants or
// variables it uses, with the name of one of them.
func callsOf(p *packages.Package) map[string]map[string]string {
	calls := map[string]map[string]string{}
	for _, file := range p.Syntax {
		from := filepath.Base(p.Fset.Position(file.Pos()).Filename)
		calls[from] = map[string]string{}
		ast.Inspect(file, func(n ast.Node) bool {
			id, isName := n.(*ast.Ident)
			if !isName {
				return true
			}
			used := p.TypesInfo.Uses[id]
			if used == nil || used.Pkg() != p.Types {
				return true
			}
			switch f := used.(type) {
			case *types.Func:
				used = f.Origin()
			case *types.Var, *types.Const:
				if used.Parent() != p.Types.Scope() {
					return true // It is a field, or in the file itself.
				}
			default:
				return true
			}
			if to := filepath.Base(p.Fset.Position(used.Pos()).Filename); to != from {
				calls[from][to] = used.Name()
			}
			return true
		})
	}
	return calls
}
