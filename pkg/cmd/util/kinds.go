package util

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// validateKinds checks what needs no cluster.
func (f *GlobalFlags) validateKinds() error {
	for _, name := range f.Kinds {
		if name == read.AllKinds {
			continue
		}
		if err := CheckKindName(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckKindName says what is wrong with the name of a kind, as far as that shows
// before any cluster is asked: some may serve kinds that nobody here knows of. One
// that is almost that of a known kind is a typing mistake, unless it comes with its
// group.
func CheckKindName(name string) error {
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

// kindNames are the names of the kinds that are known, each once.
func kindNames() []string {
	var names []string
	for _, k := range delegation.Kinds() {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// NounFor is what a query is for: Jobs, or objects where it is not for Jobs alone.
func NounFor(q read.Query) string {
	if q.OnlyJobs() {
		return "Jobs"
	}
	return "objects"
}

// RequireServed asks all clusters whether there is a kind for each of some names, as
// read.Served takes them. A name by which no cluster that answers serves any is an
// error: it is a mistake more often than not, and nothing would be found.
func RequireServed(ctx context.Context, env Environment, f *fleet.Fleet, names []string) error {
	unserved, errs := read.Unserved(ctx, f, names)
	if len(unserved) == 0 {
		return nil
	}
	TellErrors(env.ErrOut, errs)
	for i := range unserved {
		unserved[i] = fmt.Sprintf("%q", unserved[i])
	}
	message := fmt.Sprintf("no context serves kind %s with a managedBy field", strings.Join(unserved, " or "))
	if len(errs) > 0 {
		message = fmt.Sprintf("no context that was read serves kind %s with a managedBy field", strings.Join(unserved, " or "))
	}
	return errors.New(message + "; " + env.DisplayName() + " kinds lists the kinds of each context")
}
