package read

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLabelSets checks that an object keeps the wanted labels and no others, and shares them.
func TestLabelSets(t *testing.T) {
	sets := newLabelSets([]string{"team", "tier"})
	for _, tt := range []struct{ labels, want map[string]string }{
		{nil, nil},
		{map[string]string{"other": "x"}, nil},
		{map[string]string{"team": "a", "other": "x"}, map[string]string{"team": "a"}},
		{map[string]string{"tier": "a"}, map[string]string{"tier": "a"}},
		{map[string]string{"team": "", "tier": ""}, map[string]string{"team": "", "tier": ""}},
		{map[string]string{"team": ""}, map[string]string{"team": ""}},
		{map[string]string{"team": "a", "tier": "b"}, map[string]string{"team": "a", "tier": "b"}},
	} {
		got := sets.of(tt.labels)
		assert.DeepEqual(t, got, tt.want)
		again := sets.of(tt.labels)
		assert.Equal(t, reflect.ValueOf(again).Pointer(), reflect.ValueOf(got).Pointer(), "%v is not shared", tt.labels)
	}
}
