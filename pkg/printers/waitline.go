package printers

import "io"

// WaitLine is a line on a terminal that is written anew in its place, and leaves
// nothing behind.
type WaitLine struct {
	w     io.Writer
	width int
	drawn bool
}

// NewWaitLine makes one on a terminal of that many columns; 0 stands for 80.
func NewWaitLine(w io.Writer, width int) *WaitLine {
	if width == 0 {
		width = 80
	}
	return &WaitLine{w: w, width: width}
}

// Draw shows a text, cut to the terminal's width. That it cannot be written is no
// error: nothing depends on it.
func (l *WaitLine) Draw(text string) {
	// The last column stays free: some terminals break the line there.
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
