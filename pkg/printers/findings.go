package printers

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Findings writes a summary, then each finding with its fix below it. o.Evidence adds the
// evidence of each. Without headers it writes one row per finding, for scripts.
func Findings(w io.Writer, list *inspect.FindingList, o TableOptions) error {
	if o.Markdown {
		return findingsMarkdown(w, list, o)
	}
	if o.NoHeaders {
		return findingRows(w, list, o)
	}
	lines := summaryLines(list, o)
	lines = append(lines, "")
	lines = append(lines, findingLines(list.Items, o)...)
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return writeLines(w, lines...)
}

// findingRows writes the findings as a table, without fixes.
func findingRows(w io.Writer, list *inspect.FindingList, o TableOptions) error {
	rows, err := newTable(findingColumns(o), pointers(list.Items), o).layout(0)
	if err != nil {
		return err
	}
	return writeLines(w, rows[1:]...)
}

func findingColumns(o TableOptions) []column[*inspect.Finding] {
	p := palette{o.Color}
	return []column[*inspect.Finding]{
		{title: "CODE", cell: func(f *inspect.Finding) string { return Safe(f.Code) }},
		{title: "SEVERITY", cell: func(f *inspect.Finding) string { return p.severity(f.Severity) }},
		{title: "CONTEXT", cell: func(f *inspect.Finding) string { return absentIfEmpty(f.Context) }},
		{title: "NAMESPACE", cell: func(f *inspect.Finding) string { return p.absent(absentIfEmpty(f.Namespace)) }},
		{title: "KIND", absent: !o.Kinds, cell: func(f *inspect.Finding) string { return absentIfEmpty(f.Kind) }},
		{title: "NAME", cell: func(f *inspect.Finding) string {
			if o.Kinds || f.Kind == "Job" {
				return Safe(f.Name)
			}
			return Safe(f.Kind + "/" + f.Name)
		}},
		{title: "MESSAGE", cell: func(f *inspect.Finding) string { return Safe(f.Predicate()) }},
	}
}

// CheckSummary returns in a sentence what was checked and found, and what was suppressed.
func CheckSummary(list *inspect.FindingList, o TableOptions) string {
	return checkedText(list, o) + suppressedSuffix(list.Suppressed)
}

// suppressedSuffix counts the findings that the user suppressed, "" for none.
func suppressedSuffix(suppressed []inspect.Finding) string {
	if len(suppressed) == 0 {
		return ""
	}
	count := map[inspect.Severity]int{}
	for i := range suppressed {
		count[suppressed[i].Severity]++
	}
	return "; " + strings.Join(severityCounts(count[inspect.Error], count[inspect.Warning], count[inspect.Info]), ", ") + " suppressed (--suppress)"
}

// severityCounts returns the numbers of findings that are not zero.
func severityCounts(errors, warnings, infos int) (parts []string) {
	for _, n := range []struct {
		count int
		text  string
	}{{errors, inspect.Count(errors, "error")}, {warnings, inspect.Count(warnings, "warning")}, {infos, fmt.Sprintf("%d info", infos)}} {
		if n.count > 0 {
			parts = append(parts, n.text)
		}
	}
	return parts
}

func checkedText(list *inspect.FindingList, o TableOptions) string {
	s := list.Summary
	where := fmt.Sprintf("in %s on %s", inspect.Count(s.Jobs, "delegated "+noun(o)), inspect.Count(s.Clusters, "cluster"))
	switch {
	case s.Jobs == 0 && s.Mirrors > 0:
		where = fmt.Sprintf("on %s (%s, no origins)", inspect.Count(s.Clusters, "cluster"), inspect.Count(s.Mirrors, "mirror"))
	case s.Jobs == 0:
		where = fmt.Sprintf("on %s (no delegated %ss)", inspect.Count(s.Clusters, "cluster"), noun(o))
	}
	parts := severityCounts(s.Errors, s.Warnings, s.Infos)
	if len(parts) == 0 {
		return nothingFound(list, o, where)
	}
	return strings.Join(parts, ", ") + " " + where + youngSuffix(s)
}

// nothingFound returns what was checked without a finding. where names the Jobs and the clusters.
func nothingFound(list *inspect.FindingList, o TableOptions, where string) string {
	s := list.Summary
	switch {
	case s.Clusters == 0:
		return "Nothing was checked" + youngSuffix(s)
	case len(list.Unchecked) > 0 && s.Jobs == 0:
		return "No findings in what was checked " + where + youngSuffix(s)
	case len(list.Unchecked) > 0:
		return "No findings in what was checked: " + strings.TrimPrefix(where, "in ") + youngSuffix(s)
	case s.Jobs == 0 && s.Mirrors == 0 && s.Young == 0:
		return fmt.Sprintf("No delegated %ss found on %s", noun(o), inspect.Count(s.Clusters, "cluster"))
	case s.Young > 0:
		return fmt.Sprintf("No findings older than %s %s; %s not shown (--grace 0s)", graceOf(s), where, youngText(s.Young, "younger "))
	}
	return "No findings " + where
}

func graceOf(s inspect.CheckSummary) string {
	return duration.HumanDuration(time.Duration(s.GraceSeconds) * time.Second)
}

// youngSuffix says that young findings are not shown, "" if there are none.
func youngSuffix(s inspect.CheckSummary) string {
	if s.Young == 0 {
		return ""
	}
	return fmt.Sprintf("; %s younger than %s not shown (--grace 0s)", youngText(s.Young, ""), graceOf(s))
}

// youngText names the counted findings that are not shown: young infos are not counted, because
// they are progress.
func youngText(n int, adjective string) string {
	if n == 1 {
		return "1 " + adjective + "error or warning"
	}
	return fmt.Sprintf("%d %serrors and warnings", n, adjective)
}

// summaryLines returns what was checked and found, and what was not checked.
func summaryLines(list *inspect.FindingList, o TableOptions) []string {
	p, text := palette{o.Color}, CheckSummary(list, o)
	var lines []string
	for _, line := range wrap(text, o.Width, "") {
		lines = append(lines, p.bold(line))
	}
	return append(lines, uncheckedLines(list.Unchecked, o)...)
}

func noun(o TableOptions) string {
	if o.Kinds {
		return "object"
	}
	return "Job"
}

// uncheckedLines returns what was not checked.
func uncheckedLines(all []inspect.Unchecked, o TableOptions) []string {
	var lines []string
	for _, u := range all {
		lines = append(lines, wrapBelow(palette{o.Color}.bad("not checked:")+" ", UncheckedText(u), o.Width)...)
	}
	return lines
}

// UncheckedText returns what was not checked, where, and why.
func UncheckedText(u inspect.Unchecked) string {
	text := u.What
	if text == inspect.Everything && len(u.Contexts) > 0 {
		text = "context " + inspect.Some(u.Contexts)
	} else if len(u.Contexts) > 0 {
		text += " on " + inspect.Some(u.Contexts)
	}
	return Safe(text + " (" + u.Reason + ")")
}

// findingLines returns the findings with their fixes, and with evidence if wanted.
func findingLines(items []inspect.Finding, o TableOptions) []string {
	width, widest := 0, maxSubjectWidth(o.Width)
	for i := range items {
		if n := lipgloss.Width(subjectOf(&items[i])); n <= widest {
			width = max(width, n)
		}
	}
	var lines []string
	for i := range items {
		lines = append(lines, findingBlock(&items[i], width, o)...)
		if o.Wide || o.Evidence {
			lines = append(lines, "")
		}
	}
	return lines
}

// maxSubjectWidth returns the maximum width of the column of subjects, so that messages next to it
// have most of the line. A wider subject has its own line.
func maxSubjectWidth(width int) int {
	const widest = 28
	if width == 0 {
		return widest
	}
	return min(widest, width*3/10)
}

func findingBlock(f *inspect.Finding, width int, o TableOptions) []string {
	p := palette{o.Color}
	code := p.ofSeverity(f.Severity, Safe(f.Code))
	if o.Wide {
		code += " " + pad(p.severity(f.Severity), len(inspect.Warning))
	}
	subject := subjectOf(f)
	message := Safe(f.Predicate())
	if !o.Wide && !o.Evidence {
		message = withOthers(f, message)
	}
	message += ageOf(f, o)
	var lines []string
	head := code + gap + pad(subject, width) + gap
	if lipgloss.Width(subject) > width {
		lines = append([]string{code + gap + subject}, wrap(message, o.Width, gap)...)
	} else {
		lines = wrapBelow(head, message, o.Width)
	}
	if o.Wide || o.Evidence {
		lines = append(lines, evidenceLines(f, o)...)
	}
	if f.Remedy != "" && !o.Compact {
		lines = append(lines, remedyLines(f, o)...)
	}
	if f.Cost != nil && !o.Compact {
		lines = append(lines, fixLines("  "+p.dim("holds:")+" ", costOf(f.Cost), o)...)
	}
	return lines
}

// costOf returns what a Job that can never run holds, with the command that releases it.
func costOf(c *inspect.Cost) command.Prose {
	return command.Prose(Safe(c.Text())+"; ") + c.Release.Prose()
}

// remedyLines returns the best fix of a finding and the number of others; with evidence, all
// fixes.
func remedyLines(f *inspect.Finding, o TableOptions) []string {
	p := palette{o.Color}
	first, other := "  "+p.dim("fix:")+" ", "  "+p.dim("or:")+"  "
	if len(f.Fixes) < 2 || command.Alternatives(f.Fixes) != command.Prose(f.Remedy) {
		return fixLines(first, command.Prose(f.Remedy), o)
	}
	lines := fixLines(first, f.Fixes[0].Prose(), o)
	if !o.Wide && !o.Evidence {
		return append(lines, other+p.dim(moreFixes(len(f.Fixes)-1)))
	}
	for _, fix := range f.Fixes[1:] {
		lines = append(lines, fixLines(other, fix.Prose(), o)...)
	}
	return lines
}

// moreFixes says how many fixes are left out, and how to see them.
func moreFixes(n int) string { return fmt.Sprintf("%d more (-o wide)", n) }

// subjectOf returns the object of a finding: a Job by its name, all others with their kind.
func subjectOf(f *inspect.Finding) string {
	name := f.Name
	if f.Namespace != "" {
		name = f.Namespace + "/" + f.Name
	}
	if f.Kind != "Job" {
		name = f.Kind + " " + name
	}
	return Safe(name)
}

// ageOf returns the age of a problem and, if it is younger than the grace period, when check
// reports it.
func ageOf(f *inspect.Finding, o TableOptions) string {
	if f.Since == nil {
		return ""
	}
	more := ""
	if f.Young {
		more = "; check reports it after " + duration.HumanDuration(f.Grace)
	}
	return o.sinceIn(f.Context, f.Since.Time, more)
}

// evidenceLines returns the evidence with its context, and the Jobs that the finding affects.
func evidenceLines(f *inspect.Finding, o TableOptions) []string {
	var lines []string
	add := func(label, text string) {
		lines = append(lines, wrapBelow("  "+palette{o.Color}.dim(pad(label+":", len("seen:")))+" ", Safe(text), o.Width)...)
	}
	if f.Context != "" {
		add("on", f.Context)
	}
	for i, e := range f.Evidence {
		if i == 0 {
			add("seen", e)
		} else {
			lines = append(lines, wrap(Safe(e), o.Width, "        ")...)
		}
	}
	if len(f.Jobs) > 1 || len(f.Jobs) == 1 && !isAbout(f, f.Jobs[0]) {
		add("jobs", jobNames(f.Jobs, o.Wide))
	}
	return lines
}

// fixLines returns a fix behind a label. A command that does not fit behind the label has its own
// lines.
func fixLines(label string, text command.Prose, o TableOptions) []string {
	text = command.Prose(Safe(string(text)))
	p := palette{o.Color}
	indent := strings.Repeat(" ", lipgloss.Width(label))
	if parts := text.Parts(); len(parts) == 1 && parts[0].IsCommand {
		if o.Width == 0 || lipgloss.Width(label)+lipgloss.Width(parts[0].Text) <= o.Width {
			return []string{label + p.bold(parts[0].Text)}
		}
	}
	if o.Width == 0 {
		return []string{label + string(text)}
	}
	lines := advice(text, indent, o)
	if text.Parts()[0].IsCommand {
		if label = strings.TrimRight(label, " "); label != "" {
			lines = append([]string{label}, lines...)
		}
		return lines
	}
	lines[0] = label + strings.TrimPrefix(lines[0], indent)
	return lines
}

// wrapBelow wraps a text behind a label, indented by the label's width.
func wrapBelow(label, text string, width int) []string {
	indent := strings.Repeat(" ", lipgloss.Width(label))
	lines := wrap(text, width, indent)
	lines[0] = label + strings.TrimPrefix(lines[0], indent)
	return lines
}

// isAbout reports whether a finding is about the Job itself, of any kind, and not about an object
// of Kueue that the Job depends on.
func isAbout(f *inspect.Finding, j inspect.Ref) bool {
	isKueues := strings.HasPrefix(f.APIVersion, kueue.Group+"/")
	return f.Kind == "Job" || !isKueues && f.Namespace == j.Namespace && f.Name == j.Name
}

// CountFindings returns the number of findings of each severity in words.
func CountFindings(list *inspect.FindingList) string {
	counts := map[inspect.Severity]int{}
	for i := range list.Items {
		counts[list.Items[i].Severity]++
	}
	var parts []string
	for _, s := range inspect.Severities() {
		switch {
		case counts[s] == 0:
		case s == inspect.Info:
			parts = append(parts, fmt.Sprintf("%d info", counts[s]))
		default:
			parts = append(parts, inspect.Count(counts[s], string(s)))
		}
	}
	return strings.Join(parts, ", ")
}
