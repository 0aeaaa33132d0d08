package util

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Redraw is how long changes are collected before they are shown: a screen is redrawn at most
// five times a second.
const Redraw = 200 * time.Millisecond

// Tick is how often a screen is redrawn without any change, so that ages advance.
const Tick = time.Second

// pauseAfter returns the pause after work, such as reading and drawing. It is nine times as long,
// so that the work takes a tenth of a core. A loaded machine makes work take longer without using
// a core. So a pause above two seconds is only four times as long.
func pauseAfter(took time.Duration) time.Duration {
	return min(9*took, max(2*time.Second, 4*took))
}

// view is the display of a value that is watched.
type view[T any] struct {
	*Display[T]
	notes *unwatchedNotes
	// screen is nil without a terminal. Before nextDraw, it is drawn only if the value changes.
	screen   *printers.Screen
	nextDraw time.Time
	// value is the last value that was read, and shown is the JSON of the last value that was shown.
	value T
	shown []byte
}

// readFirst is Read, except that it shows early parts of the value.
func (v *view[T]) readFirst(ctx context.Context) (value T, err error) {
	if v.Early == nil {
		return v.Read(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = v.Read(ctx)
	}()
	var took time.Duration
	for {
		pause := v.Clock.NewTimer(max(Redraw, pauseAfter(took)))
		select {
		case <-done:
			pause.Stop()
			return value, err
		case <-pause.C():
		}
		start := v.Clock.Now()
		if failed := v.showEarly(); failed != nil {
			cancel()
			<-done
			return value, failed
		}
		took = v.Clock.Since(start)
	}
}

// showEarly shows the part of the value that was read so far.
func (v *view[T]) showEarly() error {
	value, ok := v.Early()
	switch {
	case !ok:
		return nil
	case v.screen == nil:
		return v.Changes(value, true)
	}
	v.value = value
	return v.draw()
}

// wait waits until there is a reason to read again: a change, or rejudgeInterval for objects
// without a watch. Meanwhile it draws the screen.
func (v *view[T]) wait(ctx context.Context, changed <-chan struct{}, took time.Duration) error {
	length := pauseAfter(took)
	next := v.Clock.NewTimer(max(rejudgeInterval, length))
	defer next.Stop()
	pause := v.Clock.NewTimer(max(Redraw, length))
	defer pause.Stop()
	ticker := v.Clock.NewTicker(Tick)
	defer ticker.Stop()
	isPauseOver, isChanged := false, false
	for !isPauseOver || !isChanged {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-next.C():
			return nil
		case <-pause.C():
			isPauseOver = true
		case <-changed:
			isChanged = true
		case <-ticker.C():
			if v.screen == nil || v.Clock.Now().Before(v.nextDraw) {
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
	v.value = value
	if v.screen != nil {
		return v.draw()
	}
	v.notes.print()
	if v.Changes != nil {
		return v.Changes(value, false)
	}
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	if bytes.Equal(content, v.shown) {
		return nil
	}
	if len(v.shown) > 0 && v.IsTable {
		if _, err := fmt.Fprintf(v.Out, "\nAt %s:\n", v.Clock.Now().Format(time.TimeOnly)); err != nil {
			return err
		}
	}
	v.shown = content
	err = v.Show(value)
	// Neither findings nor unreachable contexts end a watch.
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
	start := v.Clock.Now()
	defer func() {
		now := v.Clock.Now()
		v.nextDraw = now.Add(pauseAfter(now.Sub(start)))
	}()
	var text bytes.Buffer
	if err := v.Write(&text, v.value); err != nil {
		return err
	}
	for _, note := range v.notes.all() {
		Report(&text, "%s", note)
	}
	size, _ := v.Terminal()
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
}
