package printers

import "io"

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
