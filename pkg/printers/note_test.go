package printers_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestNote checks that a note fits a terminal, and is one line without one.
func TestNote(t *testing.T) {
	const text = "context \"w\": Cohorts could not be read: the snapshot lacks them"
	var narrow, plain strings.Builder
	assert.NilError(t, printers.Note(&narrow, text, 40))
	assert.Equal(t, narrow.String(), "note: context \"w\": Cohorts could not be\n      read: the snapshot lacks them\n")
	assert.NilError(t, printers.Note(&plain, text, 0))
	assert.Equal(t, plain.String(), "note: "+text+"\n")
}
