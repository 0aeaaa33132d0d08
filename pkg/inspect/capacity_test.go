package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func TestTopology(t *testing.T) {
	of := func(names ...string) *inspect.Capacity {
		var c inspect.Capacity
		for _, name := range names {
			f := &kueue.ResourceFlavor{}
			f.Spec.TopologyName = name
			c.Flavors = append(c.Flavors, f)
		}
		return &c
	}
	var unread *inspect.Capacity
	assert.Equal(t, unread.Topology(), "")
	assert.Equal(t, of("").Topology(), "")
	assert.Equal(t, of("", "racks", "racks").Topology(), "racks")
	assert.Equal(t, of("racks", "zones", "racks").Topology(), "")
}
