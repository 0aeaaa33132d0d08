package printers

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Trace draws one Job's way as a tree, then what differs between origin and
// mirror, and what happened when.
func Trace(w io.Writer, t *inspect.Trace, o TableOptions) error {
	p := palette{o.Color}
	var lines []string
	for _, line := range wrap(sentence(Safe(t.Summary)), o.Width, "") {
		lines = append(lines, p.bold(line))
	}
	// What is not submitted has no way.
	if len(t.Hops) > 0 {
		tree, err := hopLines(t.Hops, o)
		if err != nil {
			return err
		}
		lines = append(append(lines, ""), tree...)
	}
	for _, section := range []func(*inspect.Trace, TableOptions) ([]string, error){
		placementLines, differenceLines, timelineLines, findingLines,
	} {
		more, err := section(t, o)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	for _, c := range t.Clocks {
		lines = append(lines, "")
		lines = append(lines, wrap(clockNote(c), o.Width, "")...)
	}
	if err := writeLines(w, lines...); err != nil {
		return err
	}
	return writeErrors(w, t.Errors, true, o)
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func clockNote(c inspect.ClockSkew) string {
	direction, seconds := "ahead of", c.AheadSeconds
	if seconds < 0 {
		direction, seconds = "behind", -seconds
	}
	return fmt.Sprintf("note: the clock of %s is %ds %s ours; its times above are as it tells them", Safe(c.Context), seconds, direction)
}

// hopLines are the tree. A message that does not fit behind its hop stands below
// it.
func hopLines(hops []inspect.Hop, o TableOptions) ([]string, error) {
	p := palette{o.Color}
	rails := railsOf(hops)
	nodes := make([]hopNode, len(hops))
	for i := range hops {
		nodes[i] = hopNode{&hops[i], rails[i].self}
	}
	rows, err := newTable(dimmed(hopColumns(o), p), nodes, o).layout(o.Width)
	if err != nil {
		return nil, err
	}
	lines := []string{p.bold(rows[0])}
	width := widest(rows)
	if o.Width == 0 {
		lines[0] = p.bold(pad(rows[0], width) + gap + "MESSAGE")
	}
	if o.NoHeaders {
		lines = nil
	}
	for i, h := range hops {
		row, message := rows[i+1], Safe(h.Message)
		switch {
		case message == "":
			lines = append(lines, row)
		case o.Width == 0 || width+len(gap)+lipgloss.Width(message) <= o.Width:
			lines = append(lines, pad(row, width)+gap+p.dim(message))
		default:
			lines = append(lines, row)
			for _, line := range wrap(message, o.Width, rails[i].below+"  ") {
				lines = append(lines, rails[i].below+"  "+p.dim(strings.TrimPrefix(line, rails[i].below+"  ")))
			}
		}
	}
	return lines, nil
}

// hopNode is a hop, with what stands before it in the tree.
type hopNode struct {
	*inspect.Hop
	rails string
}

// hopColumns stand before the message.
func hopColumns(o TableOptions) []column[hopNode] {
	p := palette{o.Color}
	return []column[hopNode]{
		{title: "HOP", shrinks: true, cell: func(h hopNode) string { return h.rails + hopName(*h.Hop) }},
		{title: "CONTEXT", shrinks: true, cell: func(h hopNode) string { return absentIfEmpty(h.Context) }},
		{title: "STATE", shrinks: true, cell: func(h hopNode) string { return p.health(h.Health, Safe(h.State)) }},
		{title: "SINCE", cell: func(h hopNode) string {
			if h.Since == nil {
				return none
			}
			return o.since(h.Context, h.Since.Time)
		}},
		{title: "NAMESPACE", wide: true, shrinks: true, cell: func(h hopNode) string { return absentIfEmpty(h.Namespace) }},
	}
}

func hopName(h inspect.Hop) string {
	if h.Name == "" {
		return Safe(h.Kind)
	}
	return Safe(h.Kind + "/" + h.Name)
}

func absentIfEmpty(text string) string {
	if text == "" {
		return none
	}
	return Safe(text)
}

func pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-lipgloss.Width(line)))
}

// wrap breaks a text into lines of a width, zero being without bound, each with a
// prefix.
func wrap(text string, width int, prefix string) []string {
	if width == 0 {
		return []string{prefix + text}
	}
	// The library breaks behind every hyphen, and names and commands are full of
	// them; behind one that does not break it does not.
	const hyphen, unbreakable = "-", "\u2011"
	text = strings.ReplaceAll(text, hyphen, unbreakable)
	var lines []string
	for line := range strings.Lines(ansi.Wrap(text, max(20, width-lipgloss.Width(prefix)), "")) {
		lines = append(lines, prefix+strings.TrimRight(strings.ReplaceAll(line, unbreakable, hyphen), " \n"))
	}
	return lines
}

// rails are what stands before a node of a tree, and before lines below it.
type rails struct{ self, below string }

// railsOf draws a tree that is given as a list with depths.
func railsOf(hops []inspect.Hop) []rails {
	drawn := make([]rails, len(hops))
	for i, h := range hops {
		var self, below strings.Builder
		for depth := 1; depth <= h.Depth; depth++ {
			goesOn := siblingFollows(hops, i, depth)
			switch {
			case depth == h.Depth && goesOn:
				self.WriteString("├─ ")
			case depth == h.Depth:
				self.WriteString("└─ ")
			case goesOn:
				self.WriteString("│  ")
			default:
				self.WriteString("   ")
			}
			if goesOn {
				below.WriteString("│  ")
			} else {
				below.WriteString("   ")
			}
		}
		if i+1 < len(hops) && hops[i+1].Depth > h.Depth {
			below.WriteString("│")
		}
		drawn[i] = rails{self.String(), below.String()}
	}
	return drawn
}

// siblingFollows says whether behind hop i another one comes at a depth, before
// the tree goes back above it.
func siblingFollows(hops []inspect.Hop, i, depth int) bool {
	for _, h := range hops[i+1:] {
		if h.Depth < depth {
			return false
		}
		if h.Depth == depth {
			return true
		}
	}
	return false
}
