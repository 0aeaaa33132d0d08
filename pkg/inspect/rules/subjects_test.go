package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestMessagesNameTheirSubject: in a pager, a message stands alone. Of every recording and of
// every case of a rule, it names the object of the finding, or one of its Jobs.
func TestMessagesNameTheirSubject(t *testing.T) {
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			named(t, judge(t, inventory(t, filepath.Join(recordings, e.Name())), rules.All(), 0))
		}
	}
	for _, c := range cases() {
		if rule, ok := rules.ByCode(c.code); ok && c.fires {
			named(t, judge(t, c.inventory(t), []rules.Rule{rule}, 0))
		}
	}
}

// named fails for a message that names neither the object nor a Job of its finding, or that
// begins with a pronoun.
func named(t *testing.T, findings []inspect.Finding) {
	t.Helper()
	for _, f := range findings {
		names := []string{f.Kind + " " + strings.TrimPrefix(f.Namespace+"/"+f.Name, "/")}
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
}
