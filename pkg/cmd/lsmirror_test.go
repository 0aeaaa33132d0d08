package cmd

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestMissingMirror checks that ls lists no mirror of a Job whose chosen worker was read and has none, and the
// chosen worker if that was not read.
func TestMissingMirror(t *testing.T) {
	dir := copyWith(t, "running", "kwok-w1.yaml", func(text string) string {
		items := regexp.MustCompile(`(?m)^- `).Split(text, -1)
		kept := items[:1]
		for _, item := range items[1:] {
			if !strings.Contains(item, "\n  kind: Job\n") {
				kept = append(kept, item)
			}
		}
		return strings.Join(kept, "- ")
	})
	for contexts, want := range map[string]int{"kwok-mgr,kwok-w1,kwok-w2": 0, "kwok-mgr,kwok-w1": 0, "kwok-mgr,kwok-w2": 1} {
		out, errOut, _ := run(t, "ls", "-n", "default", "--from", dir, "--contexts", contexts, "-o", "json")
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), errOut)
		all := list.All()
		assert.Equal(t, len(all), 1, out)
		assert.Assert(t, all[0].Mirrors != nil, out)
		assert.Equal(t, len(all[0].Mirrors), want, "%s: %s", contexts, out)
	}
}
