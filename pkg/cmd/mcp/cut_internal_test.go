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

// TestCutShortensTexts: a finding whose text is too large stays, with the beginning of the text. Commands
// stay whole, and what is short as well.
func TestCutShortensTexts(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	document, err := json.Marshal(map[string]any{"items": []any{
		map[string]any{"code": "JM034", "message": long, "evidence": []string{"short", long}, "fixes": []any{map[string]any{"command": []string{"kubectl", strings.Repeat("x", 3000)}}}},
		map[string]any{"code": "JM101", "message": "next"},
	}})
	assert.NilError(t, err)
	short, missing, err := cut(document, []cutPart{{path: []string{"items"}}}, 10_000, "Narrow it.")
	assert.NilError(t, err)
	assert.Assert(t, len(short) <= 10_000)
	assert.Equal(t, missing.text(), "Truncated: 2 long texts shortened. Narrow it.")
	var read struct {
		Items []struct {
			Code, Message string
			Evidence      []string
			Fixes         []struct{ Command []string }
		}
		Truncated struct{ ShortenedTexts int }
	}
	assert.NilError(t, json.Unmarshal(short, &read))
	assert.Equal(t, read.Truncated.ShortenedTexts, 2)
	assert.Equal(t, len(read.Items), 2)
	finding := read.Items[0]
	for _, text := range []string{finding.Message, finding.Evidence[1]} {
		kept, left, isShort := strings.Cut(text, "…")
		assert.Assert(t, isShort && strings.HasPrefix(long, kept) && len(kept) > 400, text)
		assert.Equal(t, left, fmt.Sprintf(" (%d bytes left out)", len(long)-len(kept)))
	}
	assert.Equal(t, finding.Evidence[0], "short")
	assert.Equal(t, len(finding.Fixes[0].Command[1]), 3000)
	assert.Equal(t, read.Items[1].Message, "next")
}

// TestCutTextShortensLines: a line that is too long keeps its beginning, and the lines after it stay.
func TestCutTextShortensLines(t *testing.T) {
	short := cutText("error: "+strings.Repeat("a", 5000)+"\nnext\n", 2000)
	lines := strings.Split(short, "\n")
	assert.Equal(t, len(lines), 3, "%q", lines)
	assert.Assert(t, strings.HasPrefix(lines[0], "error: aaa") && strings.HasSuffix(lines[0], " bytes left out)") && len(lines[0]) <= leastText, lines[0])
	assert.Equal(t, lines[1], "next")
}
