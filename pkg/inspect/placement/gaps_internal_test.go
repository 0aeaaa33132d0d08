package placement

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestGapsAreJudged checks that each part that may be missing from a Capacity is considered by a
// judgment, so that an unreadable part never counts as an empty one.
func TestGapsAreJudged(t *testing.T) {
	considered := sources(t, "*.go")
	// Parts that package inspect names.
	for part, method := range map[string]string{"PartLimitRanges": "UnreadLimitRanges(", "PartNamespaces": "UnreadNamespace("} {
		if strings.Contains(considered, method) {
			considered += "inspect." + part
		}
	}
	found := regexp.MustCompile(`(?:readPart\(ctx, r, c, |c\.AddGap\()inspect\.(Part\w+)`).FindAllStringSubmatch(sources(t, "../read/*.go"), -1)
	const least = 8
	assert.Assert(t, len(found) >= least, found)
	for _, part := range found {
		// Where a topology decides, the verdict is Unknown whatever it is.
		if part[1] != "PartTopologies" {
			assert.Check(t, strings.Contains(considered, "inspect."+part[1]), "no judgment considers %s", part[1])
		}
	}
}

// sources returns the text of source files without tests.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	assert.NilError(t, err)
	all := ""
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		all += string(text)
	}
	return all
}
