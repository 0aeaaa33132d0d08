package printers

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
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
		for i := range mirrors {
			gvk := mirrors[i].GroupVersionKind()
			if err := writeLines(w, Safe(strings.ToLower(gvk.GroupKind().String())+"/"+mirrors[i].GetName())); err != nil {
				return err
			}
		}
		return nil
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
