package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestContextColumn: without titles, a snapshot has a column for the context, unless --context selects it as it does for
// clusters.
func TestContextColumn(t *testing.T) {
	for args, want := range map[string]string{
		"ls -n ml":                        "management eval kueue",
		"ls -n ml --contexts management":  "management eval kueue",
		"ls -n ml --context management":   "eval kueue",
		"queues --context management":     "cluster-queue - a100",
		"queues --contexts management":    "management cluster-queue - a100",
		"kinds --context management":      "Job batch/v1",
		"history -A --context management": "etl Job export",
	} {
		out, errOut, _ := run(t, append(strings.Fields(args), "--no-headers", "--from", exampleFleet)...)
		assert.Assert(t, strings.HasPrefix(strings.Join(strings.Fields(out), " "), want), "%s: %s%s", args, out, errOut)
	}
}

// TestUnknownColumns: a column of a field that the rows do not have is a usage error of every command, before anything
// is read.
func TestUnknownColumns(t *testing.T) {
	for _, args := range []string{
		"ls -A", "trace -A", "check -A", "doctor", "kinds -A", "history -A", "history -A --by owner", "queues", "queues --pending",
	} {
		out, errOut, code := run(t, append(strings.Fields(args), "-o", "custom-columns=A:.kind,B:.nosuch", "--from", "/nonexistent")...)
		assert.Equal(t, code, util.ExitUsage, "%s: %s", args, errOut)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errOut, ": unknown field "), "%s: %s", args, errOut)
	}
	for args, column := range map[string]string{
		"ls -A": ".mirrors.name", "queues": ".workers[*].context", "trace -A": ".origin[0].name", "check -A": ".code.x",
	} {
		out, errOut, code := run(t, append(strings.Fields(args), "-o", "custom-columns=A:"+column, "--from", "/nonexistent")...)
		assert.Equal(t, code, util.ExitUsage, "%s: %s", args, errOut)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errOut, ": unknown field "+column+" for a column; "), "%s: %s", args, errOut)
	}
	out, errOut, code := run(t, "trace", "-A", "-o", "custom-columns=A:.origin.metadata.name", "--from", exampleFleet)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(out, "\ntrain\n"), out)
}
