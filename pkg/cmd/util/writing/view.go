package writing

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// View shows what happens in dispatches, in the format that was asked
// for. That something cannot be shown keeps nothing from happening.
type View struct {
	util.Environment
	output string
	// reach are the flags by which commands that are told reach the clusters.
	reach  []string
	live   *printers.Live
	closed sync.Once

	mu sync.Mutex
	// failed is why something could not be shown, the first time.
	failed error
}

// Redirect is a writer that can be led elsewhere while it is in use.
type Redirect struct {
	mu sync.Mutex
	To io.Writer
}

func (d *Redirect) Write(p []byte) (int, error) {
	d.mu.Lock()
	to := d.To
	d.mu.Unlock()
	return to.Write(p)
}

func (d *Redirect) lead(to io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.To = to
}

// NewView makes one for so many Jobs, with -o as it was given.
func NewView(env util.Environment, flags *util.GlobalFlags, output string, jobs int) *View {
	v := &View{Environment: env, output: output, reach: flags.ReachFlags()}
	if output == "" {
		v.live = printers.NewLive(env.Out, printers.LiveOptions{
			Color: env.WantsColor(flags.Color), Jobs: jobs, Now: env.Clock.Now, Started: env.Clock.Now(), Terminal: env.Cursor,
		})
		if told, ok := env.ErrOut.(*Redirect); ok {
			told.lead(v.live.Above(told.To))
		}
	}
	return v
}

// Event shows an event. The recorder never calls it twice at once.
func (v *View) Event(e *dispatch.Event) {
	shown := *e
	shown.Message = string(command.Prose(e.Message).Reached(v.reach))
	err := v.show(&shown)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil && err != nil {
		v.failed = fmt.Errorf("cannot print all events: %w", err)
		util.Tell(v.ErrOut, "note: cannot print events (%v). The dispatch continues; to stop it, press Ctrl-C or send SIGTERM", err)
	}
}

// OutliveReaders has writes to a pipe that was closed fail, where they would end the process,
// so that a dispatch goes on copying without a reader. The returned function undoes it.
func OutliveReaders() (undo func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

func (v *View) show(e *dispatch.Event) error {
	switch v.output {
	case "json":
		return printers.EventLine(v.Out, e)
	case "yaml":
		text, err := escape.YAML(e)
		if err == nil {
			_, err = v.Out.Write(append([]byte("---\n"), text...))
		}
		return err
	case "kyaml":
		return escape.KYAML(e, v.Out)
	}
	return v.live.Event(*e)
}

// Err is why not all could be shown, nil if it was. Who reads events would take for the
// end of a Job what is not.
func (v *View) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// Tick has the footer move.
func (v *View) Tick() {
	if v.live != nil {
		_ = v.live.Tick()
	}
}

// Close takes the footer away, so that something else can be printed.
func (v *View) Close() {
	if v.live != nil {
		v.closed.Do(func() { _ = v.live.Close() })
	}
}
