package printers

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// The size of the bars of a Job's life and of a letter, in pixels, and the maximum number of
// letters of a name next to them.
const (
	lifeLeft, lifeRow, lifeBar = 180, 30, 20
	letter                     = 6.6
	nameLetters                = 24
)

// stateStyle is the appearance of a Job's state: a colour, a pattern on it that is readable without
// colour, and its meaning in a few words.
type stateStyle struct{ color, pattern, meaning string }

// stateStyles returns the styles of all states.
func stateStyles() map[inspect.LifeState]stateStyle {
	return map[inspect.LifeState]stateStyle{
		inspect.LifeEarlier:  {"#f6f8fa", "M2 0V8", "earlier runs, not dated"},
		inspect.LifeWaiting:  {"#ffffff", "", "not started"},
		inspect.LifeEvicted:  {"#ffd8b5", "M0 0L8 8M8 0L0 8", "lost its quota"},
		inspect.LifeOffered:  {"#fff8c5", "M0 8L8 0", "quota, not admitted"},
		inspect.LifeAdmitted: {"#ddf4ff", "M4 3v2", "no Pods here"},
		inspect.LifeRunning:  {"#2da44e", "", "has Pods"},
		inspect.LifeLost:     {"#ffebe9", "M0 4H8", "not reached by its manager"},
	}
}

// TraceSVG draws the life of Jobs: one bar per cluster over time, with a part for each state. It
// refers to no other file, and is readable without colour.
func TraceSVG(w io.Writer, list []inspect.Trace, o TableOptions) error {
	body := &lifePicture{prefix: prefixOf(list), options: o}
	for i := range list {
		body.draw(&list[i])
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", svgWidth, body.y, svgWidth, body.y)
	b.WriteString("<defs>\n")
	for _, state := range inspect.LifeStates() {
		l := stateStyles()[state]
		fmt.Fprintf(&b, `<pattern id="%s" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="%s"/><path d="%s" stroke="#57606a"/></pattern>`+"\n",
			body.id(state), l.color, l.pattern)
	}
	b.WriteString("</defs>\n" + `<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return writeAll(w, b.String())
}

// prefixOf returns the beginning of the ids of a picture, so that several pictures on one page
// share no ids.
func prefixOf(list []inspect.Trace) string {
	hash := fnv.New32a()
	for i := range list {
		// A hash never fails.
		_, _ = fmt.Fprintln(hash, nameOf(&list[i]), list[i].Message, list[i].Life)
	}
	return fmt.Sprintf("life-%08x-", hash.Sum32())
}

// lifePicture is a picture that is drawn from top to bottom.
type lifePicture struct {
	strings.Builder
	prefix  string
	options TableOptions
	// y is the lower end of the drawn part.
	y int
}

// id returns the id of the pattern of a state.
func (p *lifePicture) id(state inspect.LifeState) string { return p.prefix + string(state) }

// label writes a line of text below the drawn part.
func (p *lifePicture) label(text string) {
	p.y += 16
	svgLabel(&p.Builder, 10, p.y, "start", text)
}

// draw draws one Job below the drawn part.
func (p *lifePicture) draw(t *inspect.Trace) {
	p.y += 22
	title := Safe(nameOf(t)) + ": " + phraseOf(t, p.options)
	fmt.Fprintf(p, "<g><title>%s</title>\n", xmlText(title))
	fmt.Fprintf(p, `<text x="10" y="%d" font-weight="bold">%s</text>`+"\n", p.y, xmlText(title))
	if t.Message != "" {
		for _, line := range wrap(Safe(t.Message), 115, "") {
			p.label(line)
		}
	}
	for _, line := range uncheckedLines(t.Unchecked, TableOptions{Width: 115}) {
		p.label(line)
	}
	p.y += 12
	if len(t.Life) == 0 {
		p.label("No dated state lasted a second or longer.")
		p.WriteString("</g>\n")
		p.y += 14
		return
	}
	s := lifeScale(t.Life)
	for _, cluster := range clustersOf(t) {
		name := cluster
		if t.Origin != nil && cluster == t.Origin.Context {
			name += " (origin)"
		}
		svgLabel(&p.Builder, lifeLeft-8, p.y+lifeBar-5, "end", shortened(name, nameLetters))
		for _, lane := range lanes(t.Life, cluster) {
			for _, part := range lane {
				p.bar(s, part)
			}
			p.y += lifeRow
		}
	}
	p.axis(s)
	p.legend(t.Life)
	p.WriteString("</g>\n")
}

// lanes returns the states on a cluster in lanes. States in a lane do not overlap, which those of
// an elastic Job's Workloads do. There is at least one lane.
func lanes(all []inspect.Interval, cluster string) [][]inspect.Interval {
	found := [][]inspect.Interval{nil}
	last := 0
	for _, part := range all {
		if part.Cluster != cluster {
			continue
		}
		isFree := func(lane []inspect.Interval) bool { return len(lane) == 0 || !lane[len(lane)-1].To.After(part.From) }
		// The states of one Workload stay in one lane.
		if !isFree(found[last]) {
			if last = slices.IndexFunc(found, isFree); last < 0 {
				last, found = len(found), append(found, nil)
			}
		}
		found[last] = append(found[last], part)
	}
	return found
}

// clustersOf returns the clusters of a Job's life, the origin's first.
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

// timeScale converts times to positions on the bars.
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

// bar draws a state as a part of a bar, with its name if that fits. A state that continues
// has an open end.
func (p *lifePicture) bar(s timeScale, part inspect.Interval) {
	x, end := s.at(part.From), s.at(part.To)
	lasts := duration.HumanDuration(max(0, part.To.Sub(part.From)))
	tip := fmt.Sprintf("%s: %s from %s for %s", part.Cluster, part.State, part.From.UTC().Format(time.RFC3339), lasts)
	if part.IsOpen {
		tip += " so far"
	}
	fmt.Fprintf(p, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="url(#%s)"/>`, xmlText(tip), x, p.y, max(end-x, 1), lifeBar, p.id(part.State))
	outline := fmt.Sprintf("M%.1f %dH%.1fV%dH%.1f", end, p.y, x, p.y+lifeBar, end)
	if !part.IsOpen {
		outline += "Z"
	}
	fmt.Fprintf(p, `<path d="%s" fill="none" stroke="#24292f"/>`, outline)
	if text := string(part.State) + " " + lasts; float64(len(text))*letter < end-x-6 {
		// The letters have a white outline, so that they are readable on each pattern.
		fmt.Fprintf(p, `<text x="%.1f" y="%d" stroke="#fff" stroke-width="4" paint-order="stroke">%s</text>`, x+5, p.y+lifeBar-6, xmlText(text))
	}
	p.WriteString("</g>\n")
}

// axis draws the time axis below the bars.
func (p *lifePicture) axis(s timeScale) {
	const right = svgWidth - svgRight
	fmt.Fprintf(p, `<path d="M%d %dH%d" stroke="#24292f"/>`+"\n", lifeLeft, p.y, right)
	svgLabel(&p.Builder, lifeLeft, p.y+16, "start", s.from.UTC().Format(time.RFC3339))
	svgLabel(&p.Builder, (lifeLeft+right)/2, p.y+16, "middle", duration.HumanDuration(s.to.Sub(s.from)))
	svgLabel(&p.Builder, right, p.y+16, "end", s.to.UTC().Format(time.RFC3339))
	p.y += 26
}

// legend explains the states in a picture.
func (p *lifePicture) legend(all []inspect.Interval) {
	x := 10
	p.y += 14
	for _, state := range inspect.LifeStates() {
		if !slices.ContainsFunc(all, func(s inspect.Interval) bool { return s.State == state }) {
			continue
		}
		text := string(state) + ": " + stateStyles()[state].meaning
		width := 20 + int(float64(len(text))*letter) + 14
		if x > 10 && x+width > svgWidth {
			x, p.y = 10, p.y+20
		}
		fmt.Fprintf(p, `<rect x="%d" y="%d" width="14" height="14" fill="url(#%s)" stroke="#24292f"/>`, x, p.y-11, p.id(state))
		svgLabel(&p.Builder, x+20, p.y, "start", text)
		x += width
	}
	p.y += 14
}

// shortened returns a name, with an ellipsis in its middle if it is too long.
func shortened(name string, width int) string {
	letters := []rune(Safe(name))
	if len(letters) <= width {
		return string(letters)
	}
	half := (width - 1) / 2
	return string(letters[:half]) + "…" + string(letters[len(letters)-half:])
}
