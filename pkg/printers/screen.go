package printers

import (
	"fmt"
	"io"
	"strings"
)

// Control sequences of a terminal: move the cursor to the upper left corner, clear to the end of
// the line, clear all below, clear all.
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearDown = "\x1b[J"
	clearAll  = "\x1b[2J"
)

// Screen redraws a terminal in place. Nothing else may write to the terminal.
type Screen struct {
	w     io.Writer
	drawn bool
}

// NewScreen returns a Screen that draws on a terminal.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Draw replaces the content of the screen. It leaves out and counts lines beyond height, and cuts
// each line to width; 0 is unlimited. It makes one write, so that nothing flickers.
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
