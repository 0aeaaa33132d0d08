package util

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// terminal is a buffer that two goroutines use.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// TestProgress: nothing is shown within the first second; then the contexts that the user waits
// for, cut to the terminal's width; and at the end the line is removed.
func TestProgress(t *testing.T) {
	clock, screen := clocktesting.NewFakeClock(time.Now()), &terminal{}
	p := &Progress{clock: clock, line: printers.NewWaitLine(screen, 40)}
	// step advances the clock once the goroutine waits for it.
	step := func(d time.Duration) {
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			if clock.HasWaiters() {
				return poll.Success()
			}
			return poll.Continue("nobody looks at the clock")
		})
		clock.Step(d)
	}
	shows := func(text string) {
		t.Helper()
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			if screen.String() == text {
				return poll.Success()
			}
			return poll.Continue("the screen has %q", screen.String())
		})
	}
	p.Waiting([]string{"a", "b"})
	step(time.Second)
	first := "\r\x1b[Kwaiting for a, b (1s)"
	shows(first)
	p.Waiting([]string{"worker-of-the-north", "b", "c", "d"})
	step(2 * time.Second)
	second := first + "\r\x1b[Kwaiting for worker-of-the-north and 3 …"
	shows(second)
	p.Waiting(nil)
	shows(second + "\r\x1b[K")
}

// TestProgressOfQuickAnswers: nothing is shown if the answers come within a second.
func TestProgressOfQuickAnswers(t *testing.T) {
	screen := &terminal{}
	p := &Progress{clock: clocktesting.NewFakeClock(time.Now()), line: printers.NewWaitLine(screen, 40)}
	p.Waiting([]string{"a"})
	p.Waiting(nil)
	assert.Equal(t, screen.String(), "")
}

// TestProgressWithoutTerminal: nothing is shown in piped output.
func TestProgressWithoutTerminal(t *testing.T) {
	var errOut bytes.Buffer
	p := NewProgress(Environment{
		LookupEnv: func(string) (string, bool) { return "", false }, Clock: clocktesting.NewFakeClock(time.Now()),
		IOStreams: genericiooptions.IOStreams{ErrOut: &errOut},
	})
	assert.Assert(t, p.line == nil)
	p.Waiting([]string{"a"})
	p.Waiting(nil)
	assert.Equal(t, errOut.String(), "")
}
