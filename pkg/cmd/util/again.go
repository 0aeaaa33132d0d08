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

// lookAgain is how often it is judged anew with --watch although no watch has told of a
// change: what is in progress gets old. It is judged from what is known, and nobody is
// asked but for what cannot be watched.
const lookAgain = 2 * time.Second

// Redraw is how long changes are collected before they are shown: a screen is drawn anew no
// more than five times a second.
const Redraw = 200 * time.Millisecond

// Tick is how often a screen is drawn anew without any change, so that ages move.
const Tick = time.Second

// restful is how many times as long as reading and judging took is waited before it is done
// again, where that is longer: no more than a fifth of a core is used.
const restful = 4

// Repeated is something that is watched, and shown when it has changed.
type Repeated[T any] struct {
	Environment
	// IsTable is whether it is shown as a table, which a terminal redraws.
	IsTable bool
	Read    func(context.Context) (T, error)
	// Write writes it for a screen, show to the output, with what is to be told
	// beside it.
	Write func(io.Writer, T) error
	Show  func(T) error
	// Notes, unless it is nil, returns what to report beside a value.
	Notes func() []string
}

// Once reads and shows a single time.
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

// Run reads and shows until ctx is over, and returns its cause, or until Show fails. What was read is watched, so that reading it again
// asks the clusters for nothing else than what cannot be.
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

// view is what is shown of something that is watched.
type view[T any] struct {
	*Repeated[T]
	notes *UnwatchedNotes
	// screen is nil where no terminal is drawn on.
	screen *printers.Screen
	// value is what was read last, and shown as it was written last.
	value T
	shown []byte
}

// wait waits until there is a reason to read again: a change, or the time that has passed,
// by which also what is not watched is due. A screen is drawn meanwhile.
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

// update shows a value if it differs from what is shown.
func (v *view[T]) update(value T) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	v.value = value
	if v.screen != nil {
		return v.draw()
	}
	v.notes.Tell()
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
	// While it is watched, neither what was found nor who does not answer ends it.
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
		Tell(&text, "%s", note)
	}
	size, _ := v.Terminal()
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
}

// UnwatchedNotes tells of what of a fleet is read again and again, since it cannot be watched.
type UnwatchedNotes struct {
	fleet *fleet.Fleet
	out   io.Writer
	told  sets.Set[string]
	// others are further notes, unless it is nil.
	others func() []string
}

// NewUnwatchedNotes makes them for a place to tell them.
func NewUnwatchedNotes(f *fleet.Fleet, out io.Writer) *UnwatchedNotes {
	return &UnwatchedNotes{fleet: f, out: out, told: sets.New[string]()}
}

// Tell tells what was not told so far.
func (n *UnwatchedNotes) Tell() {
	for _, note := range n.All() {
		if !n.told.Has(note) {
			n.told.Insert(note)
			Tell(n.out, "%s", note)
		}
	}
}

// All are those that hold now.
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
