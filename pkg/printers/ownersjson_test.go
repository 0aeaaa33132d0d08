package printers_test

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestOwnersJSONMatchesKubectl: the output written one Job at a time equals that of
// kubectl's printer, with only visible characters.
func TestOwnersJSONMatchesKubectl(t *testing.T) {
	counted := everyStatus()
	for i := range counted.Items {
		counted.Items[i].Jobs = []*inspect.Job{}
	}
	misleading := listOf(newJob(`"jobs": []`, delegation.Owner(`"jobs": []`), delegation.Running))
	misleading.Errors = []inspect.ContextError{{Context: `"jobs": []`, Message: `"jobs": []`}}
	for name, list := range map[string]*inspect.OwnerList{
		"all": everyStatus(), "none": inspect.NewOwnerList(), "counted": counted, "hostile": hostile(), "misleading": misleading,
	} {
		var want bytes.Buffer
		assert.NilError(t, (&printers.JSONPrinter{}).PrintObj(list, escape.JSONWriter(&want)))
		got := printed(t, func(out *bytes.Buffer) error { return newFormat(t, "json").PrintObject(out, list) })
		assert.Equal(t, got, want.String(), name)
	}
}
