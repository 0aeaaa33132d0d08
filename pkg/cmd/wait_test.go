package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestWait: a wait ends when its condition holds for the Job, wherever it runs, and prints the
// changes that it has seen.
func TestWait(t *testing.T) {
	running := newWatchedFleet(t, filepath.Join(recordings, "running"))
	for _, c := range []struct {
		args     string
		code     int
		out      string
		messages []string
	}{
		{"train --for=running", util.ExitOK, "job default/train is running on kwok-w1\n", []string{"job default/train: running on kwok-w1"}},
		{"job/train --for=admitted", util.ExitOK, "job default/train is running on kwok-w1\n", nil},
		{"train --for=finished --timeout=1ms", util.ExitTimeout, "", []string{"is not finished after 1ms"}},
		{"nothere --for=running", util.ExitError, "", []string{`job "nothere" not found in namespace "default"`}},
		{"train", util.ExitOK, "job default/train is running on kwok-w1\n", nil},
		{"train --for=", util.ExitUsage, "", []string{`unknown --for ""; choose one of admitted, running, finished`}},
		{"train --for=ready", util.ExitUsage, "", []string{`unknown --for "ready"; choose one of admitted, running, finished`}},
		{"--for=running", util.ExitUsage, "", []string{"name"}},
		{"train --for=running --timeout=-1s", util.ExitUsage, "", []string{"--timeout must not be negative"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"wait", "--kubeconfig", running.kubeconfig}, strings.Fields(c.args)...)...)
			assert.Equal(t, code, c.code, errOut)
			assert.Equal(t, out, c.out, errOut)
			for _, text := range c.messages {
				assert.Assert(t, strings.Contains(errOut, text), errOut)
			}
		})
	}
}
