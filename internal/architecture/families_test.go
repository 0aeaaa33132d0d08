package architecture

import (
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"gotest.tools/v3/assert"
)

// TestFamiliesOfRules: a family of rules is a package below pkg/inspect/rules. Families do not import
// each other. Each exports its list of rules and nothing else, and only the registry imports it.
func TestFamiliesOfRules(t *testing.T) {
	const rules = "pkg/inspect/rules"
	shared := []string{"view", "quote", "advice", "prose"}
	isFamily := func(name string) bool { return path.Dir(name) == rules && !slices.Contains(shared, path.Base(name)) }
	families := 0
	for from, to := range imports(t) {
		for _, name := range to {
			assert.Check(t, !isFamily(name) || from == rules, "%s imports %s, which only %s may import", from, name, rules)
		}
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax, Dir: root}, "./"+rules+"/...")
	assert.NilError(t, err)
	for _, p := range loaded {
		if !isFamily(strings.TrimPrefix(p.PkgPath, module)) {
			continue
		}
		families++
		for _, name := range p.Types.Scope().Names() {
			assert.Check(t, !token.IsExported(name) || name == "Rules", "%s exports %s", p.PkgPath, name)
		}
	}
	assert.Assert(t, families > 5)
}
