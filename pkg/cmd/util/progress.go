package util

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

const (
	// quietPeriod is how long a command waits before it shows the line.
	quietPeriod = time.Second
	// refreshInterval is how often the line is redrawn.
	refreshInterval = 250 * time.Millisecond
)

// Progress is a line on a terminal that shows, after a while, which contexts a command waits for.
// It is removed before anything else is printed.
type Progress struct {
	clock clock.WithTicker
	// line is nil if there is no terminal.
	line *printers.WaitLine

	mu       sync.Mutex
	contexts []string
	since    time.Time
	// done ends the goroutine that draws the line; nil if there is none.
	done chan struct{}
}

// NewProgress returns a Progress for a command.
func NewProgress(env Environment) *Progress {
	p := &Progress{clock: env.Clock}
	tty := term.TTY{Out: env.ErrOut}
	if name, _ := env.LookupEnv("TERM"); !tty.IsTerminalOut() || name == "dumb" {
		return p
	}
	width := 0
	if size := tty.GetSize(); size != nil {
		width = int(size.Width)
	}
	p.line = printers.NewWaitLine(env.ErrOut, width)
	return p
}

// Waiting is for fleet.Options.Waiting.
func (p *Progress) Waiting(contexts []string) {
	if p.line == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contexts = contexts
	switch {
	case len(contexts) > 0 && p.done == nil:
		p.since, p.done = p.clock.Now(), make(chan struct{})
		go p.run(p.done)
	case len(contexts) == 0 && p.done != nil:
		close(p.done)
		p.done = nil
		p.line.Clear()
	}
}

func (p *Progress) run(done <-chan struct{}) {
	ticker := p.clock.NewTicker(refreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C():
			p.draw(done)
		}
	}
}

func (p *Progress) draw(done <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-done:
		// The line was already removed.
		return
	default:
	}
	waited := p.clock.Since(p.since)
	if waited < quietPeriod {
		return
	}
	line := fmt.Sprintf("waiting for %s (%ds)", strings.Join(p.contexts, ", "), int(waited.Seconds()))
	if len(p.contexts) > 3 {
		line = fmt.Sprintf("waiting for %s and %d more contexts (%ds)", p.contexts[0], len(p.contexts)-1, int(waited.Seconds()))
	}
	p.line.Draw(line)
}
