package printers

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
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

// palette styles text if it is on. The caller decides about colour once: lipgloss's own detection
// misreads NO_COLOR=yes.
//
// It uses only the 16 colours of the terminal's own theme, so that text is also readable on a
// light background. No colour has a meaning that the text does not have.
type palette struct{ on bool }

func (p palette) style(s lipgloss.Style, text string) string {
	if !p.on || text == "" {
		return text
	}
	return s.Render(text)
}

func (p palette) colored(c color.Color, text string) string {
	return p.style(lipgloss.NewStyle().Foreground(c), text)
}

func (p palette) bold(text string) string { return p.style(lipgloss.NewStyle().Bold(true), text) }
func (p palette) dim(text string) string  { return p.style(lipgloss.NewStyle().Faint(true), text) }
func (p palette) bad(text string) string  { return p.colored(lipgloss.Red, text) }

// statusColors are the colours of statuses: red for a failure, yellow for a state that should not
// last, green for success. All others keep the terminal's own colour.
var statusColors = map[delegation.Status]color.Color{
	delegation.Failed:      lipgloss.Red,
	delegation.Unclaimed:   lipgloss.Yellow,
	delegation.Terminating: lipgloss.Yellow,
	delegation.Complete:    lipgloss.Green,
}

func (p palette) status(s delegation.Status) string {
	if c, ok := statusColors[s]; ok {
		return p.colored(c, string(s))
	}
	return string(s)
}

func (p palette) severity(s inspect.Severity) string { return p.ofSeverity(s, string(s)) }

// ofSeverity colours a text by a severity.
func (p palette) ofSeverity(s inspect.Severity, text string) string {
	switch s {
	case inspect.Error:
		return p.colored(lipgloss.Red, text)
	case inspect.Warning:
		return p.colored(lipgloss.Yellow, text)
	default:
		return text
	}
}

// health colours the state of a hop by what it means for the chain.
func (p palette) health(h inspect.Health, text string) string {
	switch h {
	case inspect.HealthBad:
		return p.colored(lipgloss.Red, text)
	case inspect.HealthWaiting:
		return p.colored(lipgloss.Yellow, text)
	case inspect.HealthUnknown:
		return p.colored(lipgloss.Magenta, text)
	case inspect.HealthOK:
	}
	return text
}

// absent dims a cell that has no value.
func (p palette) absent(text string) string {
	if text == none || text == unknown {
		return p.dim(text)
	}
	return text
}
