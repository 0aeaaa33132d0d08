package figures_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
)

// TestPage checks that a run of one benchmark replaces its section, and keeps those of the others.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	write := func(title string, files ...string) string {
		results := t.TempDir()
		for _, name := range files {
			text, err := json.Marshal(figures.Section{Title: name + title, Figures: []figures.Figure{
				{What: name, Baseline: "kubectl: 2 s", Is: 0.5, Unit: "times as long"}, {What: "memory", Is: -5.4, Unit: "MB more"},
			}})
			assert.NilError(t, err)
			assert.NilError(t, os.WriteFile(filepath.Join(results, name+".json"), text, 0o600))
		}
		assert.NilError(t, figures.Page(page, "# Head\n", results, []string{"ls", "history", "dispatch"}))
		text, err := os.ReadFile(page)
		assert.NilError(t, err)
		var titles []string
		summary, _, _ := strings.Cut(string(text), "\n<!--")
		for line := range strings.Lines(string(text)) {
			if title, isTitle := strings.CutPrefix(line, "## "); isTitle {
				title = strings.TrimSpace(title)
				name, _, _ := strings.Cut(title, " ")
				assert.Assert(t, strings.Contains(summary, "| "+title+" | "+name+": 0.5 times as long | kubectl: 2 s |\n"), summary)
				titles = append(titles, title)
			}
		}
		assert.Assert(t, strings.Contains(string(text), "| memory |  | - | 5.4 MB less | - | - |\n"), text)
		return strings.Join(titles, ", ")
	}
	assert.Equal(t, write(" 1", "ls", "dispatch"), "ls 1, dispatch 1")
	assert.Equal(t, write(" 2", "history"), "ls 1, history 2, dispatch 1")
	assert.Equal(t, write(" 3", "ls"), "ls 3, history 2, dispatch 1")
	assert.Equal(t, write(" 4"), "ls 3, history 2, dispatch 1")
}
