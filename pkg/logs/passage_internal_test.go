package logs

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// sink has what was written, and the size of the largest write.
type sink struct {
	text    strings.Builder
	largest int
	// isWithin is whether the last write had no newline at its end.
	isWithin bool
	faults   int
}

func (s *sink) Expect(Container) {}

func (s *sink) Write(_ Container, text []byte, continues bool) error {
	if continues != s.isWithin {
		s.faults++
	}
	s.text.Write(text)
	s.largest = max(s.largest, len(text))
	s.isWithin = text[len(text)-1] != '\n'
	return nil
}

// readingTo returns a reading that sends no requests.
func readingTo(s Sink) *reading {
	return &reading{Reader: &Reader{Sink: s}, cursor: newCursor(false)}
}

// TestLongLines reads random logs with lines of any length over connections that break at random
// places. Each byte comes once.
func TestLongLines(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		var want strings.Builder
		var lines []string
		var times []time.Time
		at := time.Date(2026, 8, 30, 6, 0, 0, 0, time.UTC)
		for range 1 + r.IntN(12) {
			at = at.Add(time.Duration(r.IntN(4)) * 250 * time.Millisecond)
			length := r.IntN(40)
			if r.IntN(3) == 0 {
				length = maxPiece - 60 + r.IntN(3*maxPiece)
			}
			text := strings.Repeat(fmt.Sprintf("%d%%\r", r.IntN(3)), length/3) + "\n"
			lines, times = append(lines, at.Format(time.RFC3339Nano)+" "+text), append(times, at)
			want.WriteString(text)
		}
		var got sink
		g := readingTo(&got)
		// served returns the log from the cursor on, as the API has it.
		served := func() string {
			var all strings.Builder
			for i, line := range lines {
				if since := g.cursor.since(); since == nil || !times[i].Before(since.Time) {
					all.WriteString(line)
				}
			}
			return all.String()
		}
		for range 6 {
			all := served()
			assert.NilError(t, g.pass(io.NopCloser(strings.NewReader(all[:r.IntN(len(all))])), false))
		}
		assert.NilError(t, g.pass(io.NopCloser(strings.NewReader(served())), true))
		assert.Assert(t, got.text.String() == want.String(), "seed %d: %d bytes came, and not %d", seed, got.text.Len(), want.Len())
		assert.Assert(t, got.largest <= buffered+maxPiece)
		assert.Equal(t, got.faults, 0)
	}
}

// TestProgressBar checks that a line that never ends is passed on while it is written.
func TestProgressBar(t *testing.T) {
	log, program := io.Pipe()
	defer func() { _ = program.Close() }()
	passed := make(chan string)
	go func() { _ = readingTo(heard(passed)).pass(log, false) }()
	write := func(text string) { go func() { _, _ = io.WriteString(program, text) }() }
	head := strings.Repeat("x", maxPiece)
	write("2026-08-30T06:00:00Z " + head)
	for got := ""; len(got) < len(head); {
		got += next(t, passed)
		assert.Assert(t, strings.HasPrefix(head, got))
	}
	for n := range 3 {
		text := fmt.Sprintf("%d%%\r", n)
		write(text)
		assert.Equal(t, next(t, passed), text)
	}
}

func next(t *testing.T, passed chan string) string {
	t.Helper()
	select {
	case text := <-passed:
		return text
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is passed on")
		return ""
	}
}

// heard passes on what is written.
type heard chan string

func (heard) Expect(Container) {}

func (h heard) Write(_ Container, text []byte, _ bool) error {
	h <- string(text)
	return nil
}
