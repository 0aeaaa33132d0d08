package main

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestReasonsAreExplained checks that the schemas explain each reason that scripts compare.
func TestReasonsAreExplained(t *testing.T) {
	t.Chdir("../..")
	for _, kind := range []reflect.Type{
		reflect.TypeFor[inspect.JobReason](), reflect.TypeFor[inspect.PlacementReason](), reflect.TypeFor[kueue.WaitReason](),
		reflect.TypeFor[inspect.JobState](), reflect.TypeFor[inspect.Severity](), reflect.TypeFor[delegation.Status](), reflect.TypeFor[inspect.Verdict](),
	} {
		schema := enums()[kind]
		assert.NilError(t, meanings{}.explain(kind, schema))
		texts, _ := schema.Extras["enumDescriptions"].([]string)
		assert.Equal(t, len(texts), len(schema.Enum), "%s: a value has no doc comment", kind)
	}
	assert.Equal(t, meaning("ReasonHeld", "ReasonHeld means that the Workload\nis on hold."), "The Workload is on hold.")
}
