package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// labelArgs request labels in both forms of kubectl get.
var labelArgs = []string{"-L", "kueue.x-k8s.io/queue-name,no-such", "--label-columns", "kubernetes.io/metadata.name"}

// TestLabelColumns: labels have columns behind AGE, or behind the wide columns, as in kubectl
// get, and no other output changes.
func TestLabelColumns(t *testing.T) {
	skipIfShort(t)
	for name, tt := range map[string]struct {
		args, titles string
		// rows are the last cells of Jobs.
		rows map[string]string
	}{
		"all contexts": {"-A", "AGE QUEUE-NAME NO-SUCH METADATA.NAME", map[string]string{"sweep": "gpu <none> <none>", "eval": "<none> <none> <none>"}},
		"one context":  {"-A --contexts management", "AGE QUEUE-NAME NO-SUCH METADATA.NAME", map[string]string{"sweep": "gpu <none> <none>"}},
		"every kind":   {"-A --kinds all", "AGE QUEUE-NAME NO-SUCH METADATA.NAME", map[string]string{"sweep": "gpu <none> <none>"}},
		"names":        {"sweep -n ml", "AGE QUEUE-NAME NO-SUCH METADATA.NAME", map[string]string{"sweep": "gpu <none> <none>"}},
		"mirrors":      {"-A --mirrors", "AGE QUEUE-NAME NO-SUCH METADATA.NAME", map[string]string{"train-old": "gpu <none> <none>"}},
		"reasons":      {"-A --reason", "AGE QUEUE-NAME NO-SUCH METADATA.NAME REASON", map[string]string{"eval": "<none> <none> <none> Ignored by Kueue: no queue label."}},
		"wide":         {"-A -o wide", "UID QUEUE-NAME NO-SUCH METADATA.NAME REASON", map[string]string{"train": "gpu <none> <none> -"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"ls", "--from", exampleFleet}, strings.Fields(tt.args)...)
			out, errOut, code := run(t, append(args, labelArgs...)...)
			assert.Equal(t, code, 0, errOut)
			lines := strings.Split(out, "\n")
			assert.Assert(t, strings.HasSuffix(collapseSpaces(lines[0]), " "+tt.titles), lines[0])
			for job, cells := range tt.rows {
				found := false
				for _, line := range lines {
					line = collapseSpaces(line)
					found = found || strings.Contains(" "+line, " "+job+" ") && strings.HasSuffix(line, " "+cells)
				}
				assert.Assert(t, found, "%s %s in:\n%s", job, cells, out)
			}
			json, _, _ := run(t, append(args, "-o", "json")...)
			labelled, _, _ := run(t, append(append(args, labelArgs...), "-o", "json")...)
			if !strings.Contains(tt.args, "-o") {
				assert.Equal(t, labelled, json)
			}
		})
	}
	_, errOut, code := run(t, "ls", "-A", "--from", exampleFleet, "--summary", "-L", "team")
	assert.Equal(t, code, 2)
	assert.Assert(t, strings.Contains(errOut, "--summary cannot be combined with --label-columns"), errOut)
}

// TestWatchLabels: rows of later changes have the labels too, with and without reasons.
func TestWatchLabels(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"--contexts=kwok-mgr", "--reason"} {
		f := newWatchedFleet(t, filepath.Join(recordings, "running"))
		w := f.follow("ls", "-A", "-L", "kueue.x-k8s.io/queue-name", more)
		w.until("it lists the Job with its queue", func() bool {
			text := collapseSpaces(w.out.String())
			return strings.Contains(text, "QUEUE-NAME") && strings.Contains(text, "train") && strings.Contains(text, " user-queue")
		})
		assert.Equal(t, w.stop(), 130)
	}
}

// collapseSpaces joins the words of a line by one blank.
func collapseSpaces(line string) string { return strings.Join(strings.Fields(line), " ") }
