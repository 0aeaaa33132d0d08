package printers

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Findings writes a row for each finding, with the evidence and the remedy below
// it. Without headers there are the rows alone, for scripts.
func Findings(w io.Writer, list *inspect.FindingList, o TableOptions) error {
	p := palette{o.Color}
	rows, err := newTable(findingColumns(o), pointers(list.Items), o).layout(o.Width)
	if err != nil {
		return err
	}
	width := widest(rows)
	var lines []string
	if !o.NoHeaders && len(list.Items) > 0 {
		lines = append(lines, p.bold(pad(rows[0], width)+gap+"MESSAGE"))
		if o.Width > 0 {
			lines[0] = cut(lines[0], o.Width)
		}
	}
	for i := range list.Items {
		f := &list.Items[i]
		message := Safe(f.Message)
		if o.NoHeaders || o.Width == 0 || width+len(gap)+lipgloss.Width(message) <= o.Width {
			lines = append(lines, pad(rows[i+1], width)+gap+message)
		} else {
			lines = append(append(lines, rows[i+1]), wrap(message, o.Width, gap)...)
		}
		if !o.NoHeaders {
			lines = append(lines, details(f, o)...)
		}
	}
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if err := writeLines(w, lines...); err != nil {
		return err
	}
	if o.NoHeaders {
		return nil
	}
	return writeErrors(w, list.Errors, len(list.Items) > 0, o)
}

// findingColumns stand before the message.
func findingColumns(o TableOptions) []column[*inspect.Finding] {
	p := palette{o.Color}
	return []column[*inspect.Finding]{
		{title: "CODE", cell: func(f *inspect.Finding) string { return Safe(f.Code) }},
		{title: "SEVERITY", cell: func(f *inspect.Finding) string { return p.severity(f.Severity) }},
		{title: "CONTEXT", shrinks: true, cell: func(f *inspect.Finding) string { return absentIfEmpty(f.Context) }},
		{title: "NAMESPACE", shrinks: true, cell: func(f *inspect.Finding) string { return p.absent(absentIfEmpty(f.Namespace)) }},
		{title: "KIND", absent: !o.Kinds, shrinks: true, cell: func(f *inspect.Finding) string { return absentIfEmpty(f.Kind) }},
		{title: "NAME", shrinks: true, cell: func(f *inspect.Finding) string { return Safe(findingName(f, o)) }},
	}
}

// findingName is what a finding is about, where there is no column for its kind; a
// Job is known by its name alone.
func findingName(f *inspect.Finding, o TableOptions) string {
	if o.Kinds || f.Kind == "Job" {
		return f.Name
	}
	return f.Kind + "/" + f.Name
}

// details are what was seen, what hangs on it, and what to do.
func details(f *inspect.Finding, o TableOptions) []string {
	var lines []string
	add := func(label, text string) { lines = append(lines, detail(label, text, o)...) }
	for i, e := range f.Evidence {
		label := ""
		if i == 0 {
			label = "seen"
		}
		add(label, e)
	}
	if len(f.Jobs) > 1 || len(f.Jobs) == 1 && !isAbout(f, f.Jobs[0]) {
		add("jobs", jobNames(f.Jobs, o.Wide))
	}
	lines = append(lines, remedy(command.Prose(f.Remedy), o)...)
	return append(lines, "")
}

// isAbout says whether a finding is about a Job itself, of whatever kind, and not about
// something of Kueue's that it hangs on.
func isAbout(f *inspect.Finding, j inspect.Ref) bool {
	isKueues := strings.HasPrefix(f.APIVersion, kueue.Group+"/")
	return f.Kind == "Job" || !isKueues && f.Namespace == j.Namespace && f.Name == j.Name
}

// labelWidth is the width of the words before details.
const labelWidth = 4

// fewJobs is how many Jobs are named where not all are wanted.
const fewJobs = 5

func jobNames(jobs []inspect.Ref, all bool) string {
	var names []string
	known := map[string]bool{}
	for _, j := range jobs {
		// An origin and its mirror have the same name.
		if name := j.Namespace + "/" + j.Name; !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	if len(names) > fewJobs && !all {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:fewJobs], ", "), len(names)-fewJobs)
	}
	return strings.Join(names, ", ")
}

// CountFindings is how many findings of each severity there are, in words.
func CountFindings(list *inspect.FindingList) string {
	counts := map[inspect.Severity]int{}
	for i := range list.Items {
		counts[list.Items[i].Severity]++
	}
	words := map[inspect.Severity]string{inspect.Error: "error", inspect.Warning: "warning", inspect.Info: "note"}
	var parts []string
	for _, s := range inspect.Severities() {
		if counts[s] > 0 {
			parts = append(parts, inspect.Count(counts[s], words[s]))
		}
	}
	return strings.Join(parts, ", ")
}
