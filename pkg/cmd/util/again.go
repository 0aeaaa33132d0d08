package util

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// restful is the ratio of the pause to the time that reading and judging took, if that gives a
// longer pause: at most a fifth of a core is used.
const restful = 4

// Repeated is a value that is watched, and shown when it has changed.
type Repeated[T any] struct {
	Environment
	// IsTable is set if it is shown as a table, which a terminal redraws.
	IsTable bool
	Read    func(context.Context) (T, error)
	// Write writes it for a screen, Show to the output, with messages next to it.
	Write func(io.Writer, T) error
	Show  func(T) error
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
	for {
		start := r.Clock.Now()
		value, err := r.Read(ctx)
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
	}
}

// view is the display of a value that is watched.
type view[T any] struct {
	*Repeated[T]
	notes *UnwatchedNotes
	// screen is nil unless a terminal is drawn on.
	screen *printers.Screen
	// value is the last value read, and shown its text when it was last written.
	value T
	shown []byte
}

// wait waits until there is a reason to read again: a change, or the time after which objects
// that cannot be watched are read again. Meanwhile it draws the screen.
func (v *view[T]) wait(ctx context.Context, changed <-chan struct{}, took time.Duration) error {
	rest := restful * took
	next := v.Clock.NewTimer(max(lookAgain, rest))
	defer next.Stop()
	pause := v.Clock.NewTimer(max(Redraw, rest))
	defer pause.Stop()
	ticker := v.Clock.NewTicker(Tick)
	defer ticker.Stop()
	isRested, isChanged := false, false
	for !isRested || !isChanged {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-next.C():
			return nil
		case <-pause.C():
			isRested = true
		case <-changed:
			isChanged = true
		case <-ticker.C():
			if v.screen == nil {
				continue
			}
			if err := v.draw(); err != nil {
				return err
			}
		}
	}
	return nil
}

// update shows a value if it differs from the shown one.
func (v *view[T]) update(value T) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	v.value = value
	if v.screen != nil {
		return v.draw()
	}
	v.notes.Print()
	if bytes.Equal(content, v.shown) {
		return nil
	}
	if len(v.shown) > 0 && v.IsTable {
		if _, err := io.WriteString(v.Out, "\n"); err != nil {
			return err
		}
	}
	v.shown = content
	err = v.Show(value)
	// In a watch, neither findings nor unreachable contexts end it.
	var partial *PartialError
	var found *FindingsError
	var incomplete *IncompleteError
	if errors.As(err, &partial) || errors.As(err, &incomplete) || errors.As(err, &found) {
		err = nil
	}
	return err
}

// draw draws the screen.
func (v *view[T]) draw() error {
	var text bytes.Buffer
	if err := v.Write(&text, v.value); err != nil {
		return err
	}
	for _, note := range v.notes.All() {
		Report(&text, "%s", note)
	}
	size, _ := v.Terminal()
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
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
