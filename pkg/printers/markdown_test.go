package printers_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestMarkdownEscapes: a text from a cluster is neither markup nor the end of a cell, and a
// command stays unchanged.
func TestMarkdownEscapes(t *testing.T) {
	list := inspect.NewFindingList()
	list.Items = []inspect.Finding{{
		Code: "JM001", Severity: inspect.Error, Kind: "Job", Namespace: "ml", Name: "train",
		Message: "<img src=x> [link](http://x) | `code` *bold* _it_ a\\b", Remedy: "look: `kubectl get job | grep '*'`",
	}}
	var b strings.Builder
	assert.NilError(t, printers.Findings(&b, list, printers.TableOptions{Markdown: true, Color: true, Width: 40}))
	rows := strings.Split(strings.TrimSpace(b.String()), "\n")
	last := rows[len(rows)-1]
	for _, want := range []string{`\<img src=x> \[link](http://x) \| \`, `\*bold\* \_it\_ a\\b`, "look: `kubectl get job \\| grep '*'`"} {
		assert.Assert(t, strings.Contains(last, want), "no %q in %s", want, last)
	}
	assert.Assert(t, !strings.Contains(b.String(), "\x1b"), b.String())
}

// TestMarkdownOwners: groups become a column, and errors a list.
func TestMarkdownOwners(t *testing.T) {
	list := listOf(newJob("a", delegation.MultiKueue, delegation.Running))
	list.Errors = []inspect.ContextError{{Context: "dead", Code: kubecontext.CodeUnreachable, Message: "no answer"}}
	var b strings.Builder
	assert.NilError(t, printers.Owners(&b, list, printers.TableOptions{Markdown: true}))
	assert.Assert(t, strings.Contains(b.String(), "| a    | kueue.x-k8s.io/multikueue |"), b.String())
	assert.Assert(t, strings.HasSuffix(b.String(), "\n\nNot read completely:\n\n- dead: no answer\n"), b.String())
}
