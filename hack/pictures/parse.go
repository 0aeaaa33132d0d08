package main

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style is the style of text on a terminal, as far as the plugin uses it.
type style struct {
	bold, dim bool
	// color is one of the terminal's 16 colours, counted from 1; 0 is the default colour.
	color int
}

// span is text in one style.
type span struct {
	text  string
	style style
}

// line is a line of a screen.
type line []span

// parse parses text with control sequences. A character that is neither printable, nor a line
// feed, nor part of a supported style is an error, so that nothing is lost silently.
func parse(text []byte) ([]line, error) {
	var lines []line
	var current line
	var currentStyle style
	var state byte
	parser := ansi.NewParser()
	for len(text) > 0 {
		sequence, width, n, next := ansi.DecodeSequence(text, state, parser)
		text, state = text[n:], next
		switch {
		case width > 0:
			current = current.with(string(sequence), currentStyle)
		case string(sequence) == "\n":
			lines, current = append(lines, current), nil
		case ansi.HasCsiPrefix(sequence) && ansi.Cmd(parser.Command()).Final() == 'm':
			for i, p := range parser.Params() {
				value := p.Param(0)
				if p.HasMore() || !currentStyle.set(value) {
					return nil, fmt.Errorf("cannot draw style %d of %q (parameter %d)", value, sequence, i+1)
				}
			}
			if len(parser.Params()) == 0 {
				currentStyle = style{}
			}
		default:
			return nil, fmt.Errorf("cannot draw %q", sequence)
		}
	}
	if len(current) > 0 {
		lines = append(lines, current)
	}
	return lines, nil
}

// set applies a parameter of a style sequence (ECMA-48, SGR, with the bright colours that all
// terminals have), and reports whether it is known.
func (s *style) set(parameter int) bool {
	switch {
	case parameter == 0:
		*s = style{}
	case parameter == 1:
		s.bold = true
	case parameter == 2:
		s.dim = true
	case parameter == 22:
		s.bold, s.dim = false, false
	case parameter >= 30 && parameter <= 37:
		s.color = parameter - 30 + 1
	case parameter == 39:
		s.color = 0
	case parameter >= 90 && parameter <= 97:
		s.color = parameter - 90 + 1 + 8
	default:
		return false
	}
	return true
}

// with adds text to a line.
func (l line) with(text string, s style) line {
	if last := len(l) - 1; last >= 0 && l[last].style == s {
		l[last].text += text
		return l
	}
	return append(l, span{text, s})
}

// plain returns the text of a line.
func (l line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return strings.TrimRight(b.String(), " ")
}
