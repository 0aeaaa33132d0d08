package complete

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestReadNames(t *testing.T) {
	const columns = `"columnDefinitions":[{"name":"Name","type":"string","format":"name"},{"name":"Age","type":"string"}]`
	for _, tt := range []struct {
		name, body string
		want       []string
		isError    bool
	}{
		{"a table", `{"kind":"Table",` + columns + `,"rows":[{"cells":["a","1m",["x"]],"object":null},{"cells":["b-\"\\c\u0041",1]}]}`, []string{"a", `b-"\cA`}, false},
		{"rows without names", `{` + columns + `,"rows":[{"cells":[]},{"cells":null},{}]}`, []string{"", "", ""}, false},
		{"names that are numbers", `{` + columns + `,"rows":[{"cells":[1,"a"]}]}`, nil, true},
		{"an empty table", `{` + columns + `,"rows":[]}`, nil, false},
		{"a table without names", `{"columnDefinitions":[{"name":"Age"}],"rows":[{"cells":["1m"]}]}`, nil, true},
		{"metadata", `{"kind":"PartialObjectMetadataList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, []string{"a", "b"}, false},
		{"cut off", `{` + columns + `,"rows":[{"cells":["a`, nil, true},
		{"not JSON", `<html>`, nil, true},
		{"empty", ``, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := readNames([]byte(tt.body), func(name string) { got = append(got, name) })
			assert.Equal(t, err != nil, tt.isError, "%v", err)
			assert.DeepEqual(t, got, tt.want)
		})
	}
}

// FuzzReadNames: readNames does not panic, whatever a server answers.
func FuzzReadNames(f *testing.F) {
	f.Add([]byte(`{"columnDefinitions":[{"format":"name"}],"rows":[{"cells":["a\\",1]}],"items":[{"metadata":{"name":"b"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var names []string
		err := readNames(body, func(name string) { names = append(names, name) })
		assert.Assert(t, len(body) > 0 || err != nil)
		assert.Assert(t, len(names) <= len(body))
	})
}
