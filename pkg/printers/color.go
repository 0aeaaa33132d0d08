package printers

import (
	"image/color"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

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
