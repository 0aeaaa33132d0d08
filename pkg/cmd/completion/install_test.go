package completion

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNotWritable: another folder may do, and the reason is told.
func TestNotWritable(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	err := script{"jobs_managedby", filepath.Join(folder, "kubectl_complete-jobs_managedby")}.write()
	assert.ErrorIs(t, err, errNotWritable)
	assert.Error(t, err, folder+" is not writable: no such file or directory")
}
