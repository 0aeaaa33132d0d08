package printers

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// JobProblems are the problems of one Job, or of an object of another kind.
type JobProblems struct {
	// Kind is a kind such as "JobSet"; "" means Job.
	Kind string
	// Job is namespace/name.
	Job      string
	Problems []preflight.Problem
	// PassedOver are the problems of clusters that were passed over when a cluster was chosen.
	PassedOver []preflight.Problem
}

// name returns the Job's name, which is different for each kind.
func (j JobProblems) name() string { return kindAndName(j.Kind, j.Job) }

// Problems writes a row for each problem, with the remedy below it. Problems that several Jobs
// share are written once, below their names; there are no names if jobs has only one element.
// Blocking problems come first.
func Problems(w io.Writer, jobs []JobProblems, o TableOptions) error {
	p := palette{o.Color}
	groups := problemGroups(jobs)
	var all []problemRow
	for _, g := range groups {
		for _, problem := range g.problems {
			all = append(all, problemRow{problem, g.objectOf(problem.Problem)})
		}
	}
	if len(all) == 0 {
		return nil
	}
	rows, err := newTable(problemColumns(p), all, o).layout(o.Width)
	if err != nil {
		return err
	}
	width := widest(rows)
	var lines []string
	if !o.NoHeaders {
		lines = append(lines, cut(p.bold(pad(rows[0], width)+gap+"MESSAGE"), o.Width))
	}
	row := 0
	for i, g := range groups {
		if len(jobs) > 1 {
			if i > 0 {
				lines = append(lines, "")
			}
			for _, line := range wrap(g.title(o.Wide), o.Width, "") {
				lines = append(lines, p.bold(line))
			}
		}
		for _, problem := range g.problems {
			row++
			lines = append(lines, problemLines(problem.Problem, rows[row], width, o)...)
		}
	}
	return writeLines(w, lines...)
}

// problemRow is a problem and its object.
type problemRow struct {
	sharedProblem
	object string
}

// sharedProblem is a problem that Jobs have in common.
type sharedProblem struct {
	preflight.Problem
	// isPassedOver is set if the Jobs went to another cluster because of it.
	isPassedOver bool
}

// problemColumns returns the columns in front of the message.
func problemColumns(p palette) []column[problemRow] {
	return []column[problemRow]{
		{title: "SEVERITY", alwaysShown: true, cell: func(r problemRow) string {
			if r.isPassedOver {
				return "passed over"
			}
			return p.severity(severityOf(r.Problem))
		}},
		{title: "CONTEXT", shrinks: true, cell: func(r problemRow) string { return p.absent(absentIfEmpty(r.Context)) }},
		{title: "OBJECT", shrinks: true, cell: func(r problemRow) string { return Safe(r.object) }},
	}
}

// problemLines returns a row with its message, behind or below it, and the remedy.
func problemLines(problem preflight.Problem, row string, width int, o TableOptions) []string {
	message := Safe(problem.Message)
	var lines []string
	if o.Width == 0 || lineCount(row) == 1 && width+len(gap)+lipgloss.Width(message) <= o.Width {
		lines = append(lines, strings.TrimRight(pad(row, width)+gap+message, " "))
	} else {
		lines = append(append(lines, row), wrap(message, o.Width, gap)...)
	}
	if problem.Remedy != "" {
		lines = append(lines, remedy(problem.Remedy, o)...)
	}
	return lines
}

func severityOf(problem preflight.Problem) inspect.Severity {
	if problem.Blocking {
		return inspect.Error
	}
	return inspect.Warning
}

// problemGroup has the problems that the same Jobs share.
type problemGroup struct {
	jobs []string
	// kind is the kind of the first Job, "" for Job; mixed is set if there are other kinds.
	kind     string
	mixed    bool
	problems []sharedProblem
}

// objectOf returns the object of a problem.
func (g problemGroup) objectOf(problem preflight.Problem) string {
	kind := cmp.Or(g.kind, jobKind)
	switch {
	case problem.Object != (preflight.Object{}):
		return problem.Object.String()
	case len(g.jobs) == 1:
		return kind + " " + strings.TrimPrefix(g.jobs[0], strings.ToLower(g.kind)+" ")
	case g.mixed:
		return inspect.Count(len(g.jobs), "object")
	}
	return inspect.Count(len(g.jobs), kind)
}

func (g problemGroup) title(all bool) string {
	names := g.jobs
	more := ""
	if len(names) > maxNamedJobs && !all {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamedJobs)
		names = names[:maxNamedJobs]
	}
	return Safe(strings.Join(names, ", ")) + more
}

// problemGroups joins equal problems of several Jobs, then the problems that the same Jobs share,
// in the order of their first Jobs.
func problemGroups(jobs []JobProblems) []problemGroup {
	var distinct []sharedProblem
	jobsByProblem, kinds := map[sharedProblem][]string{}, map[string]string{}
	for _, j := range jobs {
		kinds[j.name()] = j.Kind
		for _, problem := range j.allProblems() {
			if _, ok := jobsByProblem[problem]; !ok {
				distinct = append(distinct, problem)
			}
			if !slices.Contains(jobsByProblem[problem], j.name()) {
				jobsByProblem[problem] = append(jobsByProblem[problem], j.name())
			}
		}
	}
	// Within a group, and among groups, blocking problems come first.
	slices.SortStableFunc(distinct, func(a, b sharedProblem) int {
		return rank(a) - rank(b)
	})
	var groups []problemGroup
	for _, problem := range distinct {
		i := slices.IndexFunc(groups, func(g problemGroup) bool { return slices.Equal(g.jobs, jobsByProblem[problem]) })
		if i < 0 {
			i = len(groups)
			g := problemGroup{jobs: jobsByProblem[problem], kind: kinds[jobsByProblem[problem][0]]}
			g.mixed = slices.ContainsFunc(g.jobs, func(name string) bool { return kinds[name] != g.kind })
			groups = append(groups, g)
		}
		groups[i].problems = append(groups[i].problems, problem)
	}
	return groups
}

func rank(problem sharedProblem) int {
	switch {
	case problem.isPassedOver:
		return 1
	case problem.Blocking:
		return 0
	}
	return 2
}

// allProblems returns the problems of a Job, those of passed-over clusters first.
func (j JobProblems) allProblems() []sharedProblem {
	var all []sharedProblem
	for _, problem := range j.PassedOver {
		all = append(all, sharedProblem{problem, true})
	}
	for _, problem := range j.Problems {
		all = append(all, sharedProblem{problem, false})
	}
	return all
}

// labelWidth is the width of the labels before details.
const labelWidth = 4

// detailIndent is the indent of the texts of details: an indent, a label and a gap.
const detailIndent = "  " + "    " + gap

// remedy returns the lines of a remedy, to stand below a row.
func remedy(text command.Prose, o TableOptions) []string {
	return labelled("fix:", advice(command.Prose(Safe(string(text))), detailIndent, o), o)
}

func labelled(label string, lines []string, o TableOptions) []string {
	lines[0] = "  " + palette{o.Color}.dim(pad(label, labelWidth)) + gap + strings.TrimPrefix(lines[0], detailIndent)
	return lines
}
