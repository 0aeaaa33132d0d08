package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// TestScriptingPage runs every command of docs/scripting.md and compares the output. Commands
// without --from run against servers that answer like the example fleet.
func TestScriptingPage(t *testing.T) {
	skipIfShort(t)
	const page, console, fence, prompt = "docs/scripting.md", "```console", "```", "$ "
	kubeconfig := newWatchedFleet(t, exampleFleet).kubeconfig
	t.Chdir("../..")
	content, err := os.ReadFile(page)
	assert.NilError(t, err)
	var fresh []string
	commands, lastCode, isConsole := 0, 0, false
	for _, line := range strings.Split(string(content), "\n") {
		typed, isCommand := strings.CutPrefix(line, prompt)
		switch {
		case line == console || line == fence:
			isConsole = line == console
			fresh = append(fresh, line)
		case !isConsole:
			fresh = append(fresh, line)
		case isCommand && typed == "echo $?":
			fresh = append(fresh, line, fmt.Sprint(lastCode))
		case isCommand:
			commands++
			words := command.Words(typed)
			assert.DeepEqual(t, words[:2], []string{"kubectl", "jobs-managedby"})
			args := words[2:]
			if !strings.Contains(typed, "--from ") {
				args = append(args, "--kubeconfig", kubeconfig)
			}
			out, errOut, code := run(t, args...)
			assert.Assert(t, code != 1 && code != 2, "%s: %s", line, errOut)
			lastCode, fresh = code, append(fresh, line)
			if out != "" {
				fresh = append(fresh, strings.Split(strings.TrimRight(out, "\n"), "\n")...)
			}
		}
	}
	assert.Assert(t, commands >= 10, "the page has %d commands", commands)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(page, []byte(strings.Join(fresh, "\n")), 0o644))
		return
	}
	assert.Equal(t, string(content), strings.Join(fresh, "\n"), "go test ./pkg/cmd -run %s -update writes it", t.Name())
}
