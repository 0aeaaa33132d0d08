package printers

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// chainLines returns the steps of a Job from its origin to its Pods as a tree. A healthy step has
// a short line; a message that does not fit after its step is printed below it. A Job that is not
// submitted has no chain.
func chainLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	if len(t.Hops) == 0 {
		return nil, nil
	}
	hops, p := t.Hops, palette{o.Color}
	prefixes := treePrefixes(hops)
	nodes := hopNodes(t, o)
	table := newTable(dimmed(hopColumns(o), p), nodes, o)
	rows, err := table.layout(o.Width)
	if err != nil {
		return nil, err
	}
	lines := []string{"", p.bold(rows[0])}
	width := widest(rows)
	if o.Width == 0 {
		lines[1] = p.bold(pad(rows[0], width) + gap + "MESSAGE")
	}
	if o.NoHeaders {
		lines = nil
	}
	for i := range hops {
		row, message := rows[i+1], nodes[i].message
		switch {
		case message == "":
			lines = append(lines, row)
		case o.Width == 0 || lineCount(row) == 1 && width+len(gap)+lipgloss.Width(message) <= o.Width:
			lines = append(lines, pad(row, width)+gap+p.dim(message))
		default:
			lines = append(lines, row)
			for _, line := range wrap(message, o.Width, prefixes[i].below+"  ") {
				lines = append(lines, prefixes[i].below+"  "+p.dim(strings.TrimPrefix(line, prefixes[i].below+"  ")))
			}
		}
	}
	return append(lines, table.leftOut(o)...), nil
}

// hopMessages returns the messages of the steps: "" where a step is healthy. A message that was
// already shown is replaced by a reference to it, if that is shorter. Wide output has every message,
// in Kueue's own words.
func hopMessages(t *inspect.Trace, o TableOptions) []string {
	shown := map[string]string{t.Message: "the reason above"}
	all := make([]string, len(t.Hops))
	for i := range t.Hops {
		h := &t.Hops[i]
		switch {
		case o.Wide || h.Message == "":
			all[i] = Safe(h.Message)
			continue
		case h.Health == inspect.HealthOK && !isJobHop(h):
			continue
		}
		message := kueue.Brief(h.Message)
		reference, isShown := shown[message]
		if !isShown {
			shown[message] = "same as on " + h.Context
		}
		if isShown && len(reference) < len(message) {
			message = reference
		}
		all[i] = Safe(message)
	}
	return all
}

// isJobHop reports whether a step is a Job or its Pods, whose message is their progress.
func isJobHop(h *inspect.Hop) bool {
	return h.Kind != "Workload" && h.Kind != "AdmissionCheck" && !strings.HasPrefix(h.Kind, "MultiKueue") && !strings.HasSuffix(h.Kind, "Queue")
}

// hopNode is a hop with the lines of the tree in front of it, and its message.
type hopNode struct {
	*inspect.Hop
	prefix, message string
}

// hopNodes returns the steps of a Job as the nodes of a tree.
func hopNodes(t *inspect.Trace, o TableOptions) []hopNode {
	prefixes, messages := treePrefixes(t.Hops), hopMessages(t, o)
	nodes := make([]hopNode, len(t.Hops))
	for i := range t.Hops {
		nodes[i] = hopNode{&t.Hops[i], prefixes[i].self, messages[i]}
	}
	return nodes
}

// hopColumns returns the columns in front of the message.
func hopColumns(o TableOptions) []column[hopNode] {
	p := palette{o.Color}
	return []column[hopNode]{
		{title: "CHAIN", shrinks: true, alwaysShown: true, cell: func(h hopNode) string { return h.prefix + hopName(*h.Hop) }},
		{title: "CONTEXT", shrinks: true, cell: func(h hopNode) string { return absentIfEmpty(h.Context) }},
		{title: "STATE", shrinks: true, alwaysShown: true, cell: func(h hopNode) string { return p.health(h.Health, Safe(h.State)) }},
		{title: "AGE", dropRank: 1, cell: func(h hopNode) string {
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

func pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-lipgloss.Width(line)))
}

// wrap breaks a text into lines of a width, each with a prefix. A width of 0 is unlimited.
func wrap(text string, width int, prefix string) []string {
	if width == 0 {
		return []string{prefix + text}
	}
	lines := breakLines(text, max(20, width-lipgloss.Width(prefix)))
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return lines
}

// breakLines breaks a text between words, and words that are too long at any place. A number stays
// with its word if both fit into a line. A colour does not run over the end of a line.
func breakLines(text string, width int) []string {
	// The library breaks behind every hyphen, and names and commands are full of hyphens. It does
	// not break behind a non-breaking hyphen. A word that has to be broken anyway keeps its
	// hyphens, because they are the best places. A non-breaking space keeps a number with its word.
	const hyphen, unbreakable = "-", "\u2011"
	words := joinNumbers(strings.Split(text, " "), width)
	for i, word := range words {
		if widthOf(word) <= width {
			words[i] = strings.ReplaceAll(word, hyphen, unbreakable)
		}
	}
	text = lipgloss.Wrap(strings.Join(words, " "), width, "")
	lines := strings.Split(strings.NewReplacer(unbreakable, hyphen, fixedSpace, " ").Replace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// fixedSpace is a space at which lines do not break.
const fixedSpace = "\u00a0"

// joinNumbers joins each number with the word behind it, as in "1 Pending", if both fit into a width.
func joinNumbers(words []string, width int) []string {
	var joined []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if i+1 < len(words) && isNumber(word) && startsWithLetter(words[i+1]) {
			if both := word + fixedSpace + words[i+1]; widthOf(both) <= width {
				word, i = both, i+1
			}
		}
		joined = append(joined, word)
	}
	return joined
}

// isNumber reports whether a word is a whole number, also at the start of a parenthesis.
func isNumber(word string) bool {
	digits := strings.TrimPrefix(word, "(")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

func startsWithLetter(word string) bool {
	first, _ := utf8.DecodeRuneInString(ansi.Strip(word))
	return unicode.IsLetter(first)
}

// treePrefix has the tree's lines in front of a node (self), and in front of the text below the
// node (below).
type treePrefix struct{ self, below string }

// treePrefixes returns the prefixes of the nodes of a tree, which is a list of hops with depths.
func treePrefixes(hops []inspect.Hop) []treePrefix {
	all := make([]treePrefix, len(hops))
	for i, h := range hops {
		var self, below strings.Builder
		for depth := 1; depth <= h.Depth; depth++ {
			hasNext := hasLaterSibling(hops, i, depth)
			switch {
			case depth == h.Depth && hasNext:
				self.WriteString("├─ ")
			case depth == h.Depth:
				self.WriteString("└─ ")
			case hasNext:
				self.WriteString("│  ")
			default:
				self.WriteString("   ")
			}
			if hasNext {
				below.WriteString("│  ")
			} else {
				below.WriteString("   ")
			}
		}
		if i+1 < len(hops) && hops[i+1].Depth > h.Depth {
			below.WriteString("│")
		}
		all[i] = treePrefix{self.String(), below.String()}
	}
	return all
}

// hasLaterSibling reports whether the ancestor of hop i at a depth has a later sibling.
func hasLaterSibling(hops []inspect.Hop, i, depth int) bool {
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

// Mermaid draws traces as a flowchart in Mermaid's language.
func Mermaid(list []inspect.Trace) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for n := range list {
		hops := list[n].Hops
		for i, h := range hops {
			fmt.Fprintf(&b, "  t%dh%d[\"%s\"]:::%s\n", n, i, mermaidText(h), h.Health)
			if from := arrowSource(hops, i); from >= 0 {
				fmt.Fprintf(&b, "  t%dh%d --> t%dh%d\n", n, from, n, i)
			}
		}
	}
	b.WriteString(`  classDef ok stroke:#2da44e
  classDef waiting stroke:#bf8700
  classDef bad stroke:#cf222e
  classDef unknown stroke-dasharray:4
`)
	return b.String()
}

// arrowSource returns the hop at which the arrow to hop i begins, -1 for none. In the tree, the
// steps of a Job on the management cluster are siblings; in the picture they are a chain, and the
// clusters follow its last step.
func arrowSource(hops []inspect.Hop, i int) int {
	for from := i - 1; from >= 0; from-- {
		h := hops[from]
		isStep := h.Depth == 1 && hops[i].Depth == 1 && hops[i].Kind != hops[0].Kind &&
			h.Kind != "MultiKueueCluster" && h.Kind != "Pods" && h.Kind != hops[i].Kind
		if h.Depth < hops[i].Depth || isStep {
			return from
		}
	}
	return -1
}

// mermaidText returns the text of a node. Quotes and angle brackets are written as entities,
// because Mermaid interprets them.
func mermaidText(h inspect.Hop) string {
	lines := []string{hopName(h)}
	if h.Context != "" {
		lines = append(lines, Safe(h.Context))
	}
	lines = append(lines, Safe(h.State))
	for i, line := range lines {
		lines[i] = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "#", "&#35;").Replace(line)
	}
	return strings.Join(lines, "<br/>")
}
