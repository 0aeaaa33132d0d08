package tutorial

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// written returns the pages that are written by hand.
func written() []string {
	return []string{
		"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
		"docs/job-does-not-run.md", "docs/orphans.md", "docs/dispatch.md", "docs/history.md", "docs/concepts.md", "docs/k9s.md", "docs/krew.md",
		"docs/tutorial.md", "docs/multikueue.md", "docs/external-controllers.md", "docs/reliability.md", "docs/scripting.md", "docs/doctor.md",
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	codeName = regexp.MustCompile(`\bJM\d{3}\b`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinksResolve checks the links between pages.
func TestLinksResolve(t *testing.T) {
	for _, name := range written() {
		text := read(t, name)
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(l[1], "https://") {
				continue
			}
			target := name
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(name), l[1])
			}
			_, err := os.Stat(filepath.Join("..", "..", target))
			assert.Check(t, err, "%s: %s is a broken link", name, l[0])
			if l[2] != "" && err == nil {
				assert.Check(t, slices.Contains(anchors(read(t, target)), l[2]), "%s: there is no %s", name, l[0])
			}
		}
	}
}

// anchors returns the anchors of the headings of a page, as GitHub generates them.
func anchors(page string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

// TestPagesNameTheCodes checks that each page has exactly the codes that belong there.
func TestPagesNameTheCodes(t *testing.T) {
	for _, name := range written() {
		for _, code := range codeName.FindAllString(read(t, name), -1) {
			_, known := rules.ByCode(code)
			assert.Check(t, known, "%s: unknown code %s", name, code)
		}
	}
	multikueue, others, setup := read(t, "docs/multikueue.md"), read(t, "docs/external-controllers.md"), read(t, "docs/doctor.md")
	for _, r := range rules.Catalogue() {
		isDocumented := strings.Contains(multikueue, r.Code)
		// The catalogue has only codes of MultiKueue, except those about unknown owners.
		if r.Code > "JM100" && r.Code < "JM200" || r.Code > "JM300" {
			isDocumented = isDocumented || strings.Contains(others, r.Code)
		}
		if r.Setup {
			assert.Check(t, strings.Contains(setup, r.Code), "docs/doctor.md does not have %s, %s", r.Code, r.Title)
			isDocumented = true
		}
		isSettled := r.Code == "JM014" || r.Code > "JM200" && r.Code < "JM300"
		assert.Check(t, isDocumented || isSettled, "no page documents %s, %s", r.Code, r.Title)
	}
}
