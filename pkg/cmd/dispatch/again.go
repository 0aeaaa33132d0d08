package dispatch

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Again makes the commands that resume Jobs, or end their dispatch, from a dispatch command with
// flags.
type Again struct {
	util.Environment
	// given are the parsed flags.
	given   *pflag.FlagSet
	origin  string
	workers []string
	// cancel is the command cancel.
	cancel *cobra.Command
}

// NewAgain returns an Again for a dispatch command with parsed flags.
func NewAgain(env util.Environment, dispatch *cobra.Command, origin string, workers []string) *Again {
	a := &Again{Environment: env, given: dispatch.Flags(), origin: origin, workers: workers}
	for _, c := range dispatch.Parent().Commands() {
		if c.Name() == "cancel" {
			a.cancel = c
		}
	}
	return a
}

// GoOn returns the command that resumes Jobs of a namespace.
func (a *Again) GoOn(namespace string, which []string) command.Command {
	isOpen := func(flag string) bool { return !slices.Contains(unrepeatedFlags(), flag) }
	return a.Own("dispatch").With(which...).With("-n", namespace, "--context", a.origin).With(a.to()...).
		With(util.RepeatedFlags(a.given, isOpen)...)
}

// to returns the words that name the workers. A name with a comma in it has its own flag.
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

// EndIt returns the command that ends their dispatch, wherever their mirrors are.
func (a *Again) EndIt(namespace string, which []string) command.Command {
	isTaken := func(flag string) bool {
		return !slices.Contains(unrepeatedFlags(), flag) && a.cancel != nil && a.cancel.Flag(flag) != nil
	}
	return a.Own("cancel").With(which...).With("-n", namespace, "--context", a.origin).With(util.RepeatedFlags(a.given, isTaken)...)
}

// unrepeatedFlags returns the flags of dispatch that are not repeated, because what they choose
// is named in another way, or is over.
func unrepeatedFlags() []string {
	return []string{
		// The Jobs and contexts are named.
		"filename", "selector", "kinds", "namespace", "context", "to",
		// Resuming follows the Jobs to their end.
		"detach-after-start",
		"help",
	}
}
