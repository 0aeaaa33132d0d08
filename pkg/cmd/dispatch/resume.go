package dispatch

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// ResumeCommands builds the commands that resume or cancel the Jobs of a dispatch command.
type ResumeCommands struct {
	// given are the parsed flags of the dispatch command.
	given   *pflag.FlagSet
	origin  string
	workers []string
	// cancel is the command cancel, for its flags.
	cancel *cobra.Command
}

// NewResumeCommands returns the ResumeCommands for a dispatch command with parsed flags.
func NewResumeCommands(dispatch *cobra.Command, origin string, workers []string) *ResumeCommands {
	r := &ResumeCommands{given: dispatch.Flags(), origin: origin, workers: workers}
	for _, c := range dispatch.Parent().Commands() {
		if c.Name() == "cancel" {
			r.cancel = c
		}
	}
	return r
}

// Resume returns the command that resumes Jobs of a namespace. selection has their names, or flags
// that select them.
func (r *ResumeCommands) Resume(namespace string, selection []string) command.Command {
	isRepeated := func(flag string) bool { return !slices.Contains(excludedFlags(), flag) }
	return command.Plugin("dispatch").With(selection...).With("-n", namespace, "--context", r.origin).With(r.toFlags()...).
		With(util.RepeatFlags(r.given, isRepeated)...)
}

// toFlags returns the words of --to. A name with a comma has a --to of its own.
func (r *ResumeCommands) toFlags() []string {
	if !slices.ContainsFunc(r.workers, func(name string) bool { return strings.Contains(name, ",") }) {
		return []string{"--to", strings.Join(r.workers, ",")}
	}
	var words []string
	for _, name := range r.workers {
		words = append(words, "--to", name)
	}
	return words
}

// Cancel returns the command that cancels Jobs of a namespace, on whichever worker they are.
func (r *ResumeCommands) Cancel(namespace string, selection []string) command.Command {
	isRepeated := func(flag string) bool {
		return !slices.Contains(excludedFlags(), flag) && r.cancel != nil && r.cancel.Flag(flag) != nil
	}
	return command.Plugin("cancel").With(selection...).With("-n", namespace, "--context", r.origin).With(util.RepeatFlags(r.given, isRepeated)...)
}

// excludedFlags returns the flags of dispatch that the commands do not repeat.
func excludedFlags() []string {
	return []string{
		// The commands name the Jobs and contexts.
		"filename", "selector", "kinds", "namespace", "context", "to",
		// The user now waits for the end of the Jobs.
		"detach-after-start",
		"help",
	}
}
