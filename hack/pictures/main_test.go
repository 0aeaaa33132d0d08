package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func TestPicturesAreReproducible(t *testing.T) {
	t.Chdir("../..")
	dir := filepath.Join(t.TempDir(), "pictures")
	assert.NilError(t, run(dir, false))
	assert.NilError(t, run(dir, true))
	// The result does not depend on the environment.
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("NO_COLOR", "1")
	assert.NilError(t, run(dir, true))

	file := filepath.Join(dir, "trace.svg")
	drawn, err := os.ReadFile(file)
	assert.NilError(t, err)
	text := string(drawn)
	assert.Assert(t, strings.Contains(text, ">kubectl jobs-managedby trace finetune -n vision --from examples/fleet</text>"), text)
	assert.Assert(t, !strings.Contains(text, "Findings"), "the picture ends before the findings")
	assert.Assert(t, strings.Contains(text, `fill="`+colors[3]+`">waits</text>`), text)

	assert.NilError(t, os.WriteFile(file, append(drawn, ' '), 0o644))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "old.svg"), drawn, 0o644))
	assert.Error(t, run(dir, true), "trace.svg, old.svg of "+dir+" are not up to date. Run make pictures")
	assert.NilError(t, run(dir, false))
	assert.NilError(t, run(dir, true))
}

func TestFailedCommandHasNoPicture(t *testing.T) {
	_, err := onTerminal([]string{"ls", "--from", filepath.Join(t.TempDir(), "nowhere")}, columns)
	assert.ErrorContains(t, err, "exit code 1: error: ")
	assert.ErrorContains(t, err, "nowhere")
}

func TestTerminalWidth(t *testing.T) {
	t.Chdir("../..")
	for _, width := range []uint16{60, 100} {
		out, err := onTerminal(strings.Fields("check -A --grace 0s --from examples/fleet"), width)
		assert.NilError(t, err)
		lines, err := parse(out)
		assert.NilError(t, err)
		widest := 0
		for _, l := range lines {
			// A command's argument is never wrapped, however long it is.
			if !strings.Contains(l.plain(), `"apiVersion"`) {
				widest = max(widest, utf8.RuneCountInString(l.plain()))
			}
		}
		assert.Assert(t, widest <= int(width) && widest > int(width)-10, "%d columns are used of %d", widest, width)
	}
}
