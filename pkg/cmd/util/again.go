package util

import (
	"context"
	"io"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

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
	changed := f.Watch(ctx)
	v := &view[T]{Repeated: r, notes: newUnwatchedNotes(f, r.ErrOut)}
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
		f.BeginRound(ctx)
		read = r.Read
	}
}
