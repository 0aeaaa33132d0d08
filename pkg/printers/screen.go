package printers

import (
	"fmt"
	"io"
	"strings"
)

// What a terminal is told: go to the upper left corner, clear to the end of the
// line, clear all below.
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearDown = "\x1b[J"
	clearAll  = "\x1b[2J"
)

// Screen redraws a terminal in place. It must not be given anything else.
type Screen struct {
	w     io.Writer
	drawn bool
}

// NewScreen makes a screen of a terminal.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Draw replaces what is on the screen by text. Lines that do not fit into height
// are left out and counted, and each is cut to width; a zero is without bound.
// Everything goes out in one write, so that nothing flickers.
func (s *Screen) Draw(text string, width, height int) error {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		more := len(lines) - (height - 2)
		lines = append(lines[:height-2], fmt.Sprintf("… %d more lines: enlarge the terminal, or filter", more))
	}
	var b strings.Builder
	if !s.drawn {
		b.WriteString(home + clearAll)
		s.drawn = true
	}
	b.WriteString(home)
	for _, line := range lines {
		b.WriteString(cut(line, width) + clearLine + "\n")
	}
	b.WriteString(clearDown)
	_, err := io.WriteString(s.w, b.String())
	return err
}
