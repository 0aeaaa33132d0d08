package printers

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// indent is by how much kubectl's JSON is indented.
const indent = "    "

// writeOwners writes what kubectl's printer would as JSON, which has it in memory as a
// whole, and twice: a Job at a time.
func writeOwners(w io.Writer, list *inspect.OwnerList) error {
	const empty = `"jobs": []`
	frame := *list
	frame.Items = slices.Clone(list.Items)
	for i := range frame.Items {
		frame.Items[i].Jobs = []*inspect.Job{}
	}
	text, err := json.MarshalIndent(&frame, "", indent)
	if err != nil {
		return err
	}
	// In a string its quotes would be escaped.
	parts := strings.Split(string(text), empty)
	if len(parts) != len(list.Items)+1 {
		return errors.New("the list's JSON is not what it should be")
	}
	for i := range list.Items {
		if err := writeAll(w, parts[i]); err != nil {
			return err
		}
		if err := writeJobs(w, list.Items[i].Jobs, empty); err != nil {
			return err
		}
	}
	return writeLines(w, parts[len(list.Items)])
}

// writeJobs writes the Jobs of a group in place of none.
func writeJobs(w io.Writer, jobs []*inspect.Job, empty string) error {
	if len(jobs) == 0 {
		return writeAll(w, empty)
	}
	// A Job stands in a list in a group in a list in the document.
	before, within := `"jobs": [`, strings.Repeat(indent, 4)
	for _, j := range jobs {
		text, err := json.MarshalIndent(j, within, indent)
		if err != nil {
			return err
		}
		if err := writeAll(w, before+"\n"+within, string(text)); err != nil {
			return err
		}
		before = ","
	}
	return writeAll(w, "\n"+strings.Repeat(indent, 3)+"]")
}

func writeAll(w io.Writer, texts ...string) error {
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
