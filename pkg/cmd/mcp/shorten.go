package mcp

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// leastText is the length up to which no text of a document is shortened, in bytes.
const leastText = 500

// longTexts shortens the texts of a document that are longer than limit bytes. It leaves commands as they
// are, and the elements of lists that are parts, which cut drops.
type longTexts struct {
	limit     int
	parts     []cutPart
	shortened int
}

// textLimit returns the length that a text may have in a document of at most limit bytes: one of them
// must not displace all others.
func textLimit(limit int) int { return max(leastText, limit/16) }

// shorten returns a value, at a path of names, with shortened texts.
func (l *longTexts) shorten(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if name != "command" {
				v[name] = l.shorten(v[name], append(slices.Clone(path), name))
			}
		}
	case []any:
		isPart := slices.ContainsFunc(l.parts, func(p cutPart) bool { return slices.Equal(p.path, path) })
		for i := range v {
			if _, isText := v[i].(string); !isText || !isPart {
				v[i] = l.shorten(v[i], append(slices.Clone(path), "*"))
			}
		}
	case string:
		if short := shortenText(v, l.limit); short != v {
			l.shortened++
			return short
		}
	}
	return value
}

// shortenText returns the beginning of a text of more than limit bytes, with the number of missing bytes.
func shortenText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-40)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes left out)", text[:end], len(text)-end)
}

// shortenLines shortens the lines of a text that have more than limit bytes.
func shortenLines(text string, limit int) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = shortenText(lines[i], limit)
	}
	return strings.Join(lines, "\n")
}
