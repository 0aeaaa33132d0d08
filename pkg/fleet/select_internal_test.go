package fleet

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSelectInOrder checks that the result is in the order of the patterns.
func TestSelectInOrder(t *testing.T) {
	available := []string{"hub", "east-1", "east-2", "west", "a,b"}
	for _, tt := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"west,east-1"}, "west east-1"},
		{[]string{"west", "east-*"}, "west east-1 east-2"},
		{[]string{"east-2,*"}, "east-2 hub east-1 west a,b"},
		{[]string{"*,^hub"}, "east-1 east-2 west a,b"},
		{[]string{"^hub"}, "east-1 east-2 west a,b"},
		{[]string{"a,b", "hub"}, "a,b hub"},
		{[]string{" west , hub,"}, "west hub"},
	} {
		got, err := selectInOrder(tt.patterns, available)
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(got, " "), tt.want)
	}
	for _, none := range [][]string{{"west,nowhere"}, {""}, {" , "}, {"*,^*"}} {
		_, err := selectInOrder(none, available)
		assert.Assert(t, err != nil, "%q", none)
	}
}
