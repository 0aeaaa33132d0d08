package main

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestReasonsAreExplained checks that the schemas explain each reason that scripts compare.
func TestReasonsAreExplained(t *testing.T) {
	t.Chdir("../..")
	for _, kind := range []reflect.Type{reflect.TypeFor[inspect.JobReason](), reflect.TypeFor[inspect.PlacementReason]()} {
		schema := enums()[kind]
		assert.NilError(t, meanings{}.explain(kind, schema))
		texts, _ := schema.Extras["enumDescriptions"].([]string)
		assert.Equal(t, len(texts), len(schema.Enum), "%s: a value has no doc comment", kind)
	}
	assert.Equal(t, meaning("ReasonHeld", "ReasonHeld means that the Workload\nis on hold."), "The Workload is on hold.")
}
