package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestTypedJobNamesTheField checks that the error for a field of a wrong type names the object and the field.
func TestTypedJobNamesTheField(t *testing.T) {
	for spec, want := range map[string]string{
		`{parallelism: x}`:             "spec.parallelism is a string, not an integer",
		`{parallelism: 1.5}`:           "spec.parallelism is the number 1.5, not an integer",
		`{suspend: "yes"}`:             "spec.suspend is a string, not a boolean",
		`{managedBy: [a]}`:             "spec.managedBy is a list, not a string",
		`{template: {spec: {x: 1}}}`:   "",
		`{template: {spec: [a]}}`:      "spec.template.spec is a list, not an object",
		`{selector: {matchLabels: 1}}`: "spec.selector.matchLabels is a number, not an object",
		`{template: {spec: {containers: [{name: c, args: -v}]}}}`: "spec.template.spec.containers.args is a string, not a list",
	} {
		_, err := TypedJob(dispatchtest.AsServed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ml}, spec: `+spec+`}`))
		if want == "" {
			assert.NilError(t, err)
			continue
		}
		assert.Error(t, err, "job ml/a is invalid: "+want)
	}
}
