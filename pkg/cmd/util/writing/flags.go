package writing

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// OwnerFlags choose the owner of the dispatched objects.
type OwnerFlags struct {
	ManagedBy    string
	asMultiKueue bool
}

// AddTo adds the flags. effect says what --as-multikueue does.
func (f *OwnerFlags) AddTo(cmd *cobra.Command, completer *complete.Completer, effect string) {
	f.ManagedBy = string(delegation.Dispatch)
	flags := cmd.Flags()
	flags.StringVar(&f.ManagedBy, "managed-by", f.ManagedBy, "The spec.managedBy of the Jobs, if it is not this plugin's own")
	util.Describe(cmd, util.ForObjects, completer.Func(completer.Owners(string(delegation.Dispatch))), "managed-by")
	flags.BoolVar(&f.asMultiKueue, "as-multikueue", false, "If present, "+effect)
	util.Describe(cmd, util.ForObjects, nil, "as-multikueue")
}

// Complete derives the owner from the flags. isGiven reports whether the user has set a flag.
func (f *OwnerFlags) Complete(isGiven func(flag string) bool) error {
	if !f.asMultiKueue {
		return nil
	}
	if isGiven("managed-by") {
		return errors.New("--as-multikueue sets managedBy, so it cannot be combined with --managed-by")
	}
	f.ManagedBy = string(delegation.MultiKueue)
	return nil
}

// RefuseFrom adds a flag --from that a command which writes refuses, with the reason.
func RefuseFrom(cmd *cobra.Command, flags *util.GlobalFlags) {
	flags.RefuseFrom(cmd, "this command changes clusters, and a snapshot is only a record of them")
}
