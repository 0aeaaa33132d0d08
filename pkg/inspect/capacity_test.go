package inspect_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestKnownTopologies checks that Topologies count as read only if they were requested and listed.
func TestKnownTopologies(t *testing.T) {
	var unread *inspect.Capacity
	assert.Assert(t, !unread.KnownTopologies().IsRead)
	c := &inspect.Capacity{Gaps: map[inspect.Part]error{}, Flavors: []*kueue.ResourceFlavor{{}}}
	assert.Assert(t, !c.KnownTopologies().IsRead)
	assert.Equal(t, len(c.KnownTopologies().Flavors), 1)
	c.Topologies = []*kueue.Topology{}
	assert.Assert(t, c.KnownTopologies().IsRead)
	c.AddGap(inspect.PartTopologies, errors.New("forbidden"))
	assert.Assert(t, !c.KnownTopologies().IsRead)
}
