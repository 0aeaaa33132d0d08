package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestCompletionScripts compares the scripts in archives and packages with the scripts that the plugin
// itself prints.
func TestCompletionScripts(t *testing.T) {
	for script, program := range map[string]string{
		"kubectl_complete-jobs_managedby": "kubectl-jobs_managedby",
		"kubectl_complete-jobmanagedby":   "kubectl-jobmanagedby",
	} {
		var out, errOut bytes.Buffer
		code := cmd.Run(util.Environment{
			IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut},
			Program:   program,
			Args:      []string{"completion"},
			LookupEnv: func(string) (string, bool) { return "", false },
			Clock:     clock.RealClock{},
		})
		assert.Equal(t, code, 0, errOut.String())
		file := filepath.Join("completion", script)
		if golden.FlagUpdate() {
			assert.NilError(t, os.WriteFile(file, out.Bytes(), 0o755))
		}
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		assert.Equal(t, string(text), out.String(), "run go test ./hack/release -update")
	}
}
