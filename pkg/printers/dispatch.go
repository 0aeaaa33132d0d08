package printers

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// EventLine writes an event as one line of JSON.
func EventLine(w io.Writer, e *dispatch.Event) error {
	encoder := json.NewEncoder(escape.JSONWriter(w))
	// Arrows and ampersands stay readable, because this is not a web page.
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
	// namesJobs is whether lines name their Job even if there is one.
	namesJobs bool
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

// NameJobs makes lines name their Job even if there is one. Call it before the first event.
func (l *Live) NameJobs() { l.namesJobs = true }

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

// wording is the short text of an event and its colour: red for a failure, yellow for a state
// that should not last, green for success; nil for the terminal's own colour.
type wording struct {
	words string
	color color.Color
}

func eventWording(t dispatch.EventType) wording {
	known := map[dispatch.EventType]wording{
		dispatch.Refused:          {"refused", lipgloss.Red},
		dispatch.Warned:           {"warning", lipgloss.Yellow},
		dispatch.PassedOver:       {"passed over", lipgloss.Yellow},
		dispatch.OriginCreated:    {"origin created", nil},
		dispatch.LeaseWaiting:     {"waiting", lipgloss.Yellow},
		dispatch.LeaseTaken:       {"Lease taken", nil},
		dispatch.LeaseLost:        {"Lease lost", lipgloss.Yellow},
		dispatch.DependencyCopied: {"copied", nil},
		dispatch.MirrorCreated:    {"mirror created", nil},
		dispatch.MirrorFound:      {"mirror found", nil},
		dispatch.SpecPushed:       {"mirror changed", nil},
		dispatch.StatusCopied:     {"status copied", nil},
		dispatch.StatusRefused:    {"status refused", lipgloss.Red},
		dispatch.Disconnected:     {"disconnected", lipgloss.Yellow},
		dispatch.Reconnected:      {"reconnected", nil},
		dispatch.MirrorDeleted:    {"mirror deleted", lipgloss.Yellow},
		dispatch.MirrorRemoved:    {"mirror removed", nil},
		dispatch.OriginDeleted:    {"origin deleted", lipgloss.Yellow},
		dispatch.Completed:        {"Complete", lipgloss.Green},
		dispatch.JobFailed:        {"Failed", lipgloss.Red},
		dispatch.Cancelled:        {"cancelled", lipgloss.Yellow},
		dispatch.Detached:         {"detached", nil},
		dispatch.Interrupted:      {"interrupted", lipgloss.Yellow},
		dispatch.TimedOut:         {"timed out", lipgloss.Yellow},
		dispatch.Aborted:          {"given up", lipgloss.Red},
	}
	if w, ok := known[t]; ok {
		return w
	}
	return wording{Safe(string(t)), nil}
}

const (
	// wordsWidth is the width of the longest of the common words.
	wordsWidth = len("mirror created")
	// minColumnWidth is the least width of a terminal on which the words have their own column.
	minColumnWidth = 60
	// longAgo is the age from which times are shown with their day, as in a trace.
	longAgo = 20 * time.Hour
)

// lines returns the lines for an event; none if they would repeat the last ones. j is the event's
// Job, nil for an event about a whole cluster.
func (l *Live) lines(e *dispatch.Event, j *liveJob, width int) []string {
	w := eventWording(e.Event)
	text := Safe(e.Message)
	switch {
	case j == nil:
	case e.Event == dispatch.StatusCopied:
		if !j.hasChanged(l.hasFooter) {
			return nil
		}
		w, text = wording{Safe(string(e.Status)), statusColors[e.Status]}, j.pods(true)
	case isEnd(e.Event) && j.lastMessage != "" && strings.HasSuffix(text, j.lastMessage):
		text = "for the reason above"
	default:
		j.lastMessage = text
		if e.Event == dispatch.Completed || e.Event == dispatch.JobFailed {
			text = strings.Trim(text+"; "+j.pods(false), "; ")
		}
	}
	if j != nil && (l.namesJobs || l.board.hasSeveralJobs()) {
		text = strings.TrimSuffix(j.name+": "+text, ": ")
	}
	stamp := l.stamp(e.Time.Time)
	return layoutLine(l.colors, stamp, w, text, width)
}

// stamp formats a time as a trace does.
func (l *Live) stamp(t time.Time) string {
	layout := time.TimeOnly
	if t.Sub(l.options.Started) > longAgo {
		layout = time.DateTime
	}
	return t.In(l.options.Now().Location()).Format(layout)
}

// layoutLine breaks a line at the width of the terminal and indents all lines but the first. A
// width of 0 is unlimited.
func layoutLine(p palette, stamp string, w wording, text string, width int) []string {
	styled := w.words
	if w.color != nil {
		styled = p.colored(w.color, w.words)
	}
	indent := strings.Repeat(" ", len(stamp)+len(gap))
	padded := pad(w.words, wordsWidth) + gap
	if 0 < width && width < minColumnWidth {
		lines := wrap(w.words+gap+text, width, indent)
		first, _ := strings.CutPrefix(lines[0], indent)
		if behind, ok := strings.CutPrefix(first, w.words); ok {
			first = styled + behind
		}
		lines[0] = p.dim(stamp) + gap + first
		return lines
	}
	if text == "" {
		return []string{p.dim(stamp) + gap + styled}
	}
	indent += strings.Repeat(" ", len(padded))
	lines := wrap(text, width, indent)
	lines[0] = p.dim(stamp) + gap + styled + strings.TrimPrefix(padded, w.words) + strings.TrimPrefix(lines[0], indent)
	return lines
}

// Outcomes writes a row for each dispatched Job, with the context that it was dispatched to, and
// how that ended.
func Outcomes(w io.Writer, outcomes []dispatch.Outcome, o TableOptions) error {
	t := newTable(outcomeColumns(palette{o.Color}), outcomes, o)
	rows, err := t.layout(o.Width)
	if err != nil {
		return err
	}
	return writeLines(w, append(rows, t.leftOut(o)...)...)
}

func outcomeColumns(p palette) []column[dispatch.Outcome] {
	return []column[dispatch.Outcome]{
		{title: "NAME", alwaysShown: true, shrinks: true, cell: func(o dispatch.Outcome) string { return Safe(kindAndName(o.Origin.Kind, o.Origin.String())) }},
		{title: "CONTEXT", shrinks: true, cell: func(o dispatch.Outcome) string {
			if o.Mirror == nil {
				return p.absent(none)
			}
			return p.absent(absentIfEmpty(o.Mirror.Context))
		}},
		{title: "END", cell: func(o dispatch.Outcome) string {
			end := eventWording(o.End)
			if end.color == nil {
				return end.words
			}
			return p.colored(end.color, end.words)
		}},
	}
}
