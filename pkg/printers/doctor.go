package printers

import (
	"fmt"
	"io"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// The marks of lines, which show the kind of a line without colour.
const (
	markPassed  = "✓"
	markError   = "✗"
	markWarning = "!"
	markInfo    = "i"
	markUnknown = "?"
)

// Doctor writes for each cluster the passed checks and the findings with their fixes, then the
// totals and what was not checked.
func Doctor(w io.Writer, r *inspect.DoctorReport, o TableOptions) error {
	if o.Markdown {
		return doctorMarkdown(w, r, o)
	}
	var lines []string
	for i := range r.Clusters {
		lines = append(lines, doctorCluster(r, &r.Clusters[i], o)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return writeLines(w, append(lines, doctorSummary(r, o)...)...)
}

// doctorCluster returns the lines of a cluster.
func doctorCluster(r *inspect.DoctorReport, c *inspect.DoctorCluster, o TableOptions) []string {
	p := palette{o.Color}
	lines := wrapBelow(p.bold(Safe(c.Context))+gap, clusterText(c), o.Width)
	if len(c.Passed) > 0 {
		lines = append(lines, wrapBelow(gap+markPassed+" ", strings.Join(c.Passed, ", "), o.Width)...)
	}
	for i := range r.Items {
		if f := &r.Items[i]; f.Context == c.Context {
			lines = append(lines, doctorFinding(f, o)...)
		}
	}
	if len(c.NotChecked) > 0 {
		lines = append(lines, wrapBelow(gap+p.ofSeverity(inspect.Warning, markUnknown)+" ", "not checked: "+strings.Join(c.NotChecked, ", "), o.Width)...)
	}
	return lines
}

// clusterText describes a cluster: its versions and its role.
func clusterText(c *inspect.DoctorCluster) string {
	var parts []string
	switch {
	case c.Kueue != "":
		parts = append(parts, "Kueue "+strings.TrimPrefix(c.Kueue, "v"))
	case c.KueueAPI != "":
		parts = append(parts, "Kueue (API "+c.KueueAPI+")")
	}
	if c.Kubernetes != "" {
		parts = append(parts, "Kubernetes "+strings.TrimPrefix(c.Kubernetes, "v"))
	}
	switch c.Role {
	case inspect.RoleManager:
		parts = append(parts, "manager")
		if c.IsWorker() {
			parts = append(parts, "worker "+strings.Join(c.Names, ", "))
		}
	case inspect.RoleWorker:
		parts = append(parts, "worker "+strings.Join(c.Names, ", "))
	case inspect.RoleUnrelated:
		if len(c.Names) > 0 {
			parts = append(parts, "MultiKueueCluster "+strings.Join(c.Names, ", ")+" in no MultiKueueConfig")
		} else {
			parts = append(parts, "not part of MultiKueue")
		}
	case inspect.RoleUnknown:
		parts = append(parts, "role in MultiKueue unknown")
	}
	if c.Error != "" {
		parts = append(parts, "does not answer")
	}
	return Safe(strings.Join(parts, ", "))
}

// doctorFinding returns the lines of a finding: the message with the code at the right, the
// evidence if wanted, and the fix.
func doctorFinding(f *inspect.Finding, o TableOptions) []string {
	p := palette{o.Color}
	mark := map[inspect.Severity]string{inspect.Error: markError, inspect.Warning: markWarning, inspect.Info: markInfo}[f.Severity]
	label, code := gap+p.ofSeverity(f.Severity, mark)+" ", Safe(f.Code)
	width := o.Width
	if width > 0 {
		width -= len(code) + len(gap)
	}
	lines := wrapBelow(label, Safe(strings.TrimPrefix(f.Message, f.Subject()+": ")), width)
	lines[0] = pad(lines[0], width) + gap + p.ofSeverity(f.Severity, code)
	const indent = "      "
	if o.Evidence {
		for _, e := range f.Evidence {
			lines = append(lines, wrap(Safe(e), o.Width, indent)...)
		}
	}
	if f.Remedy == "" {
		return lines
	}
	return append(lines, fixLines(indent, command.Prose(f.Remedy), o)...)
}

// doctorSummary returns the last lines: the totals, and what was not checked.
func doctorSummary(r *inspect.DoctorReport, o TableOptions) []string {
	text := doctorTotals(r)
	if len(r.Unchecked) == 0 {
		return wrap(palette{o.Color}.bold(text), o.Width, "")
	}
	var parts []string
	for _, u := range r.Unchecked {
		parts = append(parts, UncheckedText(u))
	}
	if hasNoCluster(r) {
		text = strings.TrimSuffix(text, ".") + ":"
	} else {
		text += " Not checked:"
	}
	lines := wrap(palette{o.Color}.bold(text), o.Width, "")
	for _, part := range parts {
		lines = append(lines, wrap(part, o.Width, gap)...)
	}
	return lines
}

// doctorTotals returns the number of findings and of clusters in a sentence.
func doctorTotals(r *inspect.DoctorReport) string {
	s := r.Summary
	if hasNoCluster(r) {
		return "No cluster could be checked."
	}
	text := inspect.Count(s.Errors, "error") + ", " + inspect.Count(s.Warnings, "warning")
	if s.Infos > 0 {
		text += fmt.Sprintf(", %d info", s.Infos)
	}
	workers := inspect.Count(s.Workers, "worker")
	if n := unreadWorkers(r); n > 0 {
		workers = fmt.Sprintf("%d of %s", s.Workers, inspect.Count(s.Workers+n, "worker"))
	}
	where := fmt.Sprintf(" on %s and %s", inspect.Count(s.Managers, "manager"), workers)
	if s.Errors+s.Warnings+s.Infos == 0 && len(r.Unchecked) > 0 {
		where = " in what was checked" + where
	}
	return text + where + suppressedSuffix(r.Suppressed) + "."
}

// unreadWorkers returns how many workers are known and were not read.
func unreadWorkers(r *inspect.DoctorReport) int {
	n := 0
	for i := range r.Clusters {
		if c := &r.Clusters[i]; c.Error != "" && c.IsWorker() {
			n++
		}
	}
	for _, u := range r.Unchecked {
		if u.Cluster && strings.HasPrefix(u.What, inspect.WorkerPrefix) {
			n++
		}
	}
	return n
}

// hasNoCluster reports whether no manager or worker could be checked.
func hasNoCluster(r *inspect.DoctorReport) bool {
	return r.Summary == (inspect.DoctorSummary{Suppressed: r.Summary.Suppressed})
}

// doctorMarkdown writes the summary, a table of the clusters and one of the findings.
func doctorMarkdown(w io.Writer, r *inspect.DoctorReport, o TableOptions) error {
	o = o.forMarkdown()
	d := &document{}
	d.paragraph("**" + literal(doctorTotals(r)) + "**")
	d.addUnchecked(r.Unchecked)
	clusters := []column[*inspect.DoctorCluster]{
		{title: "CONTEXT", cell: func(c *inspect.DoctorCluster) string { return Safe(c.Context) }},
		{title: "CLUSTER", cell: clusterText},
		{title: "PASSED", cell: func(c *inspect.DoctorCluster) string { return absentIfEmpty(strings.Join(c.Passed, ", ")) }},
		{title: "NOT CHECKED", cell: func(c *inspect.DoctorCluster) string { return absentIfEmpty(strings.Join(c.NotChecked, ", ")) }},
	}
	if err := addTable(d, clusters, pointers(r.Clusters), o); err != nil {
		return err
	}
	if len(r.Items) > 0 {
		if err := addTable(d, findingMarkdownColumns(o), pointers(r.Items), o); err != nil {
			return err
		}
	}
	return d.write(w)
}
