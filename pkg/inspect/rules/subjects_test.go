package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestEveryFinding checks the findings of every recording and of every case
// of a rule. Their messages must stand alone, and docs/reliability.md must
// say which of their fixes are run.
func TestEveryFinding(t *testing.T) {
	var findings []inspect.Finding
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			findings = append(findings, judge(t, inventory(t, filepath.Join(recordings, e.Name())), rules.All(), 0)...)
		}
	}
	for _, c := range cases() {
		if rule, ok := rules.ByCode(c.code); ok && c.fires {
			findings = append(findings, judge(t, c.inventory(t), []rules.Rule{rule}, 0)...)
		}
	}
	t.Run("names its subject", func(t *testing.T) {
		for i := range findings {
			named(t, &findings[i])
		}
	})
	t.Run("has fixes that are run, or listed", func(t *testing.T) {
		text, err := os.ReadFile("../../../docs/reliability.md")
		assert.NilError(t, err)
		_, section, _ := strings.Cut(string(text), "## Fixes that are run")
		section, _, _ = strings.Cut(section, "\n## ")
		missing := sets.New[string]()
		for i := range findings {
			if f := &findings[i]; changes(f) && !strings.Contains(section, f.Code) {
				missing.Insert(f.Code)
			}
		}
		assert.Equal(t, strings.Join(sets.List(missing), " "), "")
	})
}

// named fails for a message that names neither the object nor a Job of its finding, or that
// begins with a pronoun.
func named(t *testing.T, f *inspect.Finding) {
	t.Helper()
	names := []string{f.Kind + " " + strings.TrimPrefix(f.Namespace+"/"+f.Name, "/")}
	if f.Namespace == "" {
		names = append(names, f.Name)
	}
	for _, j := range f.Jobs {
		names = append(names, j.Namespace+"/"+j.Name)
	}
	isNamed := false
	for _, name := range names {
		isNamed = isNamed || strings.Contains(f.Message, name)
	}
	assert.Check(t, isNamed, "%s names none of %v: %s", f.Code, names, f.Message)
	first, _, _ := strings.Cut(f.Message, " ")
	assert.Check(t, first != "it" && first != "its", "%s: %s", f.Code, f.Message)
}

// changes reports whether a fix has a command that changes something.
func changes(f *inspect.Finding) bool {
	for _, verb := range []string{"delete", "patch", "create", "label", "annotate", "recreate", "dispatch", "apply", "edit", "cancel", "scale", "rollout", "uncordon", "taint"} {
		for _, fix := range f.Fixes {
			if strings.Contains(string(fix.Prose()), " "+verb+" ") {
				return true
			}
		}
	}
	return false
}
