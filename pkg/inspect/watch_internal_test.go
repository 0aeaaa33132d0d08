package inspect

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestWorkloadsAreLostOnce: that Workloads cannot be read is told once, and so is that
// they can be again; what nobody had to ask for tells neither.
func TestWorkloadsAreLostOnce(t *testing.T) {
	changes := make(chan Change, 10)
	w := &watcher{cluster: &fleet.Cluster{Context: "hub"}, changes: changes, ctx: t.Context(), unclaimed: map[string]read{"a": {}}}
	failed := func() *settler { return &settler{asked: true, err: errors.New("forbidden")} }
	for _, step := range []struct {
		name string
		s    *settler
		want []ChangeType
	}{
		{"refused", failed(), []ChangeType{Lost}},
		{"refused again", failed(), nil},
		{"other Jobs change", &settler{}, nil},
		{"refused as before", failed(), nil},
		{"answered", &settler{asked: true}, []ChangeType{Found}},
		{"answered again", &settler{asked: true}, nil},
	} {
		w.settle(step.s)
		assert.DeepEqual(t, typesOf(changes), step.want)
	}
	// Nothing depends on them any more.
	w.settle(failed())
	clear(w.unclaimed)
	w.settle(&settler{})
	assert.DeepEqual(t, typesOf(changes), []ChangeType{Lost, Found})
}

func typesOf(changes chan Change) []ChangeType {
	var types []ChangeType
	for len(changes) > 0 {
		types = append(types, (<-changes).Type)
	}
	return types
}
