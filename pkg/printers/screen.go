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
		// Clearing after a line that fills the width would remove its last character.
		b.WriteString(clearLine + cut(line, width) + "\n")
	}
	b.WriteString(clearDown)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// WaitLine is a line on a terminal that is replaced in place, and removed at the end.
type WaitLine struct {
	w     io.Writer
	width int
	drawn bool
}

// NewWaitLine returns a WaitLine on a terminal of that many columns; 0 means 80.
func NewWaitLine(w io.Writer, width int) *WaitLine {
	if width == 0 {
		width = 80
	}
	return &WaitLine{w: w, width: width}
}

// Draw shows a text, cut to the terminal's width. It ignores errors, because nothing depends on
// the line.
func (l *WaitLine) Draw(text string) {
	// The last column stays free, because some terminals break the line there.
	_, _ = io.WriteString(l.w, "\r"+clearLine+cut(Safe(text), l.width-1))
	l.drawn = true
}

// Clear removes the line, if there is one.
func (l *WaitLine) Clear() {
	if l.drawn {
		_, _ = io.WriteString(l.w, "\r"+clearLine)
	}
	l.drawn = false
}
