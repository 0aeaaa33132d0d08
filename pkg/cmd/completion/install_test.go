package completion

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNotWritable: the error allows another directory, and has the reason.
func TestNotWritable(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "none")
	err := script{"jobs_managedby", filepath.Join(directory, "kubectl_complete-jobs_managedby")}.write()
	assert.ErrorIs(t, err, errNotWritable)
	assert.Error(t, err, directory+" is not writable: no such file or directory")
}
