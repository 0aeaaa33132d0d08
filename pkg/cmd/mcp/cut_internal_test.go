package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// FuzzCut: whatever the sizes are, a document is shortened to the limit or refused, and has an
// exact account of what it lacks.
func FuzzCut(f *testing.F) {
	f.Add(3, 400, 900)
	f.Add(200, 20, 1000)
	f.Add(0, 1, 10)
	f.Fuzz(func(t *testing.T, items, size, limit int) {
		if items < 0 || items > 300 || size < 0 || size > 2000 || limit < 0 || limit > 1<<16 {
			t.Skip("no document of this size: the fuzzer tries another")
		}
		list := []string{}
		for i := range items {
			list = append(list, fmt.Sprint(i, " ", strings.Repeat("x", size)))
		}
		document, err := json.Marshal(map[string]any{"kind": "List", "items": list, "big": json.Number("9007199254740993")})
		assert.NilError(t, err)
		short, missing, err := cut(document, []cutPart{{path: []string{"items"}}}, limit, "Narrow it.")
		if err != nil {
			assert.ErrorContains(t, err, "--max-bytes")
			return
		}
		assert.Assert(t, len(short) <= limit)
		var read struct {
			Items     []string
			Big       json.Number
			Truncated *truncation
		}
		assert.NilError(t, json.Unmarshal(short, &read))
		assert.Equal(t, read.Big.String(), "9007199254740993")
		if missing == nil {
			assert.Equal(t, len(read.Items), items)
			return
		}
		assert.Equal(t, len(read.Items)+read.Truncated.Parts[0].Omitted, items)
		assert.Equal(t, read.Truncated.Parts[0].Total, items)
	})
}

// TestCutKeepsTheEnd: a timeline keeps its last events.
func TestCutKeepsTheEnd(t *testing.T) {
	document := []byte(`{"items":[{"timeline":["` + strings.Repeat("a", 500) + `","last"]}]}`)
	short, missing, err := cut(document, []cutPart{{path: []string{"items", "*", "timeline"}, fromStart: true}}, 400, "Narrow it.")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(short), `{"timeline":["last"]}`), "%s", short)
	assert.Equal(t, missing.text(), "Truncated: 1 of 2 items.timeline left out. Narrow it.")
}

// TestCutText: text is shortened to whole lines.
func TestCutText(t *testing.T) {
	text := strings.Repeat("one line\n", 100)
	short := cutText(text, 200)
	assert.Assert(t, len(short) <= 200)
	lines := strings.Split(strings.TrimSpace(short), "\n")
	for _, line := range lines[:len(lines)-1] {
		assert.Equal(t, line, "one line")
	}
	assert.Equal(t, lines[len(lines)-1], fmt.Sprintf("(%d more lines left out; the document may have them)", 100-len(lines)+1))
}
