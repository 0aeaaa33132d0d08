// Package readme keeps the README's pictures and the fleet in examples in step.
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
	readme  = "README.md"
	command = "$ kubectl jobs-managedby "
	bundle  = "--from examples/fleet"
	fence   = "```"
)

// TestPictures runs every command of the README that reads the example fleet,
// and compares what it prints with what the README shows below it.
func TestPictures(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(readme)
	assert.NilError(t, err)
	lines := strings.Split(string(text), "\n")
	var fresh []string
	pictures := 0
	for i := 0; i < len(lines); i++ {
		fresh = append(fresh, lines[i])
		if !strings.HasPrefix(lines[i], command) || !strings.Contains(lines[i], bundle) {
			continue
		}
		pictures++
		args, _, _ := strings.Cut(strings.TrimPrefix(lines[i], command), "  #")
		fresh = append(fresh, strings.Split(strings.TrimRight(run(t, strings.Fields(args)...), "\n"), "\n")...)
		for i+1 < len(lines) && lines[i+1] != fence && !strings.HasPrefix(lines[i+1], "$ ") {
			i++
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "$ ") {
			fresh = append(fresh, "")
		}
	}
	assert.Assert(t, pictures >= 2, "the README shows the example fleet")
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(readme, []byte(strings.Join(fresh, "\n")), 0o644))
		return
	}
	assert.Equal(t, string(text), strings.Join(fresh, "\n"), "go test ./test/readme -update writes it anew")
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cmd.Run(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut},
		Program:   "kubectl-jobs_managedby",
		Args:      args,
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock:     clock.RealClock{},
	})
	assert.Assert(t, code == 0 || code == 3, "%v: %s", args, errOut.String())
	return out.String()
}
