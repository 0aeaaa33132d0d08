package printers

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

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
