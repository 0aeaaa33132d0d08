package printers

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// EventLine writes an event as one line of JSON.
func EventLine(w io.Writer, e *dispatch.Event) error {
	encoder := json.NewEncoder(escape.JSONWriter(w))
	// Arrows and ampersands stay readable, because this is no web page.
	encoder.SetEscapeHTML(false)
	return encoder.Encode(e)
}

// LiveOptions are the options of a Live.
type LiveOptions struct {
	Color bool
	// Terminal returns the width of the terminal that is written to. ok is false if there is no
	// terminal, or if it cannot move its cursor (TERM=dumb). ok is read once, the width at each
	// draw. Terminal may be nil.
	Terminal func() (width int, ok bool)
	Now      func() time.Time
	// Started is when the command began.
	Started time.Time
	// Jobs is the number of dispatched Jobs. If there are several, each line has the name of its
	// Job.
	Jobs int
}

// Live shows the progress of dispatches: a line for each change, and, on a terminal, a footer
// with the current state that is redrawn in place. It is safe for concurrent use.
type Live struct {
	w       io.Writer
	options LiveOptions
	colors  palette
	// hasFooter is set if there is a footer.
	hasFooter bool

	mu    sync.Mutex
	board liveBoard
	// footer is the footer as drawn, and drawnAt the time at which it was drawn.
	footer  string
	drawnAt time.Time
}

// NewLive returns a Live. It writes nothing before the first event or tick.
func NewLive(w io.Writer, o LiveOptions) *Live {
	l := &Live{w: w, options: o, colors: palette{o.Color}, board: newLiveBoard(o.Jobs)}
	if o.Terminal != nil {
		_, l.hasFooter = o.Terminal()
	}
	return l
}

const (
	// unknownWidth is the width assumed for a terminal that does not report its width.
	unknownWidth = 80
	// minRedrawInterval is how long the footer stays unchanged while changes without a line come
	// in: with hundreds of Jobs they come faster than anybody can read.
	minRedrawInterval = 100 * time.Millisecond
)

// width returns the width of the terminal, 0 if there is none.
func (l *Live) width() int {
	if !l.hasFooter {
		return 0
	}
	if width, _ := l.options.Terminal(); width > 0 {
		return width
	}
	return unknownWidth
}

// Event shows an event.
func (l *Live) Event(e dispatch.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines(&e, l.board.apply(&e), l.width())
	if len(lines) == 0 && l.options.Now().Sub(l.drawnAt) < minRedrawInterval {
		return nil
	}
	return l.draw(lines...)
}

// Tick redraws the footer, so that its times advance.
func (l *Live) Tick() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draw()
}

// Close removes the footer and leaves the cursor at the beginning of a line. Later events still
// have their lines.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	erase := ""
	if l.footer != "" {
		erase = eraseFooter
	}
	l.hasFooter, l.footer = false, ""
	return l.write(erase)
}

// Above returns a writer for other output to the same terminal, such as warnings of the API
// servers. What is written to it appears above the footer. Each write must consist of whole lines.
func (l *Live) Above(w io.Writer) io.Writer { return &aboveFooter{l, w} }

type aboveFooter struct {
	live *Live
	w    io.Writer
}

func (a *aboveFooter) Write(p []byte) (int, error) {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	if a.live.footer == "" {
		return a.w.Write(p)
	}
	if err := a.live.write(eraseFooter); err != nil {
		return 0, err
	}
	a.live.footer = ""
	n, err := a.w.Write(p)
	if err != nil {
		return n, err
	}
	return n, a.live.draw()
}

// eraseFooter clears the footer. The cursor rests at the beginning of the footer's first line. A
// terminal that becomes narrower may wrap the footer's lines again, but the cursor stays at their
// beginning, and all below can be cleared.
const eraseFooter = "\r" + clearDown

// draw writes lines instead of the footer, and the footer below them, in one write, so that
// nothing flickers and no other output comes between.
func (l *Live) draw(lines ...string) error {
	text := strings.Join(append(lines, ""), "\n")
	if !l.hasFooter {
		return l.write(text)
	}
	footer := ""
	if rows := l.board.footer(l.colors, l.options.Now().Sub(l.options.Started), l.width()); len(rows) > 0 {
		footer = strings.Join(rows, "\n") + "\r"
		if up := len(rows) - 1; up > 0 {
			footer += fmt.Sprintf("\x1b[%dA", up)
		}
	}
	if text == "" && footer == l.footer {
		return nil
	}
	erase := ""
	if l.footer != "" {
		erase = eraseFooter
	}
	if err := l.write(erase + text + footer); err != nil {
		return err
	}
	l.footer, l.drawnAt = footer, l.options.Now()
	return nil
}

func (l *Live) write(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(l.w, text)
	return err
}
