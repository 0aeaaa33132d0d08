package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// TestActionScript: exit codes that come with a report become outputs, and all others fail the
// step; words are passed on unchanged; and only two commands are allowed.
func TestActionScript(t *testing.T) {
	t.Chdir("../..")
	const report = `{"version":"2.1.0","runs":[{"results":[
{
"ruleId": "JM013"}]}]}`
	for _, tt := range []struct {
		command, args string
		code          int
		want          string
	}{
		{"check", "-A\n\n--selector=a in (b, c)\n--suppress=$(id)", 0, "0"},
		{"check", "-A\n--selector=a in (b, c)\n--suppress=$(id)\n", 3, "3"},
		{"doctor", "-A\n--selector=a in (b, c)\n--suppress=$(id)", 4, "4"},
		{"check", "-A\n--selector=a in (b, c)\n--suppress=$(id)", 1, ""},
		{"check", "-A\n--selector=a in (b, c)\n--suppress=$(id)", 2, ""},
		{"dispatch", "", 0, ""},
	} {
		t.Run(fmt.Sprint(tt.command, tt.code), func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "program")
			script := fmt.Sprintf("#!/bin/sh\nprintf '<%%s>' \"$@\" >%s/words\ncat <<'E'\n%s\nE\nexit %d\n", dir, report, tt.code)
			assert.NilError(t, os.WriteFile(program, []byte(script), 0o700))
			outputs, err := action(t.Context(), dir, program, tt.command, tt.args)
			if tt.want == "" {
				assert.Assert(t, err != nil)
				_, err := os.Stat(filepath.Join(dir, tt.command+".sarif"))
				assert.Assert(t, os.IsNotExist(err))
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, outputs["exit-code"], tt.want)
			assert.Equal(t, outputs["findings"], "1")
			words, err := os.ReadFile(filepath.Join(dir, "words"))
			assert.NilError(t, err)
			assert.Equal(t, string(words), "<"+tt.command+"><-A><--selector=a in (b, c)><--suppress=$(id)><-o><sarif>")
		})
	}
}

// TestActionFile: action.yml runs scripts that exist, puts no input into the text of a script,
// and pins the actions that it uses.
func TestActionFile(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	assert.NilError(t, err)
	var file struct {
		Name, Description, Author string
		Branding, Inputs, Outputs map[string]any
		Runs                      struct {
			Using string
			Steps []struct {
				ID, If, Shell, Run, Uses string
				Env, With                map[string]string
			}
		}
	}
	assert.NilError(t, yaml.UnmarshalStrict(text, &file))
	assert.Equal(t, file.Runs.Using, "composite")
	for _, step := range file.Runs.Steps {
		assert.Assert(t, !strings.Contains(step.Run, "${{"), step.Run)
		if step.Uses != "" {
			_, commit, _ := strings.Cut(step.Uses, "@")
			assert.Equal(t, len(commit), 40, step.Uses)
			continue
		}
		assert.Equal(t, step.Shell, "bash")
		if path, isScript := strings.CutPrefix(strings.Trim(step.Run, `"`), "$GITHUB_ACTION_PATH/"); isScript {
			info, err := os.Stat("../../" + path)
			assert.NilError(t, err)
			assert.Assert(t, info.Mode()&0o111 != 0, path)
		}
	}
}
