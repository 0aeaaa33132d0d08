package util

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// lookAgain is how often something is read anew with --watch. What it tells of
// stands in a dozen kinds of objects on every cluster; reading them again is less
// to a server than a watch for each.
const lookAgain = 2 * time.Second

// Tick is how often a screen is drawn anew without any change, so that ages move.
const Tick = time.Second

// restful is how many times as long as reading took is waited before it is done
// again, where that is longer.
const restful = 4

// Repeated is something that is read again and again, and shown when it has
// changed.
type Repeated[T any] struct {
	Environment
	// IsTable is whether it is shown as a table, which a terminal redraws.
	IsTable bool
	Read    func(context.Context) (T, error)
	// Write writes it for a screen, show to the output, with what is to be told
	// beside it.
	Write func(io.Writer, T) error
	Show  func(T) error
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

// Run reads and shows until ctx is over.
func (r *Repeated[T]) Run(ctx context.Context, f *fleet.Fleet) error {
	var screen *printers.Screen
	if _, isTerminal := r.Terminal(); isTerminal && r.IsTable {
		screen = printers.NewScreen(r.Out)
	}
	var shown []byte
	for {
		start := r.Clock.Now()
		value, err := r.Read(ctx)
		if stopped := Interrupted(ctx); stopped != nil {
			return stopped
		}
		if err != nil {
			return err
		}
		if shown, err = r.update(screen, value, shown); err != nil {
			return err
		}
		timer := r.Clock.NewTimer(max(lookAgain, restful*r.Clock.Since(start)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return Interrupted(ctx)
		case <-timer.C():
		}
		f.Again(ctx)
	}
}

// update shows a value if it differs from what is shown, or, on a screen, anyway:
// ages move.
func (r *Repeated[T]) update(screen *printers.Screen, value T, shown []byte) ([]byte, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("could not print: %w", err)
	}
	if screen != nil {
		var text bytes.Buffer
		if err := r.Write(&text, value); err != nil {
			return nil, err
		}
		size, _ := r.Terminal()
		return content, screen.Draw(text.String(), int(size.Width), int(size.Height))
	}
	if bytes.Equal(content, shown) {
		return shown, nil
	}
	if len(shown) > 0 && r.IsTable {
		if _, err := io.WriteString(r.Out, "\n"); err != nil {
			return nil, err
		}
	}
	err = r.Show(value)
	// While it is watched, neither what was found nor who does not answer ends it.
	var partial *PartialError
	var found *FindingsError
	if errors.As(err, &partial) || errors.As(err, &found) {
		err = nil
	}
	return content, err
}
