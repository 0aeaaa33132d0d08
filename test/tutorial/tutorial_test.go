// Package tutorial runs the commands of docs/tutorial.md and docs/external-controllers.md on its
// own clusters, and compares their output with the pages. With -update it updates the pages.
package tutorial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestMain makes this test binary available as a command, so that kubectl finds the plugin on PATH,
// with the race detector.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kubectl-jobs_managedby": func() { os.Exit(cmd.Run(util.ThisProcess())) },
	})
}

// TestTutorial also tests the roles of rbac, on the same clusters.
func TestTutorial(t *testing.T) {
	t.Parallel()
	isTried := false
	follow(t, "docs/tutorial.md", 40, func(s *stage, command string) {
		if !isTried && command == checkAll {
			isTried = true
			checkRights(s)
		}
	})
	assert.Assert(t, isTried, "the tutorial does not run %s", checkAll)
}

func TestExternalControllers(t *testing.T) {
	t.Parallel()
	follow(t, "docs/external-controllers.md", 25, func(*stage, string) {})
}

// follow runs the commands of a page, which has at least this many, and calls then after each.
func follow(t *testing.T, name string, least int, then func(s *stage, command string)) {
	t.Helper()
	p, err := parsePage(read(t, name))
	assert.NilError(t, err)
	assert.Assert(t, len(p.steps) >= least, "%s has %d commands", name, len(p.steps))
	s := newStage(t)
	fresh := map[int]string{}
	for i, step := range p.steps {
		if step.until != "" {
			s.await(step.until, step.contains)
		}
		t.Log(prompt + step.command)
		output, code := s.run(step.command)
		assert.Equal(t, code, step.code, "$ %s\n%s", step.command, output)
		if shown := p.shown(step); !step.leftOut && normal(output) != normal(shown) {
			fresh[i] = output
			if !golden.FlagUpdate() {
				assert.Check(t, cmp.Equal(normal(output), normal(shown)), "$ %s", step.command)
			}
		}
		then(s, step.command)
	}
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(filepath.Join("..", "..", name), []byte(p.with(fresh)), 0o644))
		return
	}
	assert.Assert(t, len(fresh) == 0, "%s is outdated: run go test ./test/tutorial -update", name)
}

// TestMakeIsLikeTheMakefile compares the replacement of make with the Makefile.
func TestMakeIsLikeTheMakefile(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, recipe := range []string{"\ndemo: build ## ", "\n\t@$(MAKE) --no-print-directory clusters kueue\n", "\n\t@go run ./test/demo\n", "\ndemo-down: clusters ## ", "\n\t@go run ./test/demo -down\n"} {
		assert.Assert(t, strings.Contains(makefile, recipe), "the Makefile has no %q", recipe)
	}
}
