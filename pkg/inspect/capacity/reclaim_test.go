package capacity_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestCovering checks which node has enough quota for a request in addition to what is used.
func TestCovering(t *testing.T) {
	// Queue b has 8 of its own, of which 5 are used. Cohort ml has 12 with 5 used, and org 28 with 17 used.
	n := tree(t, nested).Queue("b")
	n.Release(&kueue.Claim{Holds: []kueue.FlavorQuantity{{Flavor: "f", Resource: "cpu", Quantity: resource.MustParse("4")}}})
	for _, tt := range []struct {
		requested string
		name      string
		level     int
	}{
		{"3", "b", 0}, {"4", "ml", 1}, {"7", "ml", 1}, {"8", "org", 2}, {"11", "org", 2}, {"12", "", 2},
	} {
		requested := capacity.AmountOf("cpu", resource.MustParse(tt.requested))
		name := ""
		if c := n.Covering(capacity.Requests{cpu(): requested}); c != nil {
			name = c.Name
		}
		assert.Equal(t, name, tt.name, tt.requested)
		assert.Equal(t, n.BorrowingLevel(cpu(), requested), tt.level, tt.requested)
	}
}

// TestRelease checks that released quota is free in the whole tree, and that restoring it leaves no trace.
func TestRelease(t *testing.T) {
	n := tree(t, nested)
	free := func() (all []string) {
		for _, q := range n.Queues() {
			all = append(all, q.Free(cpu()).Text("cpu"))
		}
		return all
	}
	before := free()
	c := n.Queue("c").Claims[0]
	n.Queue("c").Release(c)
	assert.DeepEqual(t, free(), []string{"12", "9", "19"})
	n.Queue("c").Restore(c)
	assert.DeepEqual(t, free(), before)
}
