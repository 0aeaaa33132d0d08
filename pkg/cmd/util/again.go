package util

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// lookAgain is how often --watch judges again although no watch has reported a change, because
// states in progress get older. It judges from known objects, and asks clusters only for what
// cannot be watched.
const lookAgain = 2 * time.Second

// Redraw is how long changes are collected before they are shown: a screen is redrawn at most
// five times a second.
const Redraw = 200 * time.Millisecond

// Tick is how often a screen is redrawn without any change, so that ages advance.
const Tick = time.Second

// Repeated is a value that is watched, and shown when it has changed.
type Repeated[T any] struct {
	Environment
	// IsTable is set if it is shown as a table, which a terminal redraws.
	IsTable bool
	Read    func(context.Context) (T, error)
	// Write writes it for a screen, Show to the output, with messages next to it.
	Write func(io.Writer, T) error
	Show  func(T) error
	// Changes, unless it is nil, is called instead of Show for each value. It shows what differs
	// from the value before.
	Changes func(value T, isEarly bool) error
	// Early, unless it is nil, returns what the first Read has read so far, because that may wait
	// for a slow context; not ok is nothing. A screen shows it, otherwise Changes.
	Early func() (value T, ok bool)
	// Notes, unless it is nil, returns notes to show next to a value.
	Notes func() []string
}

// Once reads and shows once.
func (r *Repeated[T]) Once(ctx context.Context) error {
	value, err := r.Read(ctx)
	if stopped := Interrupted(ctx); stopped != nil {
		return stopped
	}
	if err != nil {
		return err
	}
	return r.Show(value)
}

// Run reads and shows until ctx ends, and returns its cause, or until Show fails. It watches what
// it has read, so that reading again asks the clusters only for what cannot be watched.
func (r *Repeated[T]) Run(ctx context.Context, f *fleet.Fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := f.Remember(ctx)
	v := &view[T]{Repeated: r, notes: NewUnwatchedNotes(f, r.ErrOut)}
	v.notes.others = r.Notes
	if _, isTerminal := r.Terminal(); isTerminal && r.IsTable {
		v.screen = printers.NewScreen(r.Out)
	}
	read := v.readFirst
	for {
		start := r.Clock.Now()
		value, err := read(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if err := v.update(value); err != nil {
			return err
		}
		if err := v.wait(ctx, changed, r.Clock.Since(start)); err != nil {
			return err
		}
		f.Again(ctx)
		read = r.Read
	}
}

// UnwatchedNotes reports which objects of a fleet are read repeatedly because they cannot be
// watched.
type UnwatchedNotes struct {
	fleet   *fleet.Fleet
	out     io.Writer
	printed sets.Set[string]
	// others returns further notes, unless it is nil.
	others func() []string
}

// NewUnwatchedNotes returns an UnwatchedNotes that writes to out.
func NewUnwatchedNotes(f *fleet.Fleet, out io.Writer) *UnwatchedNotes {
	return &UnwatchedNotes{fleet: f, out: out, printed: sets.New[string]()}
}

// Print writes the notes that were not written yet.
func (n *UnwatchedNotes) Print() {
	for _, note := range n.All() {
		if !n.printed.Has(note) {
			n.printed.Insert(note)
			Report(n.out, "%s", note)
		}
	}
}

// All returns the notes that apply now.
func (n *UnwatchedNotes) All() []string {
	var notes []string
	for _, u := range n.fleet.Unwatched() {
		notes = append(notes, fmt.Sprintf("note: context %q: %s cannot be watched, and are read again every %s: %v", u.Context, u.What, lookAgain, u.Err))
	}
	if n.others != nil {
		notes = append(notes, n.others()...)
	}
	return notes
}
