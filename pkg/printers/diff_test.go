package printers_test

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func TestReplacement(t *testing.T) {
	job := func(owner string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "train", "annotations": map[string]any{"evil": evil + "\n--- a\n+++ b"}},
			"spec": map[string]any{"managedBy": owner, "parallelism": int64(4)},
		}}
	}
	r := &recreate.Replacement{
		Old: job("example.com/a"), New: job("example.com/b"),
		Changes:  []plan.Change{{Action: plan.Kept, Field: "metadata.finalizers", Value: evil, Reason: "the user who set it may need it"}},
		Warnings: []string{"The Job is Complete: the new one runs its pods once more, from the start, whatever that may cost."},
	}
	for _, tt := range []struct {
		name    string
		options printers.TableOptions
	}{
		{"replacement.txt", printers.TableOptions{}},
		{"replacement-60.txt", printers.TableOptions{Width: 60}},
		{"replacement-color.txt", printers.TableOptions{Width: 60, Color: true}},
	} {
		var b bytes.Buffer
		assert.NilError(t, printers.Replacement(&b, r, "ml/train as it is on "+evil, "ml/train as it would be", tt.options))
		golden.Assert(t, b.String(), tt.name)
	}
}
