package printers

import (
	"image/color"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// wording is how an event is told in as few words as there can be. Red is faulty,
// yellow is not as it should stay, green is success; nil is the terminal's own
// colour.
type wording struct {
	words string
	color color.Color
}

func wordingOf(t dispatch.EventType) wording {
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
	// wordsWidth is that of the longest of them.
	wordsWidth = len("mirror created")
	// roomy is how wide a terminal has to be for the words to have a column of
	// their own.
	roomy = 60
	// longAgo is when times are told with their day, as a trace does.
	longAgo = 20 * time.Hour
)

// lines are what is to be told of an event; none if that has just been told. j is
// its Job, nil where a whole cluster is meant.
func (l *Live) lines(e *dispatch.Event, j *liveJob, width int) []string {
	w := wordingOf(e.Event)
	text := Safe(e.Message)
	switch {
	case j == nil:
	case e.Event == dispatch.StatusCopied:
		if !j.news(l.live) {
			return nil
		}
		w, text = wording{Safe(string(e.Status)), statusColors[e.Status]}, j.pods(true)
	case isEnd(e.Event) && j.told != "" && strings.HasSuffix(text, j.told):
		text = "for the reason above"
	default:
		j.told = text
		if e.Event == dispatch.Completed || e.Event == dispatch.JobFailed {
			text = strings.Trim(text+"; "+j.pods(false), "; ")
		}
	}
	if j != nil && l.board.several() {
		text = strings.TrimSuffix(j.name+": "+text, ": ")
	}
	stamp := l.stamp(e.Time.Time)
	return layoutLine(l.colors, stamp, w, text, width)
}

// stamp is a time as a trace tells it.
func (l *Live) stamp(t time.Time) string {
	layout := time.TimeOnly
	if t.Sub(l.options.Started) > longAgo {
		layout = time.DateTime
	}
	return t.In(l.options.Now().Location()).Format(layout)
}

// layoutLine breaks a line where the terminal ends, with all that follows the first
// part indented. A width of 0 is without bound.
func layoutLine(p palette, stamp string, w wording, text string, width int) []string {
	styled := w.words
	if w.color != nil {
		styled = p.colored(w.color, w.words)
	}
	indent := strings.Repeat(" ", len(stamp)+len(gap))
	padded := pad(w.words, wordsWidth) + gap
	if 0 < width && width < roomy {
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
