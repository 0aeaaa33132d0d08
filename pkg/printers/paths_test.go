package printers_test

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestObjectPaths: columns accept paths as in kubectl get, with an error for a field that does
// not exist. Templates, whose lists differ from kubectl's, are refused at once.
func TestObjectPaths(t *testing.T) {
	j := newJob("train", "example.com/a", delegation.Running)
	const columns = "custom-columns=NAME:.metadata.name,OWNER:{.spec.managedBy},SUCCEEDED:.status.succeeded,STATUS:.status"
	out := printed(t, func(out *bytes.Buffer) error { return newFormat(t, columns).PrintJobs(out, []*inspect.Job{&j}) })
	assert.Equal(t, out, "NAME    OWNER           SUCCEEDED   STATUS\ntrain   example.com/a   0           Running\n")
	finding := inspect.Finding{Code: "JM101", Name: "train"}
	out = printed(t, func(out *bytes.Buffer) error {
		return newFormat(t, "custom-columns=NAME:.metadata.name").PrintFindings(out, []inspect.Finding{finding})
	})
	assert.Equal(t, out, "NAME\ntrain\n")

	var none bytes.Buffer
	assert.ErrorContains(t, newFormat(t, "custom-columns=APP:.metadata.labels.app").PrintJobs(&none, nil), "unknown field labels for a column; choose one of ")
	assert.ErrorContains(t, newFormat(t, "custom-columns=NAME:.metadata.name").PrintTraces(&none, nil), "for a column; choose one of kind, apiVersion, origin, mirrors, ")
	assert.Equal(t, none.String(), "")

	for _, output := range []string{
		"jsonpath={.items[*].metadata.name}", "jsonpath-as-json={.items[*].spec.managedBy}", "go-template={{range .items}}{{.status.succeeded}}{{end}}",
	} {
		_, err := printers.NewFormat(output, false)
		assert.ErrorContains(t, err, "the printed objects have no ", output)
		_, err = printers.NewObjectFormat(output, false)
		assert.NilError(t, err)
	}
}
