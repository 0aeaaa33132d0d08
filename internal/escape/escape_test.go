package escape_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
)

// documents returns an object in each format.
func documents(t *testing.T, object any) map[string]string {
	t.Helper()
	var asJSON, asKYAML bytes.Buffer
	assert.NilError(t, json.NewEncoder(escape.JSONWriter(&asJSON)).Encode(object))
	assert.NilError(t, escape.KYAML(object, &asKYAML), "%+q", object)
	asYAML, err := escape.YAML(object)
	assert.NilError(t, err, "%+q", object)
	return map[string]string{"json": asJSON.String(), "kyaml": asKYAML.String(), "yaml": string(asYAML)}
}

func check(t *testing.T, text string) {
	t.Helper()
	object := map[string]any{"text": text, "list": []any{text, 1.0, "a: " + text + "\n\n b"}}
	if len(text) < 100 {
		// YAML bounds the length of keys.
		object["key "+text] = "x"
	}
	for format, document := range documents(t, object) {
		hidden := strings.ContainsFunc(document, func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) })
		assert.Check(t, !hidden, "%s: %+q", format, document)
		var got map[string]any
		if format == "json" {
			assert.NilError(t, json.Unmarshal([]byte(document), &got))
		} else {
			assert.NilError(t, yaml.Unmarshal([]byte(document), &got), "%s: %+q", format, document)
		}
		assert.DeepEqual(t, got, object)
	}
}

// TestEachCharacter: documents have only visible characters, and the values of the object.
func TestEachCharacter(t *testing.T) {
	// The controls, the marks, the noncharacters, and some of each other block.
	for r := range unicode.MaxRune {
		isNear := r < 0x300 || r >= 0x2000 && r < 0x2100 || r&0xffff > 0xffe0 || r&0xfff == 1
		if isNear && utf8.ValidRune(r) {
			check(t, "a"+string(r)+"b")
		}
	}
}

// TestExistingEscapes: a character that is already escaped stays so, and text that looks like an
// escape stays text.
func TestExistingEscapes(t *testing.T) {
	object := map[string]any{"a": json.RawMessage(`"\u202e\u009b\udb40\udc01\\u202e\u2028\u0041\n"`)}
	for format, document := range documents(t, object) {
		hidden := strings.ContainsFunc(document, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) })
		assert.Check(t, !hidden, "%s: %+q", format, document)
		assert.Check(t, strings.Contains(document, `\\u202e`), "%s: %s", format, document)
	}
}

// TestLongText: escapes are correct wherever the encoder breaks lines, and next to any text.
func TestLongText(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("word \u202e", 100), strings.Repeat("\u202eword", 100), strings.Repeat("\u009b31m ", 50) + "\n\u2066\n", "\u202e", "\x01AAAAAA\u202e", `\x01AAAAAA` + "\u202e", `\\x0100202E` + "\u202e", `\\\x01` + "\u202e\x01",
		`\x01AAAA0000202E`, `"\x01` + "\u202e", "'\u202e'", "# \u202e", "- \u202e", "\U000e0001\U0001f468\u200d\U0001f469", "\x7f\x1b[2J\u009b", "\u202e: {", "|\u202e\n",
	} {
		check(t, text)
	}
}

// TestVisibleTextIsUnchanged: a text without such characters is written as before.
func TestVisibleTextIsUnchanged(t *testing.T) {
	object := map[string]any{"a": "münchen 日本 \x1b[31m <&>", "n": 1, "l": []string{"x", ""}, "long": strings.Repeat("word ", 50), "e": "😀"}
	want, err := yaml.Marshal(object)
	assert.NilError(t, err)
	documents := documents(t, object)
	assert.Equal(t, documents["yaml"], string(want))
	var b bytes.Buffer
	assert.NilError(t, (&kyaml.Encoder{}).FromObject(object, &b))
	assert.Equal(t, documents["kyaml"], b.String())
	b.Reset()
	assert.NilError(t, json.NewEncoder(&b).Encode(object))
	assert.Equal(t, documents["json"], b.String())
}

// FuzzEscape does the same with any text, without line breaks: kyaml writes a carriage
// return behind one as a backslash and an r.
func FuzzEscape(f *testing.F) {
	f.Add("a\u202eb\u009b\x7f\x01")
	f.Fuzz(func(t *testing.T, text string) {
		check(t, strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\n", ""))
	})
}
