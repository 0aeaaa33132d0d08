package printers

import (
	"image/color"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

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
	if j != nil && l.board.hasSeveralJobs() {
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
