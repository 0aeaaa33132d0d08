// Package readme keeps the commands of the README and of the pages in docs in sync with
// the fleet in examples.
package readme

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

const (
	command  = "$ kubectl jobs-managedby "
	snapshot = "--from examples/fleet"
	fence    = "```"
)

// pages are the pages with commands that read the example fleet. docs/scripting.md has some, too:
// test/tutorial runs that page as a whole.
var pages = []string{"README.md", "docs/job-does-not-run.md", "docs/orphans.md", "docs/history.md", "docs/doctor.md"}

// TestExamples runs every command of a page that reads the example fleet, and compares its
// output with the page.
func TestExamples(t *testing.T) {
	t.Chdir("../..")
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(page)
			assert.NilError(t, err)
			fresh, examples := rerun(t, string(text))
			assert.Assert(t, examples > 0, "%s shows the example fleet", page)
			if golden.FlagUpdate() {
				assert.NilError(t, os.WriteFile(page, []byte(fresh), 0o644))
				return
			}
			assert.Equal(t, string(text), fresh, "go test ./test/readme -update rewrites it")
		})
	}
}

// rerun returns the page with the current output of its commands, and the number of commands.
func rerun(t *testing.T, page string) (string, int) {
	t.Helper()
	lines := strings.Split(page, "\n")
	var fresh []string
	examples := 0
	for i := 0; i < len(lines); i++ {
		fresh = append(fresh, lines[i])
		if !strings.HasPrefix(lines[i], command) || !strings.Contains(lines[i], snapshot) {
			continue
		}
		examples++
		args, _, _ := strings.Cut(strings.TrimPrefix(lines[i], command), "  #")
		fresh = append(fresh, strings.Split(strings.TrimRight(run(t, strings.Fields(args)...), "\n"), "\n")...)
		for i+1 < len(lines) && lines[i+1] != fence && !strings.HasPrefix(lines[i+1], "$ ") {
			i++
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "$ ") {
			fresh = append(fresh, "")
		}
	}
	return strings.Join(fresh, "\n"), examples
}

// run returns what a terminal shows of a command: its output and its notes.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var screen bytes.Buffer
	code := cmd.Run(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &screen, ErrOut: &screen},
		Program:   "kubectl-jobs_managedby",
		Args:      args,
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock:     clock.RealClock{},
	})
	assert.Assert(t, code == 0 || code == 3, "%v: %s", args, screen.String())
	return screen.String()
}
