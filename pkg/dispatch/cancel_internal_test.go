package dispatch

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestDescribeMirrors checks that each context is named once: mirrors are not sorted by context.
func TestDescribeMirrors(t *testing.T) {
	assert.Equal(t, describeMirrors([]string{"a"}), "its mirror on a was")
	assert.Equal(t, describeMirrors([]string{"a", "b", "a"}), "its 3 mirrors on a, b were")
}
