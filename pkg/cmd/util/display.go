package util

import (
	"context"
	"io"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Display reads a value and shows it, once or whenever it changes.
type Display[T any] struct {
	Environment
	// IsTable is set if the value is shown as a table, which a terminal redraws.
	IsTable bool
	Read    func(context.Context) (T, error)
	// Write writes a value to a screen. Show writes it to the output, and messages next to it.
	Write func(io.Writer, T) error
	Show  func(T) error
	// Changes, unless it is nil, is called instead of Show for each value. It shows the
	// differences from the last value.
	Changes func(value T, isEarly bool) error
	// Early, unless it is nil, returns the part of the first value that was read so far, because
	// Read may wait for a slow context. ok is false without such a value. A screen or Changes shows it.
	Early func() (value T, ok bool)
	// Notes, unless it is nil, returns notes to show next to a value.
	Notes func() []string
}

// Once reads and shows once.
func (r *Display[T]) Once(ctx context.Context) error {
	value, err := r.Read(ctx)
	if stopped := Interrupted(ctx); stopped != nil {
		return stopped
	}
	if err != nil {
		return err
	}
	return r.Show(value)
}

// Run reads and shows until ctx ends, and returns its cause, or until Show fails. It watches the
// objects that were read, so that later reads send requests only for objects without a watch.
func (r *Display[T]) Run(ctx context.Context, f *fleet.Fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := f.Watch(ctx)
	v := &view[T]{Display: r, notes: newUnwatchedNotes(f, r.ErrOut)}
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
