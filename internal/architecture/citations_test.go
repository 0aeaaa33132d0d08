package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestCitations: every page that a comment cites exists, with the cited heading, and every page
// of docs/reference is cited.
func TestCitations(t *testing.T) {
	cited := map[string]bool{}
	page := regexp.MustCompile(`([\w./-]*\.md)(#[\w-]+)?`)
	for _, top := range []string{"cmd", "hack", "internal", "pkg", "test"} {
		assert.NilError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, line := range strings.Split(string(text), "\n") {
				_, comment, isComment := strings.Cut(line, "// ")
				if !isComment || strings.Contains(comment, "https://") {
					continue
				}
				for _, found := range page.FindAllStringSubmatch(comment, -1) {
					cited[found[1]] = true
					headings, err := os.ReadFile(filepath.Join(root, found[1]))
					assert.Check(t, err, "%s cites %s, which cannot be read", path, found[1])
					if err == nil && found[2] != "" {
						assert.Check(t, hasHeading(string(headings), found[2]), "%s cites %s%s, which has no such heading", path, found[1], found[2])
					}
				}
			}
			return nil
		}))
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "reference", "*.md"))
	assert.NilError(t, err)
	assert.Assert(t, len(pages) > 0)
	for _, path := range pages {
		name := "docs/reference/" + filepath.Base(path)
		assert.Check(t, cited[name], "no comment cites %s", name)
	}
}

// hasHeading reports whether a page has a heading with an anchor in GitHub's form.
func hasHeading(page, anchor string) bool {
	for _, line := range strings.Split(page, "\n") {
		title, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !isHeading || !strings.HasPrefix(line, "#") {
			continue
		}
		if "#"+strings.ReplaceAll(strings.ToLower(title), " ", "-") == anchor {
			return true
		}
	}
	return false
}
