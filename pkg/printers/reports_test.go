package printers

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// FuzzJUnit: a report is well-formed XML without control characters, whatever its texts are, and
// has all of them.
func FuzzJUnit(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\x00b", "\x1b[31mred\x1b[0m", "]]>", "<x a=\"b\">&amp;'", "\ufffe\uffff", "\xff\xfe", "\u202e\u0085\u2028", "a\r\nb\tc\v", "]]&gt;<![CDATA[", "\U0010ffff", "\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := inspect.NewFindingList()
		for _, s := range []inspect.Severity{inspect.Error, inspect.Info} {
			list.Items = append(list.Items, inspect.Finding{
				Code: "JM101" + text, Severity: s, Message: text + "message", Context: text, Kind: text, Namespace: text, Name: text,
				Evidence: []string{text, text + "evidence"}, Remedy: text + "remedy",
			})
		}
		for _, what := range []string{inspect.Everything, text} {
			list.Unchecked = append(list.Unchecked, inspect.Unchecked{What: what, Contexts: []string{text}, Reason: text + "error"})
		}
		var b bytes.Buffer
		assert.NilError(t, JUnit(&b, "check", list, rules.All()[:1], true, func(s inspect.Severity) bool { return s != inspect.Info }))
		assert.Assert(t, utf8.Valid(b.Bytes()))
		for _, part := range append(tokens(t, b.Bytes()), b.String()) {
			bad := strings.IndexFunc(part, func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) })
			assert.Assert(t, bad < 0, "%q", part)
		}
		said := strings.Join(tokens(t, b.Bytes()), "")
		for _, want := range []string{"message", "evidence", "remedy", "error"} {
			assert.Assert(t, strings.Contains(said, Safe(text)+want) || strings.Contains(said, SafeLines(text)+want), "%q is missing in %s", want, said)
		}
	})
}

// TestSuppressedInReports: reports have suppressed findings, marked as such, and do not count their rules as passed.
func TestSuppressedInReports(t *testing.T) {
	list, all := inspect.NewFindingList(), rules.All()[:2]
	list.Suppressed = []inspect.Finding{{Code: all[0].Code, Severity: inspect.Error, Message: "known", Context: "hub", Kind: "Job", Name: "a"}}
	var b bytes.Buffer
	assert.NilError(t, SARIF(&b, list, all, "1"))
	text := strings.Join(strings.Fields(b.String()), " ")
	assert.Assert(t, strings.Contains(text, `"suppressions": [ { "justification": "--suppress", "kind": "external" } ]`), text)
	assert.Equal(t, strings.Count(text, `"suppressions"`), 1)
	b.Reset()
	assert.NilError(t, JUnit(&b, "check", list, all, true, func(inspect.Severity) bool { return true }))
	assert.Assert(t, strings.Contains(b.String(), `tests="2" failures="0" errors="0"`) && strings.Contains(b.String(), `skipped="1"`), b.String())
	assert.Assert(t, strings.Contains(b.String(), `<skipped message="suppressed (--suppress)" type="suppressed"><![CDATA[known`), b.String())
}

// tokens returns all texts and attribute values of a document, parsed strictly.
func tokens(t *testing.T, document []byte) []string {
	t.Helper()
	var all []string
	depth := 0
	d := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			assert.Equal(t, depth, 0)
			return all
		}
		assert.NilError(t, err, "%q", document)
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range token.Attr {
				all = append(all, a.Value, "\n")
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			// A CDATA section ends where its text has the end mark, and another begins.
			all = append(all, string(token))
		}
	}
}
