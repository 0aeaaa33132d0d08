package printers_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// terminal keeps what is written to it, each write separately.
type terminal struct{ writes []string }

func (w *terminal) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

// lines returns n lines.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestScreen(t *testing.T) {
	var w terminal
	s := printers.NewScreen(&w)
	assert.NilError(t, s.Draw("one\ntwo\n", 0, 24))
	assert.NilError(t, s.Draw("three\n", 0, 24))
	assert.NilError(t, s.Draw("four\nfive", 0, 24))
	// The old content is cleared once. From then on lines are replaced in place, so that nothing
	// flickers.
	assert.DeepEqual(t, w.writes, []string{
		"\x1b[H\x1b[2J\x1b[H\x1b[Kone\n\x1b[Ktwo\n\x1b[J",
		"\x1b[H\x1b[Kthree\n\x1b[J",
		"\x1b[H\x1b[Kfour\n\x1b[Kfive\n\x1b[J",
	})
}

func TestScreenHeight(t *testing.T) {
	note := func(n int) string {
		return fmt.Sprintf("… %d more lines: enlarge the terminal, or filter", n)
	}
	for _, tt := range []struct {
		name         string
		lines        int
		height       int
		shown, added int
	}{
		{"spare rows", 3, 24, 3, 0},
		{"just fits", 23, 24, 23, 0},
		// The last row of a terminal stays free, because a line feed there scrolls.
		{"a line too many", 24, 24, 22, 2},
		{"far too many", 1000, 24, 22, 978},
		{"a low terminal", 5, 3, 1, 4},
		{"the lowest with a row", 5, 2, 0, 5},
		{"of unknown height", 1000, 0, 1000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w terminal
			assert.NilError(t, printers.NewScreen(&w).Draw(lines(tt.lines), 0, tt.height))
			assert.Equal(t, len(w.writes), 1)
			want := lines(tt.shown)
			if tt.added > 0 {
				want += note(tt.added) + "\n"
			}
			if want != "" {
				want = "\x1b[K" + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\n\x1b[K") + "\n"
			}
			assert.Equal(t, w.writes[0], "\x1b[H\x1b[2J\x1b[H"+want+"\x1b[J")
			if tt.height > 0 {
				assert.Assert(t, strings.Count(w.writes[0], "\n") < tt.height, "the screen scrolls")
			}
		})
	}
}

func TestScreenReportsWriteErrors(t *testing.T) {
	assert.ErrorIs(t, printers.NewScreen(&full{}).Draw("text", 0, 24), errFull)
}

func TestScreenCutsLines(t *testing.T) {
	var w strings.Builder
	assert.NilError(t, printers.NewScreen(&w).Draw("short\n\x1b[1mfar too long\x1b[m\n", 8, 24))
	assert.Assert(t, strings.Contains(w.String(), "\x1b[Kshort\n\x1b[K\x1b[1mfar too…\x1b[m\n"), "%q", w.String())
}
