// Package escape writes JSON, YAML and KYAML in which every character is visible. The encoders of
// these formats escape the control characters of ASCII, but not those above: C1 controls, which
// terminals interpret, and marks that change the direction of text. This package escapes them
// too, so the values stay the same.
package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"
)

// isHidden reports whether a character has to be escaped. Encoders have already escaped the
// control characters before 0x7f, except for line breaks and tabs between values.
func isHidden(r rune) bool { return r >= 0x7f && !strconv.IsPrint(r) }

// escaped matches an escape of JSON, or a pair of them for a character of more than 16 bits.
var escaped = regexp.MustCompile(`^\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// decode returns the first character of JSON and its length. Some are already escaped: U+2028 by
// encoding/json, and others by a server, which encoding/json passes on unchanged.
func decode(text []byte) (r rune, size int) {
	if text[0] != '\\' {
		return utf8.DecodeRune(text)
	}
	found := escaped.Find(text)
	var s string
	if len(found) > 2 && json.Unmarshal([]byte(`"`+string(found)+`"`), &s) == nil {
		r, _ = utf8.DecodeRuneInString(s)
		return r, len(found)
	}
	return '\\', max(len(found), 1)
}

// replace replaces the chosen characters of JSON.
func replace(text []byte, isChosen func(rune) bool, by func(*bytes.Buffer, rune)) []byte {
	if bytes.IndexFunc(text, isChosen) < 0 && !bytes.Contains(text, []byte(`\u`)) {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := decode(text)
		if isChosen(r) {
			by(&b, r)
		} else {
			b.Write(text[:size])
		}
		text = text[size:]
	}
	return b.Bytes()
}

// JSON returns the same JSON document with only visible characters. JSON has hidden ones only
// inside strings.
func JSON(text []byte) []byte {
	return replace(text, isHidden, func(b *bytes.Buffer, r rune) {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	})
}

// JSONWriter returns a writer that passes on JSON with only visible characters. Each write
// has to consist of whole characters, as those of encoders do.
func JSONWriter(to io.Writer) io.Writer { return jsonWriter{to} }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	if _, err := w.to.Write(JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// marked matches a mark of YAML.
var marked = regexp.MustCompile(`\\x01([0-9A-F]{6})`)

// YAML returns an object as a YAML document with only visible characters, otherwise as
// sigs.k8s.io/yaml writes it.
func YAML(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	// Only strings in double quotes have escapes, and the encoder chooses the quotes. It chooses
	// double ones for U+0001, which it writes as \x01. So that character and the code in
	// hexadecimal mark each hidden one. U+0001 itself is marked too, and a backslash before
	// "x01", so that the document has \x01 only in marks. A mark is as long as the escape that
	// replaces it, because the encoder breaks lines by length.
	found := false
	mark := func(b *bytes.Buffer, r rune) {
		found = found || isHidden(r)
		fmt.Fprintf(b, `\u0001%06X`, r)
	}
	safe := replace(text, func(r rune) bool { return isHidden(r) || r == 1 }, mark)
	if !found {
		return yaml.JSONToYAML(text)
	}
	safe = bytes.ReplaceAll(safe, []byte(`\\x01`), []byte(`\u000100005Cx01`))
	document, err := yaml.JSONToYAML(safe)
	return marked.ReplaceAll(document, []byte(`\U00$1`)), err
}

// KYAML writes an object as a KYAML document with only visible characters. The encoder itself
// escapes them, but cannot read all of them.
func KYAML(object any, to io.Writer) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	// JSON is YAML except for the escapes of characters of more than 16 bits.
	visible := replace(text, isHidden, func(b *bytes.Buffer, r rune) { fmt.Fprintf(b, `\U%08X`, r) })
	return (&kyaml.Encoder{}).FromYAML(bytes.NewReader(visible), to)
}
