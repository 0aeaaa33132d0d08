package printers

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// indent is the indentation of kubectl's JSON.
const indent = "    "

// writeOwners writes the same JSON as kubectl's printer, but one Job at a time: kubectl's printer
// keeps the whole document in memory, twice.
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
	// Inside a string the quotes would be escaped, so only real fields match.
	parts := strings.Split(string(text), empty)
	if len(parts) != len(list.Items)+1 {
		return fmt.Errorf("cannot split the JSON of the list: found %d lists of Jobs, expected %d", len(parts)-1, len(list.Items))
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

// writeJobs writes the Jobs of a group instead of the empty list.
func writeJobs(w io.Writer, jobs []*inspect.Job, empty string) error {
	if len(jobs) == 0 {
		return writeAll(w, empty)
	}
	// The document has a list of groups, each of which has a list of Jobs.
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
