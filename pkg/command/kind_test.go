package command_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestKinds checks how commands name kinds: by the short name where that is unique.
func TestKinds(t *testing.T) {
	jobSet, ok := delegation.KindNamed("jobset")
	assert.Assert(t, ok)
	found := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, "widgets", nil, []string{"spec", "managedBy"})
	namesake := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "JobSet"}, "jobsets", nil, []string{"spec", "managedBy"})
	unread := delegation.Kind{Name: "widget", Kind: "Widget", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1"}}
	for _, c := range []struct {
		kind           delegation.Kind
		name, argument string
	}{
		{delegation.Job(), "job", "train"},
		{jobSet, "jobsets.jobset.x-k8s.io", "jobset/train"},
		{found, "widgets.example.com", "widget.example.com/train"},
		{namesake, "jobsets.example.com", "jobset.example.com/train"},
		{unread, "widget.example.com", "widget.example.com/train"},
	} {
		assert.Equal(t, command.KindName(c.kind), c.name)
		assert.Equal(t, command.Argument(c.kind, "train"), c.argument)
	}
}
