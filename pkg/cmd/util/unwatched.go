package util

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// rejudgeInterval is how often --watch checks findings again without any change, because problems
// get older. It uses the known objects, and requests only objects without a watch.
const rejudgeInterval = 2 * time.Second

// unwatchedNotes reports which objects of a fleet are read repeatedly because they cannot be
// watched.
type unwatchedNotes struct {
	fleet   *fleet.Fleet
	out     io.Writer
	printed sets.Set[string]
	// others returns further notes, unless it is nil.
	others func() []string
}

// newUnwatchedNotes returns notes that are written to out.
func newUnwatchedNotes(f *fleet.Fleet, out io.Writer) *unwatchedNotes {
	return &unwatchedNotes{fleet: f, out: out, printed: sets.New[string]()}
}

// print writes the notes that were not written yet.
func (n *unwatchedNotes) print() {
	for _, note := range n.all() {
		if !n.printed.Has(note) {
			n.printed.Insert(note)
			Report(n.out, "%s", note)
		}
	}
}

// all returns the notes that apply now.
func (n *unwatchedNotes) all() []string {
	var notes []string
	for _, u := range n.fleet.WatchFailures() {
		notes = append(notes, fmt.Sprintf("note: context %q: %s cannot be watched, and are read again every %s: %v", u.Context, u.What, rejudgeInterval, u.Err))
	}
	if n.others != nil {
		notes = append(notes, n.others()...)
	}
	return notes
}
