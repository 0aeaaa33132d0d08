package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNotesOfFormats: what was not read is a note, or an error, in every output format alike.
func TestNotesOfFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(`{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: default}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}`), 0o600))
	args := []string{"trace", "-f", file, "--queue", "user-queue", "--from", filepath.Join(recordings, "two-flavors")}
	_, table, tableCode := run(t, args...)
	_, names, code := run(t, append(args, "-o", "name")...)
	assert.Equal(t, code, tableCode)
	for line := range strings.Lines(table) {
		assert.Assert(t, strings.Contains(names, line), "%s\n%s", line, names)
	}
}
