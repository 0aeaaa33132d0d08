package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// Plans writes the mirrors that are to be created. For people they are YAML with the changes and
// their reasons in comments, which can also be piped to kubectl apply. As a document it is the
// mirror alone, or one List of several.
func Plans(w io.Writer, f *Format, plans []*plan.Plan, o TableOptions) error {
	mirrors := make([]unstructured.Unstructured, len(plans))
	for i, p := range plans {
		// Some formats change the object that they print.
		mirrors[i] = *p.Mirror.DeepCopy()
	}
	switch {
	case f.IsTable():
		return annotatedPlans(w, plans, o)
	case f.name == "name":
		return printNames(w, pointers(mirrors), func(m *unstructured.Unstructured) namedObject {
			return namedObject{namespace: m.GetNamespace(), kind: m.GroupVersionKind().GroupKind(), name: m.GetName()}
		})
	case f.IsPerJob():
		return printColumns(f, w, pointers(mirrors))
	case len(mirrors) == 1:
		return f.printObject(w, &mirrors[0])
	}
	return f.printObject(w, listOfObjects(mirrors))
}

// listOfObjects returns a List as kubectl prints it.
func listOfObjects(objects []unstructured.Unstructured) runtime.Object {
	items := make([]any, len(objects))
	for i := range objects {
		items[i] = objects[i].Object
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "List", "items": items}}
}

// annotatedPlans writes one document per plan, without colour, because programs read it too.
func annotatedPlans(w io.Writer, plans []*plan.Plan, o TableOptions) error {
	for i, p := range plans {
		var lines []string
		if i > 0 {
			lines = append(lines, "---")
		}
		if len(plans) > 1 {
			lines = append(lines, "# "+Safe(p.Mirror.GetKind()+" "+p.Mirror.GetNamespace()+"/"+p.Mirror.GetName()))
		}
		if err := writeLines(w, append(lines, planComments(p, o.Width)...)...); err != nil {
			return err
		}
		text, err := escape.YAML(p.Mirror.Object)
		if err != nil {
			return fmt.Errorf("cannot print the mirror of %s: %w", p.Mirror.GetName(), err)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// planComments returns the changes and the warnings of a plan as comments.
func planComments(p *plan.Plan, width int) []string {
	var lines []string
	add := func(text string) {
		for i, line := range wrap(Safe(text), width, "#   ") {
			if i == 0 {
				line = "# " + strings.TrimPrefix(line, "#   ")
			}
			lines = append(lines, line)
		}
	}
	for _, c := range p.Changes {
		add(changeText(c))
	}
	for _, warning := range p.Warnings {
		add("warning: " + warning)
	}
	return lines
}

// changeText describes one change in a line.
func changeText(c plan.Change) string {
	text := c.Field + " " + string(c.Action)
	switch {
	case c.Value == "":
	case c.Action == plan.Set:
		text += " to " + c.Value
	default:
		text += " (" + c.Value + ")"
	}
	if c.Reason == "" {
		return text
	}
	return text + ": " + c.Reason
}

// Replacement writes what a Job becomes when it is recreated: a unified diff of both as YAML,
// then the changes with their reasons, then the warnings. from and to name the two sides. Of the
// options, only Color and Width count. The diff is not wrapped, so that it stays a valid diff.
func Replacement(w io.Writer, r *recreate.Replacement, from, to string, o TableOptions) error {
	lines, err := diffLines(r.Old.Object, r.New.Object, from, to)
	if err != nil {
		return fmt.Errorf("cannot compare the old Job with the new one: %w", err)
	}
	p := palette{o.Color}
	for i, line := range lines {
		lines[i] = p.diffLine(SafeLines(line), i < 2)
	}
	for _, c := range r.Changes {
		lines = append(lines, indentRest(changeText(c), o.Width)...)
	}
	for _, warning := range r.Warnings {
		wrapped := indentRest("warning: "+warning, o.Width)
		wrapped[0] = p.colored(lipgloss.Yellow, "warning:") + strings.TrimPrefix(wrapped[0], "warning:")
		lines = append(lines, wrapped...)
	}
	return writeLines(w, lines...)
}

// diffLines returns a unified diff of two objects; its first two lines name the sides.
func diffLines(before, after any, from, to string) ([]string, error) {
	texts := make([][]string, 2)
	for i, object := range []any{before, after} {
		text, err := escape.YAML(object)
		if err != nil {
			return nil, err
		}
		texts[i] = slices.Collect(strings.Lines(string(text)))
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: texts[0], B: texts[1], FromFile: Safe(from), ToFile: Safe(to), Context: 3,
	})
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// diffLine colours a line as diff tools do. isHeader marks the lines that name the sides.
func (p palette) diffLine(line string, isHeader bool) string {
	switch {
	case isHeader:
		return p.bold(line)
	case strings.HasPrefix(line, "@@"):
		return p.colored(lipgloss.Cyan, line)
	case strings.HasPrefix(line, "-"):
		return p.colored(lipgloss.Red, line)
	case strings.HasPrefix(line, "+"):
		return p.colored(lipgloss.Green, line)
	}
	return line
}

// indentRest breaks a text into lines, all indented but the first.
func indentRest(text string, width int) []string {
	lines := wrap(Safe(text), width, "  ")
	lines[0] = strings.TrimPrefix(lines[0], "  ")
	return lines
}
