package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// document is one document of a file: a value or an error.
type document struct {
	value any
	err   error
}

// syntaxError is an error at a position in a file. Lines and columns count from 1. Column 0 means
// unknown.
type syntaxError struct {
	line, column int
	message      string
}

func (e *syntaxError) Error() string { return e.place() + ": " + e.message }

func (e *syntaxError) place() string {
	if e.column == 0 {
		return fmt.Sprintf("line %d", e.line)
	}
	return fmt.Sprintf("line %d, column %d", e.line, e.column)
}

// inSource adds the source to an error.
func inSource(source string, err error) error {
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("%s, %w", source, err)
	}
	return fmt.Errorf("%s: %w", source, err)
}

// chunk is the text between two separators of a file.
type chunk struct {
	text []byte
	// line is the number of its first line in the file.
	line int
}

// documents splits a file into its non-empty documents.
func (f file) documents() []document {
	text := bytes.TrimPrefix(f.text, []byte("\ufeff"))
	if place, what := findNonText(text); what != "" {
		return []document{{err: chunk{text, 1}.errorAt(place, what)}}
	}
	var documents []document
	current := chunk{line: 1}
	start, line := 0, 1
	flush := func(end int) {
		current.text = text[start:end]
		documents = append(documents, current.documents()...)
	}
	for offset := 0; offset < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		// As in kubectl, a separator has a line of its own.
		if behind, ok := bytes.CutPrefix(text[offset:end], []byte("---")); ok {
			flush(offset)
			start, current.line = end, line+1
			if rest := bytes.TrimSpace(behind); len(rest) > 0 && rest[0] != '#' {
				documents = append(documents, document{err: &syntaxError{
					line, 4, "the separator --- must be alone on its line",
				}})
			}
		}
		offset = end
	}
	flush(len(text))
	return documents
}

// documents returns one document for YAML, and any number for JSON.
func (c chunk) documents() []document {
	if !looksLikeJSON(c.text) {
		return c.yaml()
	}
	documents := c.json()
	if syntax := (*syntaxError)(nil); errors.As(documents[len(documents)-1].err, &syntax) {
		// YAML has flow mappings that look like the beginning of a JSON object.
		if other := c.yaml(); len(other) == 1 && other[0].err == nil {
			return other
		}
	}
	return documents
}

func looksLikeJSON(text []byte) bool {
	behind, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	behind = bytes.TrimSpace(behind)
	return ok && len(behind) > 0 && (behind[0] == '"' || behind[0] == '}')
}

// json decodes one object after the other, up to the first error.
func (c chunk) json() (documents []document) {
	decoder := json.NewDecoder(bytes.NewReader(c.text))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return append(documents, document{err: c.errorAt(int(syntax.Offset)-1, syntax.Error())})
		}
		switch {
		case errors.Is(err, io.EOF):
			return documents
		case err != nil:
			return append(documents, document{err: c.errorAt(len(bytes.TrimRight(c.text, " \t\r\n")), "the text ends within an object")})
		}
		documents = append(documents, decodeJSON(raw))
	}
}

// decodeJSON decodes whole numbers as integers.
func decodeJSON(text []byte) document {
	var value any
	strict, err := kjson.UnmarshalStrict(text, &value, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(strict, err)...); err != nil {
		return document{err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return document{value: value}
}

// findNonText finds the first byte that is not valid in a text file.
func findNonText(text []byte) (offset int, what string) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return 0, "the file is in UTF-16; save it as UTF-8"
	}
	for offset < len(text) {
		r, size := utf8.DecodeRune(text[offset:])
		switch {
		case r == utf8.RuneError && size == 1:
			return offset, fmt.Sprintf("the byte 0x%02x is not UTF-8", text[offset])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return offset, fmt.Sprintf("the control character %U is not allowed", r)
		}
		offset += size
	}
	return 0, ""
}

// errorAt returns a syntax error at a byte offset of the chunk.
func (c chunk) errorAt(offset int, message string) *syntaxError {
	before := c.text[:min(max(offset, 0), len(c.text))]
	return &syntaxError{
		line:    c.line + bytes.Count(before, []byte("\n")),
		column:  1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
		message: message,
	}
}
