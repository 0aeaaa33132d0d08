package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// The size of the bars of a Job's life and of a letter, in pixels, and how many letters a name
// beside them has at most.
const (
	lifeLeft, lifeRow, lifeBar = 180, 30, 20
	letter                     = 6.6
	nameLetters                = 24
)

// fillOf is a state of a Job in a picture: a colour, and a pattern above it that reads without
// colour.
func fillOf(s inspect.LifeState) (color, pattern string) {
	switch s {
	case inspect.LifeEarlier:
		return "#f6f8fa", "M2 0V8"
	case inspect.LifeWaiting:
		return "#ffffff", ""
	case inspect.LifeEvicted:
		return "#ffd8b5", "M0 0L8 8M8 0L0 8"
	case inspect.LifeOffered:
		return "#fff8c5", "M0 8L8 0"
	case inspect.LifeAdmitted:
		return "#ddf4ff", "M4 3v2"
	case inspect.LifeRunning:
		return "#2da44e", ""
	case inspect.LifeLost:
		return "#ffebe9", "M0 4H8"
	}
	return "#ffffff", ""
}

// TraceSVG draws the life of Jobs: one bar per cluster over time, with a part for each state. It
// refers to nothing else, and reads without colour.
func TraceSVG(w io.Writer, list []inspect.Trace, o TableOptions) error {
	var body strings.Builder
	y := 0
	for i := range list {
		y = lifeOf(&body, &list[i], y, o)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", svgWidth, y, svgWidth, y)
	b.WriteString("<defs>\n")
	for _, state := range inspect.LifeStates() {
		color, pattern := fillOf(state)
		fmt.Fprintf(&b, `<pattern id="%s" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="%s"/><path d="%s" stroke="#57606a"/></pattern>`+"\n", state, color, pattern)
	}
	b.WriteString("</defs>\n" + `<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return writeAll(w, b.String())
}

// lifeOf draws one Job below what there is so far, and returns where it ends.
func lifeOf(b *strings.Builder, t *inspect.Trace, y int, o TableOptions) int {
	y += 22
	title := Safe(nameOf(t)) + ": " + phraseOf(t, o)
	fmt.Fprintf(b, "<g><title>%s</title>\n", xmlText(title))
	fmt.Fprintf(b, `<text x="10" y="%d" font-weight="bold">%s</text>`+"\n", y, xmlText(title))
	if t.Message != "" {
		for _, line := range wrap(Safe(t.Message), 115, "") {
			y += 16
			svgLabel(b, 10, y, "start", line)
		}
	}
	for _, line := range uncheckedLines(t.Unchecked, TableOptions{Width: 115}) {
		y += 16
		svgLabel(b, 10, y, "start", line)
	}
	y += 12
	if len(t.Life) == 0 {
		y += 16
		svgLabel(b, 10, y, "start", "No state that lasted a second is dated.")
		b.WriteString("</g>\n")
		return y + 14
	}
	s := lifeScale(t.Life)
	for _, cluster := range clustersOf(t) {
		name := cluster
		if t.Origin != nil && cluster == t.Origin.Context {
			name += " (origin)"
		}
		svgLabel(b, lifeLeft-8, y+lifeBar-5, "end", shortened(name, nameLetters))
		for _, part := range t.Life {
			if part.Cluster == cluster {
				s.draw(b, part, y)
			}
		}
		y += lifeRow
	}
	y = s.axis(b, y)
	y = lifeLegend(b, t.Life, y)
	b.WriteString("</g>\n")
	return y
}

// clustersOf are the clusters of a Job's life, that of the origin first.
func clustersOf(t *inspect.Trace) []string {
	var clusters []string
	if t.Origin != nil {
		clusters = append(clusters, t.Origin.Context)
	}
	for _, part := range t.Life {
		if !slices.Contains(clusters, part.Cluster) {
			clusters = append(clusters, part.Cluster)
		}
	}
	return clusters
}

// timeScale places times on the bars.
type timeScale struct{ from, to time.Time }

func lifeScale(all []inspect.Interval) timeScale {
	s := timeScale{all[0].From, all[0].To}
	for _, part := range all {
		if part.From.Before(s.from) {
			s.from = part.From
		}
		if part.To.After(s.to) {
			s.to = part.To
		}
	}
	if !s.to.After(s.from) {
		s.to = s.from.Add(time.Second)
	}
	return s
}

func (s timeScale) at(t time.Time) float64 {
	return lifeLeft + float64(t.Sub(s.from))/float64(s.to.Sub(s.from))*(svgWidth-svgRight-lifeLeft)
}

// draw draws a state as a part of a bar, with its name where there is room. A state that
// continues has an open end.
func (s timeScale) draw(b *strings.Builder, part inspect.Interval, y int) {
	x, end := s.at(part.From), s.at(part.To)
	lasts := duration.HumanDuration(part.To.Sub(part.From))
	tip := fmt.Sprintf("%s: %s from %s for %s", part.Cluster, part.State, part.From.UTC().Format(time.RFC3339), lasts)
	if part.IsOpen {
		tip += " so far"
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="url(#%s)"/>`, xmlText(tip), x, y, max(end-x, 1), lifeBar, part.State)
	outline := fmt.Sprintf("M%.1f %dH%.1fV%dH%.1f", end, y, x, y+lifeBar, end)
	if !part.IsOpen {
		outline += "Z"
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#24292f"/>`, outline)
	if text := string(part.State) + " " + lasts; float64(len(text))*letter < end-x-6 {
		// The letters stand on white, so that they can be read on each pattern.
		fmt.Fprintf(b, `<text x="%.1f" y="%d" stroke="#fff" stroke-width="4" paint-order="stroke">%s</text>`, x+5, y+lifeBar-6, xmlText(text))
	}
	b.WriteString("</g>\n")
}

// axis draws the line of time below the bars, and returns where it ends.
func (s timeScale) axis(b *strings.Builder, y int) int {
	const right = svgWidth - svgRight
	fmt.Fprintf(b, `<path d="M%d %dH%d" stroke="#24292f"/>`+"\n", lifeLeft, y, right)
	svgLabel(b, lifeLeft, y+16, "start", s.from.UTC().Format(time.RFC3339))
	svgLabel(b, (lifeLeft+right)/2, y+16, "middle", duration.HumanDuration(s.to.Sub(s.from)))
	svgLabel(b, right, y+16, "end", s.to.UTC().Format(time.RFC3339))
	return y + 26
}

// lifeLegend says what the states in a picture are, and returns where it ends.
func lifeLegend(b *strings.Builder, all []inspect.Interval, y int) int {
	x := 10
	y += 14
	for _, state := range inspect.LifeStates() {
		if !slices.ContainsFunc(all, func(s inspect.Interval) bool { return s.State == state }) {
			continue
		}
		text := string(state) + ": " + meaning(state)
		width := 20 + int(float64(len(text))*letter) + 14
		if x > 10 && x+width > svgWidth {
			x, y = 10, y+20
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="14" height="14" fill="url(#%s)" stroke="#24292f"/>`, x, y-11, state)
		svgLabel(b, x+20, y, "start", text)
		x += width
	}
	return y + 14
}

// meaning explains a state in a few words.
func meaning(s inspect.LifeState) string {
	switch s {
	case inspect.LifeEarlier:
		return "earlier runs, not dated"
	case inspect.LifeWaiting:
		return "not started"
	case inspect.LifeEvicted:
		return "lost its quota"
	case inspect.LifeOffered:
		return "quota, not admitted"
	case inspect.LifeAdmitted:
		return "no Pods here"
	case inspect.LifeRunning:
		return "has Pods"
	case inspect.LifeLost:
		return "not reached by its manager"
	}
	return string(s)
}

// shortened is a name with an ellipsis in the middle where it is too long.
func shortened(name string, width int) string {
	letters := []rune(Safe(name))
	if len(letters) <= width {
		return string(letters)
	}
	half := (width - 1) / 2
	return string(letters[:half]) + "…" + string(letters[len(letters)-half:])
}
