package printers

import (
	"fmt"
	"io"
	"strings"

	"github.com/liggitt/tabwriter"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Stream writes Jobs as rows of a table without end, as kubectl get --watch does: columns keep
// their first widths. Rows are never coloured, because the tab writer counts the bytes of an
// escape sequence.
type Stream struct {
	w       *tabwriter.Writer
	options TableOptions
	events  bool
	started bool
}

// NewStream returns a Stream that writes to w. If events is set, each row starts with the type of
// the change.
func NewStream(w io.Writer, o TableOptions, events bool) *Stream {
	o.Owners, o.Color = true, false
	return &Stream{w: printers.GetNewTabWriter(w), options: o, events: events}
}

// Write adds a row at the end, with ages as of o.Now. Of o, only Now is used.
func (s *Stream) Write(event inspect.ChangeType, j *inspect.Job, o TableOptions) error {
	s.options.Now = o.Now
	columns := visibleColumns(jobColumns(s.options), s.options)
	var cells []string
	if !s.started && !s.options.NoHeaders {
		if s.events {
			cells = append(cells, "EVENT")
		}
		for _, c := range columns {
			cells = append(cells, c.title)
		}
		if _, err := fmt.Fprintln(s.w, strings.Join(cells, "\t")); err != nil {
			return err
		}
		cells = nil
	}
	s.started = true
	if s.events {
		// All events have the width of the longest, so that rows do not shift.
		cells = append(cells, fmt.Sprintf("%-*s", len(inspect.Modified), event))
	}
	for _, c := range columns {
		cells = append(cells, c.cell(j))
	}
	_, err := fmt.Fprintln(s.w, strings.Join(cells, "\t"))
	return err
}

// Flush lays out and writes the rows added since the last flush, aligned with each other.
func (s *Stream) Flush() error { return s.w.Flush() }
