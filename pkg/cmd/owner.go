package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// ownerFlags say whose the objects are that are dispatched.
type ownerFlags struct {
	managedBy    string
	asMultiKueue bool
}

// addTo adds the flags; more is what there is to know of --as-multikueue beside.
func (f *ownerFlags) addTo(cmd *cobra.Command, ask *completer, more string) {
	f.managedBy = string(delegation.Dispatch)
	flags := cmd.Flags()
	flags.StringVar(&f.managedBy, "managed-by", f.managedBy, "The spec.managedBy of the Jobs, if it is not this plugin's own")
	describe(cmd, forObjects, ask.asks(ask.owners(string(delegation.Dispatch))), "managed-by")
	flags.BoolVar(&f.asMultiKueue, "as-multikueue", false, "If present, the spec.managedBy is "+string(delegation.MultiKueue)+", the only one besides their own controller's that some kinds allow"+more)
	describe(cmd, forObjects, nil, "as-multikueue")
}

// complete finishes the flags, given which of them the user has set.
func (f *ownerFlags) complete(isGiven func(flag string) bool) error {
	if !f.asMultiKueue {
		return nil
	}
	if isGiven("managed-by") {
		return errors.New("--as-multikueue says what the managedBy is, and cannot be combined with --managed-by")
	}
	f.managedBy = string(delegation.MultiKueue)
	return nil
}

// What --dry-run can be.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)
