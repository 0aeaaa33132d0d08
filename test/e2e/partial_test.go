package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// TestOneDocumentUnderPartialFailure checks the output for several contexts, one of them down, and
// more Jobs than fit into one chunk. It is one JSON document with everything that could be read,
// the same each time.
func TestOneDocumentUnderPartialFailure(t *testing.T) {
	t.Parallel()
	const ns, each = "partial", 600
	for _, cluster := range []string{management, worker2} {
		var jobs []*batchv1.Job
		for i := range each {
			jobs = append(jobs, fixture.New(ns, fmt.Sprintf("job-%03d", i), fixture.Suspended()))
		}
		assert.NilError(t, fixture.Create(t.Context(), client(t, cluster), jobs...))
	}
	var first []byte
	for range 3 {
		cmd := command(t, "jobs-managedby", "ls", "-n", ns, "--contexts", "management,dead,worker-2", "-o", "json")
		cmd.Stderr = nil
		out, err := cmd.Output()
		assert.ErrorContains(t, err, "exit status 4")

		decoder := json.NewDecoder(bytes.NewReader(out))
		decoder.DisallowUnknownFields()
		var list inspect.OwnerList
		assert.NilError(t, decoder.Decode(&list))
		_, err = decoder.Token()
		assert.ErrorIs(t, err, io.EOF)

		validate(t, out)
		assert.Equal(t, len(list.Items), 1)
		seen := map[inspect.Ref]bool{}
		for _, j := range list.Items[0].Jobs {
			seen[inspect.Ref{Context: j.Context, Namespace: j.Namespace, Name: j.Name, UID: j.UID}] = true
		}
		assert.Equal(t, len(seen), 2*each)
		assert.Equal(t, len(list.Items[0].Jobs), 2*each)
		assert.Equal(t, len(list.Errors), 1)
		assert.Equal(t, list.Errors[0].Context, "dead")
		assert.Equal(t, list.Errors[0].Code, kubecontext.CodeUnreachable)

		if first == nil {
			first = out
		}
		// The controllers still write the status of some; everything else stays.
		assert.Equal(t, order(t, out), order(t, first))
	}
}

// validate checks a document against the published schema.
func validate(t *testing.T, out []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/ownerlist.json")
	assert.NilError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	assert.NilError(t, err)
	assert.NilError(t, schema.Validate(document))
}

// order returns the Jobs of a list in their order.
func order(t *testing.T, out []byte) string {
	t.Helper()
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal(out, &list))
	var b bytes.Buffer
	for _, g := range list.Items {
		for _, j := range g.Jobs {
			fmt.Fprintln(&b, g.ManagedBy, j.Context, j.Namespace, j.Name)
		}
	}
	return b.String()
}
