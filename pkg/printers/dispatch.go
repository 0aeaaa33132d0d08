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
	// Arrows and ampersands stay readable: this is no web page.
	encoder.SetEscapeHTML(false)
	return encoder.Encode(e)
}

// LiveOptions say how a Live looks.
type LiveOptions struct {
	Color bool
	// Terminal tells how wide the terminal is that is written to. ok is false where
	// it is none, or one that cannot move its cursor (TERM=dumb); whether it is one
	// is asked once, how wide it is each time. It may be nil.
	Terminal func() (width int, ok bool)
	Now      func() time.Time
	// Started is when the command began.
	Started time.Time
	// Jobs is how many Jobs are dispatched. Where they are several, each line has
	// the name of its Job.
	Jobs int
}

// Live tells people how dispatches go on: a line for each change, and on a terminal
// a footer below with the state of things, which is redrawn in place. It may be
// used by several goroutines.
type Live struct {
	w       io.Writer
	options LiveOptions
	colors  palette
	// live is whether there is a footer.
	live bool

	mu    sync.Mutex
	board liveBoard
	// footer is what is drawn of it, and drawn when that was.
	footer string
	drawn  time.Time
}

// NewLive makes one. Nothing is written before the first event or tick.
func NewLive(w io.Writer, o LiveOptions) *Live {
	l := &Live{w: w, options: o, colors: palette{o.Color}, board: newLiveBoard(o.Jobs)}
	if o.Terminal != nil {
		_, l.live = o.Terminal()
	}
	return l
}

const (
	// unknownWidth is how wide a terminal is taken for that does not tell.
	unknownWidth = 80
	// calm is how long the footer stays as it is while changes come in that have
	// no line: with hundreds of Jobs they come faster than anybody can read.
	calm = 100 * time.Millisecond
)

// width is that of the terminal, 0 where there is none.
func (l *Live) width() int {
	if !l.live {
		return 0
	}
	if width, _ := l.options.Terminal(); width > 0 {
		return width
	}
	return unknownWidth
}

// Event tells of an event.
func (l *Live) Event(e dispatch.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines(&e, l.board.take(&e), l.width())
	if len(lines) == 0 && l.options.Now().Sub(l.drawn) < calm {
		return nil
	}
	return l.draw(lines...)
}

// Tick redraws the footer, so that its times move.
func (l *Live) Tick() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draw()
}

// Close removes the footer for good, and leaves the cursor at the beginning of a
// line. Events that come later have their lines all the same.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	erase := ""
	if l.footer != "" {
		erase = eraseFooter
	}
	l.live, l.footer = false, ""
	return l.write(erase)
}

// Above makes a writer for whatever else goes to the same terminal, such as
// warnings of the API servers: it is written above the footer. Each write has to
// be of whole lines.
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

// The cursor rests at the beginning of the footer's first line. A terminal that
// becomes narrower may break the footer's lines anew, but the cursor stays where
// they begin, and all that is below can be cleared.
const eraseFooter = "\r" + clearDown

// draw writes lines where the footer was, and the footer below them. Everything
// goes out in one write, so that nothing flickers and nothing comes between.
func (l *Live) draw(lines ...string) error {
	text := strings.Join(append(lines, ""), "\n")
	if !l.live {
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
	l.footer, l.drawn = footer, l.options.Now()
	return nil
}

func (l *Live) write(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(l.w, text)
	return err
}
