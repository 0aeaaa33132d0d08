package printers

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestRepeatedMessages checks that a step with a problem has a message even if another cluster has
// the same problem: a reference to the other, or the message if that is as short. So it is in
// Markdown, whose cells are laid out several times.
func TestRepeatedMessages(t *testing.T) {
	hop := func(context, message string) inspect.Hop {
		return inspect.Hop{Kind: "Workload", Name: "w", Context: context, State: "Pending", Health: inspect.HealthWaiting, Message: message}
	}
	const long, short, headline = "not its mirror but another Job of this name", "not found", "A user deactivated its Workload."
	healthy := hop("w3", long)
	healthy.Health = inspect.HealthOK
	trace := &inspect.Trace{
		Message: headline, Hops: []inspect.Hop{hop("w1", long), hop("w1", short), hop("w2", long), hop("w2", short), hop("w1", headline), healthy},
	}
	got := hopMessages(trace, TableOptions{})
	assert.DeepEqual(t, got, []string{long, short, "same as on w1", short, "the reason above", ""})
	assert.DeepEqual(t, hopMessages(trace, TableOptions{Wide: true}), []string{long, short, long, short, headline, long})

	var page strings.Builder
	assert.NilError(t, Trace(&page, trace, TableOptions{Markdown: true}))
	for _, text := range []string{long, "same as on w1"} {
		assert.Equal(t, strings.Count(page.String(), text), 1, page.String())
	}
}
