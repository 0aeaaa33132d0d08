package printers

import (
	"io"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// Rules writes a row for each rule.
func Rules(w io.Writer, all []rules.Rule, o TableOptions) error {
	p := palette{o.Color}
	columns := []column[rules.Rule]{
		{title: "CODE", alwaysShown: true, cell: func(r rules.Rule) string { return r.Code }},
		{title: "SEVERITY", alwaysShown: true, cell: func(r rules.Rule) string { return p.severity(r.Severity) }},
		{title: "TITLE", shrinks: true, minWidth: minProseWidth, cell: func(r rules.Rule) string { return r.Title }},
	}
	lines, err := newTable(columns, all, o).layout(o.Width)
	if err != nil {
		return err
	}
	lines[0] = p.bold(lines[0])
	return writeLines(w, lines...)
}

// proseWidth is the width of prose if nothing else limits it.
const proseWidth = 80

// Rule writes the whole description of a rule.
func Rule(w io.Writer, r rules.Rule, o TableOptions) error {
	p := palette{o.Color}
	width := o.Width
	if width == 0 || width > proseWidth {
		width = proseWidth
	}
	lines := []string{p.bold(r.Code+": "+r.Title) + " (" + p.severity(r.Severity) + ")"}
	for _, section := range []struct{ heading, text string }{
		{"Why it happens", r.Why}, {"How it shows", r.Shows}, {"What to do", r.Remedy},
	} {
		lines = append(lines, "", p.bold(section.heading))
		lines = append(lines, wrap(section.text, width, "")...)
	}
	// An address must not be wrapped.
	lines = append(lines, "", p.bold("See also"), r.Link)
	return writeLines(w, lines...)
}
