package util

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// AddKindsFlag adds the flag that chooses kinds, with its purpose. Each command has its own value, because its
// default differs from that of others.
func AddKindsFlag(cmd *cobra.Command, kinds *[]string, what string, byDefault ...string) {
	cmd.Flags().StringSliceVar(kinds, "kinds", byDefault, what+", comma-separated: names that the kinds command lists, or all")
	Describe(cmd, ForObjects, completeKinds(), "kinds")
}

// ValidateKinds returns an error for the first invalid name in --kinds of a command, as far as that shows
// without a cluster.
func ValidateKinds(cmd *cobra.Command) error {
	if cmd.Flags().Lookup("kinds") == nil {
		return nil
	}
	names, err := cmd.Flags().GetStringSlice("kinds")
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == read.AllKinds {
			continue
		}
		if err := checkKindName(name); err != nil {
			return err
		}
	}
	return nil
}

// checkKindName returns an error for an invalid name of a kind, as far as that shows before any
// cluster is asked: clusters may serve unknown kinds. A name similar to that of a known kind is a
// typo, unless it has its group.
func checkKindName(name string) error {
	if _, known := delegation.KindNamed(name); known {
		return nil
	}
	names := kindNames()
	resource, group, hasGroup := strings.Cut(strings.ToLower(name), ".")
	if isName := func(part string) bool { return len(validation.IsDNS1123Subdomain(part)) == 0 }; !isName(resource) || hasGroup && !isName(group) {
		return fmt.Errorf("unknown kind %q. Known kinds: %s and %s; the kinds command lists all", name, strings.Join(names, ", "), read.AllKinds)
	}
	nearest := fleet.Nearest(name, append(names, read.AllKinds))
	if nearest == "" || hasGroup {
		return nil
	}
	return fmt.Errorf("unknown kind %q; did you mean %q? For another kind of that name, add its group: %s.GROUP", name, nearest, name)
}

// kindNames returns the names of the known kinds, each once.
func kindNames() []string {
	var names []string
	for _, k := range delegation.Kinds() {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// NounFor returns the plural for the results of a query: Jobs, or objects if the query is not
// only for Jobs.
func NounFor(q read.Query) string {
	if q.OnlyJobs() {
		return "Jobs"
	}
	return "objects"
}

// RequireServed asks all clusters for the kinds of some names, as read.Served takes them. A name
// that no answering cluster serves is an error: usually it is a mistake, and nothing would be
// found.
func RequireServed(ctx context.Context, env Environment, f *fleet.Fleet, names []string) error {
	unserved, errs := read.Unserved(ctx, f, names)
	if len(unserved) == 0 {
		return nil
	}
	ReportErrors(env.ErrOut, errs)
	quoted := make([]string, len(unserved))
	for i := range unserved {
		quoted[i] = fmt.Sprintf("%q", unserved[i])
	}
	message := fmt.Sprintf("no context serves kind %s with a managedBy field", strings.Join(quoted, " or "))
	if len(errs) > 0 {
		message = fmt.Sprintf("no context that was read serves kind %s with a managedBy field", strings.Join(quoted, " or "))
	}
	message += "; " + env.DisplayName() + " kinds lists the kinds of each context"
	if name, isGiven := afterKind(env.Args, unserved); isGiven {
		message += fmt.Sprintf(". For a Job in namespace %[1]s, write %[2]s -n %[1]s instead of %[1]s/%[2]s", unserved[0], name)
	}
	return errors.New(message)
}

// afterKind returns NAME if the only unserved kind was given as KIND/NAME, which may be meant as
// NAMESPACE/NAME.
func afterKind(args, unserved []string) (name string, isGiven bool) {
	for _, arg := range args {
		kind, name, isBoth := strings.Cut(arg, "/")
		if _, isKnown := delegation.KindNamed(kind); isBoth && !isKnown && !strings.Contains(kind, ".") && len(unserved) == 1 && strings.EqualFold(kind, unserved[0]) {
			return name, true
		}
	}
	return "", false
}
