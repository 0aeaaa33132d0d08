package cmd

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// cellEnd matches a pipe that ends a cell, which is not escaped.
var cellEnd = regexp.MustCompile(`(^|[^\\])\|`)

// TestMarkdown: in every command that prints a table, -o markdown prints tables that GitHub
// accepts: a separator below the titles, and as many cells in each row as there are titles.
func TestMarkdown(t *testing.T) {
	skipIfShort(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"ls", "-A"}, []string{"| CONTEXT ", "| MANAGED-BY ", "| ml "}},
		{[]string{"ls", "-A", "--reason"}, []string{"| REASON "}},
		{[]string{"ls", "-A", "--summary"}, []string{"| MANAGED-BY ", "kueue.x-k8s.io/multikueue"}},
		{[]string{"check", "-A", "--grace", "0s"}, []string{"**", " delegated Jobs on 3 clusters", "| JM029 ", "| FIX ", "`kubectl --context worker-2 "}},
		{[]string{"trace", "-A"}, []string{"| RELATION ", "| train "}},
		{[]string{"trace", "sweep", "-n", "ml"}, []string{
			"**Job ml/sweep: ", "Fix: ", "\n```sh\nkubectl --context worker-2 ", "### Placements", "### Chain", "### Findings", "### Last events",
		}},
		{[]string{"queues", "-A"}, []string{"| CLUSTERQUEUE "}},
		{[]string{"kinds"}, []string{"| ALLOWED "}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"--from", exampleFleet, "-o", "markdown"}, tt.args...)...)
			want := util.ExitOK
			if tt.args[0] == "check" {
				want = util.ExitFindings
			}
			assert.Equal(t, code, want, errOut)
			for _, want := range tt.want {
				assert.Assert(t, strings.Contains(out, want), "no %q in\n%s", want, out)
			}
			assert.Assert(t, areTables(t, out) > 0, out)
		})
	}
}

// areTables checks the tables of a page and returns their number.
func areTables(t *testing.T, page string) (count int) {
	t.Helper()
	for block := range strings.SplitSeq(page, "\n\n") {
		if !strings.HasPrefix(block, "|") {
			continue
		}
		count++
		rows := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		assert.Assert(t, len(rows) > 2, block)
		assert.Assert(t, regexp.MustCompile(`^\|(:-+\|)+$`).MatchString(rows[1]), rows[1])
		for _, row := range rows {
			assert.Equal(t, len(cellEnd.FindAllString(row, -1)), len(cellEnd.FindAllString(rows[0], -1)), row)
		}
	}
	return count
}

// TestMarkdownRefusesWatch: a table in Markdown is for a ticket.
func TestMarkdownRefusesWatch(t *testing.T) {
	for _, command := range []string{"ls", "check", "trace", "queues"} {
		_, errOut, code := run(t, command, "-w", "-o", "markdown")
		assert.Equal(t, code, util.ExitUsage, errOut)
		assert.Assert(t, strings.Contains(errOut, "-o markdown cannot be combined with --watch"), errOut)
	}
}
