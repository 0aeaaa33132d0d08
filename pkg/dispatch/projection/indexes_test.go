package projection

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseIndexes(t *testing.T) {
	for text, count := range map[string]int32{"": 0, "0": 1, "0-2,5": 4, "0,1,2": 3, "0-2147483647": 1<<31 - 1} {
		parsed, err := parseIndexes(text)
		assert.NilError(t, err)
		assert.Equal(t, parsed.count(), count, text)
	}
	for text, want := range map[string]string{
		"3-3": "not a range of indexes", "-1": "not an index", "0-2-4": "not a range of indexes", "1,0": "comes after", "0-2,2": "comes after",
		"a": "not an index", ",": "not an index", "1, 2": "not an index", "+1": "not an index", "0-9999999999": "not a range of indexes",
	} {
		_, err := parseIndexes(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestIndexes(t *testing.T) {
	for _, test := range []struct{ in, others, below, without string }{
		{"0-2,5", "", "0-2", "0-2,5"},
		{"0-9", "2,4-6,9", "0-3", "0,1,3,7,8"},
		{"4-8", "0-9", "", ""},
		{"0,1,2,3", "1", "0-3", "0,2,3"},
		{"0-2,3", "5", "0-3", "0-3"},
		{"1-3,6-7", "0-1,3-6", "1-3", "2,7"},
	} {
		in, err := parseIndexes(test.in)
		assert.NilError(t, err)
		others, err := parseIndexes(test.others)
		assert.NilError(t, err)
		assert.Equal(t, in.below(4).String(), test.below, test.in)
		assert.Equal(t, in.without(others).String(), test.without, "%s without %s", test.in, test.others)
	}
}
