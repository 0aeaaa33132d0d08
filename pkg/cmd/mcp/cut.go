package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// cutPart is a list in a document that may be shortened, given by the names of the fields on the
// path to it: "*" is every element of a list.
type cutPart struct {
	path []string
	// fromStart drops elements from the start, for lists in order of time, whose end matters.
	fromStart bool
}

// cutReport has the number of elements that were left out of one list.
type cutReport struct {
	Field   string `json:"field"`
	Omitted int    `json:"omitted"`
	Total   int    `json:"total"`
}

// truncation describes what a document lacks, and how to get it.
type truncation struct {
	Parts []cutReport `json:"parts"`
	// ShortenedTexts is the number of texts that were too long.
	ShortenedTexts int    `json:"shortenedTexts,omitempty"`
	Hint           string `json:"hint"`
}

// text returns the truncation in words.
func (t *truncation) text() string {
	var parts []string
	if t.ShortenedTexts > 0 {
		parts = append(parts, fmt.Sprintf("%d long texts shortened", t.ShortenedTexts))
	}
	for _, p := range t.Parts {
		parts = append(parts, fmt.Sprintf("%d of %d %s left out", p.Omitted, p.Total, p.Field))
	}
	return "Truncated: " + strings.Join(parts, ", ") + ". " + t.Hint
}

// cut shortens long texts and then the lists of a document, the first part first, until it has at most
// limit bytes with its statement of what is missing. It returns nil for a document that was small enough.
func cut(document []byte, parts []cutPart, limit int, hint string) ([]byte, *truncation, error) {
	if len(document) <= limit {
		return document, nil, nil
	}
	var content map[string]any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, nil, err
	}
	texts := longTexts{limit: textLimit(limit), parts: parts}
	texts.shorten(content, nil)
	missing := &truncation{Parts: []cutReport{}, ShortenedTexts: texts.shortened, Hint: hint}
	content["truncated"] = missing
	for _, part := range parts {
		size, err := sizeOf(content)
		if err != nil {
			return nil, nil, err
		}
		// The truncation grows by the report of this part.
		excess := size + 100 - limit
		if excess <= 0 {
			break
		}
		s := shortening{part: part, excess: excess}
		if err := s.walk(content, part.path); err != nil {
			return nil, nil, err
		}
		if s.omitted > 0 {
			missing.Parts = append(missing.Parts, cutReport{Field: strings.ReplaceAll(strings.Join(part.path, "."), ".*", ""), Omitted: s.omitted, Total: s.total})
		}
	}
	short, err := json.Marshal(content)
	if err == nil && len(short) > limit {
		err = fmt.Errorf("the answer has %d bytes even when it is shortened, and --max-bytes of this server allows a document of %d. %s", len(short), limit, hint)
	}
	if err != nil {
		return nil, nil, err
	}
	return short, missing, nil
}

func sizeOf(content any) (int, error) {
	text, err := json.Marshal(content)
	return len(text), err
}

// shortening drops elements of the lists of one part until excess bytes are gone.
type shortening struct {
	part    cutPart
	excess  int
	omitted int
	total   int
}

// walk shortens the lists at a path below a value. Of several lists, the last one is shortened
// first.
func (s *shortening) walk(value any, path []string) error {
	fields, isObject := value.(map[string]any)
	if path[0] == "*" {
		list, _ := value.([]any)
		for i := len(list) - 1; i >= 0; i-- {
			if err := s.walk(list[i], path[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	if !isObject {
		return nil
	}
	if len(path) > 1 {
		return s.walk(fields[path[0]], path[1:])
	}
	list, isList := fields[path[0]].([]any)
	if !isList {
		return nil
	}
	s.total += len(list)
	for len(list) > 0 && s.excess > 0 {
		i := len(list) - 1
		if s.part.fromStart {
			i = 0
		}
		size, err := sizeOf(list[i])
		if err != nil {
			return err
		}
		s.excess -= size + 1
		s.omitted++
		if s.part.fromStart {
			list = list[1:]
		} else {
			list = list[:i]
		}
	}
	fields[path[0]] = list
	return nil
}

// cutText shortens text to at most limit bytes: long lines, and then whole lines, whose number it adds.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = shortenLines(text, textLimit(limit))
	if len(text) <= limit {
		return text
	}
	kept := text[:max(0, limit-60)]
	kept = kept[:strings.LastIndexByte(kept, '\n')+1]
	return kept + fmt.Sprintf("(%d more lines left out; the document may have them)\n", strings.Count(text[len(kept):], "\n"))
}
