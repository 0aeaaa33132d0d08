package writing_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// filling is a file on a disk with space for some writes.
type filling struct{ space int }

var errFull = errors.New("no space left on device")

func (f *filling) Write(p []byte) (int, error) {
	if f.space == 0 {
		return 0, errFull
	}
	f.space--
	return len(p), nil
}

// TestViewReportsMissingEvents: the reader of a dispatch's events learns that some are missing, in
// every format.
func TestViewReportsMissingEvents(t *testing.T) {
	for _, output := range []string{"", "json", "yaml", "kyaml"} {
		out := &filling{space: 1}
		env := util.Environment{Clock: clock.RealClock{}, LookupEnv: func(string) (string, bool) { return "", false }}
		var errOut bytes.Buffer
		env.Out, env.ErrOut = out, &errOut
		view := writing.NewView(env, &util.GlobalFlags{}, output, 1)
		event := &dispatch.Event{Event: dispatch.OriginCreated, Origin: &dispatch.Ref{Context: "c", Namespace: "ml", Name: "train"}}
		view.Event(event)
		assert.NilError(t, view.Err(), output)
		view.Event(event)
		assert.ErrorIs(t, view.Err(), errFull, output)
		out.space = 1
		view.Event(event)
		assert.ErrorIs(t, view.Err(), errFull, "%q: Err must keep the first error", output)
		view.Close()
		assert.Equal(t, strings.Count(errOut.String(), "note: cannot print events (no space left on device). The dispatch continues"), 1, errOut.String())
	}
}

// TestEventCommandsHaveFlags: a command in an event has the flags with which the user reaches the cluster,
// such as a kubeconfig.
func TestEventCommandsHaveFlags(t *testing.T) {
	flags := util.NewGlobalFlags()
	flags.Kubectl = pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.Kube.AddFlags(flags.Kubectl)
	assert.NilError(t, flags.Kubectl.Parse([]string{"--kubeconfig", "other", "--token", "secret", "--context", "c", "-n", "ml"}))
	var out bytes.Buffer
	var env util.Environment
	env.Out = &out
	view := writing.NewView(env, flags, "json", 1)
	event := &dispatch.Event{Message: string(command.Say("it is left; %s", command.Kubectl("c", "ml", "delete", "job", "x")))}
	view.Event(event)
	view.Close()
	assert.Assert(t, strings.Contains(out.String(), "it is left; `kubectl --kubeconfig other --token TOKEN --context c -n ml delete job x`"), out.String())
	assert.Assert(t, !strings.Contains(event.Message, "other"), "the recorder's event has changed")
}
