package cmd

import (
	"io"
	"sync"

	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// dispatchView shows what happens in dispatches, in the format that was asked
// for. That something cannot be shown is nothing that could be told.
type dispatchView struct {
	Environment
	output string
	live   *printers.Live
	closed sync.Once
}

// detour is a writer that can be led elsewhere while it is in use.
type detour struct {
	mu sync.Mutex
	to io.Writer
}

func (d *detour) Write(p []byte) (int, error) {
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	return to.Write(p)
}

func (d *detour) lead(to io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
}

func newDispatchView(env Environment, flags *globalFlags, output string, jobs int) *dispatchView {
	v := &dispatchView{Environment: env, output: output}
	if output == "" {
		v.live = printers.NewLive(env.Out, printers.LiveOptions{
			Color: env.wantsColor(flags.color), Jobs: jobs, Now: env.Clock.Now, Started: env.Clock.Now(), Terminal: env.cursor,
		})
		if told, ok := env.ErrOut.(*detour); ok {
			told.lead(v.live.Above(told.to))
		}
	}
	return v
}

// event shows an event. The recorder never calls it twice at once.
func (v *dispatchView) event(e *dispatch.Event) {
	switch v.output {
	case "json":
		_ = printers.EventLine(v.Out, e)
	case "yaml":
		if text, err := yaml.Marshal(e); err == nil {
			_, _ = v.Out.Write(append([]byte("---\n"), text...))
		}
	case "kyaml":
		_ = (&kyaml.Encoder{}).FromObject(e, v.Out)
	default:
		_ = v.live.Event(*e)
	}
}

// tick has the footer move.
func (v *dispatchView) tick() {
	if v.live != nil {
		_ = v.live.Tick()
	}
}

// close takes the footer away, so that something else can be printed.
func (v *dispatchView) close() {
	if v.live != nil {
		v.closed.Do(func() { _ = v.live.Close() })
	}
}
