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

// View shows the events of dispatches in the chosen format. A failure to show them does not stop
// the dispatches.
type View struct {
	util.Environment
	output string
	// reach is how printed commands must be called.
	reach  command.Reach
	live   *printers.Live
	closed sync.Once

	mu sync.Mutex
	// failed is the first error of showing an event.
	failed error
}

// Redirect is a writer whose destination can be changed while it is in use.
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

// setTarget changes the destination of later writes.
func (d *Redirect) setTarget(to io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.To = to
}

// NewView returns a View for a number of Jobs. output is the value of -o.
func NewView(env util.Environment, flags *util.GlobalFlags, output string, jobs int) *View {
	v := &View{Environment: env, output: output, reach: env.CommandReach(flags)}
	if output == "" {
		v.live = printers.NewLive(env.Out, printers.LiveOptions{
			Color: env.WantsColor(flags.Color), Jobs: jobs, Now: env.Clock.Now, Started: env.Clock.Now(), Terminal: env.Cursor,
		})
		if redirect, ok := env.ErrOut.(*Redirect); ok {
			redirect.setTarget(v.live.Above(redirect.To))
		}
	}
	return v
}

// NameJobs makes lines name their Job even if there is one.
func (v *View) NameJobs() *View {
	if v.live != nil {
		v.live.NameJobs()
	}
	return v
}

// Event shows an event. The recorder never makes concurrent calls.
func (v *View) Event(e *dispatch.Event) {
	shown := *e
	shown.Message = string(command.Prose(e.Message).Reached(v.reach))
	err := v.show(&shown)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil && err != nil {
		v.failed = fmt.Errorf("cannot print all events: %w", err)
		util.Report(v.ErrOut, "note: cannot print events (%v). The dispatch continues; to stop it, press Ctrl-C or send SIGTERM", err)
	}
}

// IgnoreBrokenPipe makes writes to a closed pipe fail instead of ending the process, so that a
// dispatch continues without a reader. The returned function restores the default.
func IgnoreBrokenPipe() (undo func()) {
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

// Err returns the first error of showing an event. A reader of events must learn that some are
// missing, such as the end of a Job.
func (v *View) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// Tick redraws the footer.
func (v *View) Tick() {
	if v.live != nil {
		_ = v.live.Tick()
	}
}

// Close removes the footer, so that other output can follow.
func (v *View) Close() {
	if v.live != nil {
		v.closed.Do(func() { _ = v.live.Close() })
	}
}
