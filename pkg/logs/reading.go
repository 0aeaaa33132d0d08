package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// reading reads one container's log, over all connections and all runs of the container.
type reading struct {
	*Reader
	target    Target
	container Container
	cursor    *cursor
	// lineCount counts the lines that were read.
	lineCount int
	// request is how far back to begin. begun is the time of the first request.
	request corev1.PodLogOptions
	begun   time.Time
}

// newReading begins a reading. fromStart reads the whole log, whatever the options say: the
// container was created after the start.
func (r *Reader) newReading(t Target, pod, name string, fromStart bool) *reading {
	g := &reading{
		Reader: r, target: t, begun: r.Clock.Now(),
		container: Container{Context: t.Job.Context, Pod: pod, Name: name},
	}
	if !fromStart {
		g.request = r.request(0)
	}
	g.cursor = newCursor(isBounded(g.request))
	r.Sink.Expect(g.container)
	return g
}

// sinkError means that what was read could not be passed on.
type sinkError struct{ err error }

func (e *sinkError) Unwrap() error { return e.err }
func (e *sinkError) Error() string { return fmt.Sprintf("cannot print: %v", e.err) }

// open requests the log from the cursor on.
func (g *reading) open(ctx context.Context, follow, previous bool) (io.ReadCloser, error) {
	var o corev1.PodLogOptions
	if since := g.cursor.since(); since != nil {
		o.SinceTime = since
	} else if isBounded(g.request) {
		o = g.Reader.request(g.Clock.Since(g.begun))
	}
	o.Container, o.Follow, o.Previous, o.Timestamps = g.container.Name, follow, previous, true
	if o.TailLines != nil && *o.TailLines == 0 && follow {
		// Find the end of the log first, in case the connection breaks before the first new line.
		if err := g.skip(ctx, o); err != nil {
			return nil, err
		}
		return g.openAt(ctx, corev1.PodLogOptions{Container: o.Container, Follow: true, Timestamps: true, SinceTime: g.cursor.since()})
	}
	return g.openAt(ctx, o)
}

func (g *reading) openAt(ctx context.Context, o corev1.PodLogOptions) (io.ReadCloser, error) {
	return g.target.Client.CoreV1().Pods(g.target.Job.Namespace).GetLogs(g.container.Pod, &o).Stream(ctx)
}

// skip moves to the current end of the log.
func (g *reading) skip(ctx context.Context, o corev1.PodLogOptions) error {
	o.Follow, o.TailLines = false, new(int64(1))
	body, err := g.openAt(ctx, o)
	if err != nil {
		return err
	}
	passage := g.cursor.passage()
	return closing(body, eachPiece(body, true, func(p piece, _ bool) error {
		passage.take(p)
		return nil
	}))
}

// pass passes on the lines of a connection until it ends. Nil means that it ended normally. A
// last line without a newline is passed on only if isWhole says that it is complete, or if it is
// a long line, which the next connection continues.
func (g *reading) pass(body io.ReadCloser, isWhole bool) error {
	var ready []byte
	continues := false
	passage := g.cursor.passage()
	return closing(body, eachPiece(body, isWhole, func(p piece, more bool) error {
		if text, isContinued := passage.take(p); text != nil {
			g.lineCount++
			if g.Timestamps && p.begins && !isContinued {
				text = p.text
			}
			if len(ready) == 0 {
				continues = isContinued
			}
			ready = append(ready, text...)
		}
		if len(ready) == 0 || more && len(ready) < buffered {
			return nil
		}
		err := g.Sink.Write(g.container, ready, continues)
		ready = ready[:0]
		if err != nil {
			return &sinkError{err}
		}
		return nil
	}))
}

// eachPiece calls do for each piece. more is whether another complete line is already available.
func eachPiece(r io.Reader, isWhole bool, do func(p piece, more bool) error) error {
	lines := newLineReader(r)
	for {
		p, err := lines.next()
		atEnd := errors.Is(err, io.EOF)
		if isLong := !p.begins; len(p.text) > 0 && (err == nil || atEnd && (isWhole || isLong)) {
			p.ends = p.ends && (err == nil || isWhole)
			if err := do(p, err == nil && lines.hasNext()); err != nil {
				return err
			}
		}
		if atEnd {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// closing closes a body that was read to its end or to an error.
func closing(body io.Closer, err error) error {
	if closed := body.Close(); err == nil {
		return closed
	}
	return err
}

// restart prepares for the container's next run. isCertain is whether none of that run was read
// so far. Otherwise the reading continues at the cursor, and a clock that was set back in between
// may hide lines.
func (g *reading) restart(isCertain bool) {
	g.request = corev1.PodLogOptions{}
	if isCertain {
		g.cursor = newCursor(false)
	} else {
		g.cursor.acceptAll()
	}
}

// readOnce reads the existing log on one connection.
func (g *reading) readOnce(ctx context.Context, previous bool) error {
	body, err := g.open(ctx, false, previous)
	if err != nil {
		return err
	}
	return g.pass(body, true)
}

// failed returns an error about the container.
func (g *reading) failed(err error) error {
	return g.target.failed(fmt.Sprintf("read the log of container %s of Pod %s", g.container.Name, g.container.Pod), err)
}

func isSink(err error) bool {
	var broken *sinkError
	return errors.As(err, &broken)
}
