package dispatch

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Again makes the commands that go on with Jobs, or end their dispatch, of one that was
// given with some flags.
type Again struct {
	util.Environment
	// given are the flags as they were parsed.
	given   *pflag.FlagSet
	origin  string
	workers []string
	// cancel is the command of that name.
	cancel *cobra.Command
}

// NewAgain makes them for a command of dispatch, with its flags as they were parsed.
func NewAgain(env util.Environment, dispatch *cobra.Command, origin string, workers []string) *Again {
	a := &Again{Environment: env, given: dispatch.Flags(), origin: origin, workers: workers}
	for _, c := range dispatch.Parent().Commands() {
		if c.Name() == "cancel" {
			a.cancel = c
		}
	}
	return a
}

// GoOn is the command that goes on with Jobs of a namespace.
func (a *Again) GoOn(namespace string, which []string) command.Command {
	isOpen := func(flag string) bool { return !slices.Contains(toldOtherwise(), flag) }
	return a.Own("dispatch").With(which...).With("-n", namespace, "--context", a.origin).With(a.to()...).
		With(util.RepeatedFlags(a.given, isOpen)...)
}

// to are the words that name the workers. A name with a comma in it has a flag of its own.
func (a *Again) to() []string {
	if !slices.ContainsFunc(a.workers, func(name string) bool { return strings.Contains(name, ",") }) {
		return []string{"--to", strings.Join(a.workers, ",")}
	}
	var words []string
	for _, name := range a.workers {
		words = append(words, "--to", name)
	}
	return words
}

// EndIt is the command that ends their dispatch, wherever their mirrors are.
func (a *Again) EndIt(namespace string, which []string) command.Command {
	isTaken := func(flag string) bool {
		return !slices.Contains(toldOtherwise(), flag) && a.cancel != nil && a.cancel.Flag(flag) != nil
	}
	return a.Own("cancel").With(which...).With("-n", namespace, "--context", a.origin).With(util.RepeatedFlags(a.given, isTaken)...)
}

// toldOtherwise are the flags of dispatch that are not repeated:
// what they choose is named by then, or is over.
func toldOtherwise() []string {
	return []string{
		// Who is meant, and where, is told by name.
		"filename", "selector", "kinds", "namespace", "context", "to",
		// What goes on is to be followed to its end.
		"detach-after-start",
		"help",
	}
}
