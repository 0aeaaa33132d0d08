package writing

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// The values of --dry-run.
const (
	DryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// AddDryRunFlag adds --dry-run to a command, with none as default and client without a value. client and
// server describe these values, and ending is the last sentence, such as "Nothing is created".
func AddDryRunFlag(cmd *cobra.Command, value *string, client, server, ending string) {
	cmd.Flags().StringVar(value, "dry-run", DryRunNone, fmt.Sprintf(`Must be "none", "client" (%s), or "server" (%s). Without a value: client. %s`, client, server, ending))
	cmd.Flags().Lookup("dry-run").NoOptDefVal = DryRunClient
	util.Describe(cmd, util.ForRun, util.OneOf(DryRunNone, DryRunClient, DryRunServer), "dry-run")
}

// CheckDryRun returns an error for an unknown value of --dry-run.
func CheckDryRun(value string) error {
	if !slices.Contains([]string{DryRunNone, DryRunClient, DryRunServer}, value) {
		return fmt.Errorf("--dry-run must be none, client or server, not %q", value)
	}
	return nil
}

// DryRunSuffix returns what a report of a dry run ends with, "" without a dry run.
func DryRunSuffix(value string) string {
	return map[string]string{DryRunClient: " (dry run)", DryRunServer: " (server dry run)"}[value]
}

// AddYesFlag adds --yes to a command that asks before it changes something.
func AddYesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "If present, do not ask")
	util.Describe(cmd, util.ForRun, nil, "yes")
}

// CanConfirm returns a usage error if a command must ask, and no terminal can answer. The error begins
// with reason, such as "recreate must ask before it deletes the Job".
func CanConfirm(in io.Reader, yes bool, dryRun, reason string) error {
	if dryRun != DryRunNone || yes || (term.TTY{In: in}).IsTerminalIn() {
		return nil
	}
	return &util.UsageError{Err: fmt.Errorf("%s, but standard input is not a terminal. Confirm with --yes, or preview with --dry-run", reason)}
}

// Confirm asks a question, and returns an error unless the answer is yes. A signal ends the wait.
func Confirm(ctx context.Context, env util.Environment, question string) error {
	fmt.Fprintf(env.ErrOut, "%s [y/N] ", printers.Safe(question))
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(env.In).ReadString('\n') // An empty answer means no.
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(env.ErrOut)
		return util.Interrupted(ctx)
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("not confirmed; nothing was changed")
	}
}
