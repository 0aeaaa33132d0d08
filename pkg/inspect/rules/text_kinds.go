package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// typeOf is an object's kind as kubectl takes it in front of a name.
func typeOf(j *inspect.Job) string {
	row := j.Row()
	if row.IsJob() {
		return row.Name
	}
	return row.String()
}

// typesOf is an object's kind as kubectl takes it for several of them.
func typesOf(j *inspect.Job) string {
	row := j.Row()
	switch {
	case row.Resource.Resource == "":
		// It may serve as the name of the resource as well.
		return row.String()
	case row.IsJob(), row.Resource.Group == "":
		return row.Resource.Resource
	}
	return row.Resource.Resource + "." + row.Resource.Group
}

// plural is what several objects of an object's kind are called.
func plural(j *inspect.Job) string { return j.Kind + "s" }

// ownerField is the field of an object that names its owner.
func ownerField(j *inspect.Job) string { return fieldOf(j.Row()) }

// fieldOf is the field of a kind that names the owner.
func fieldOf(row delegation.Kind) string {
	if row.IsUnmanaged() {
		return "spec.managedBy"
	}
	return strings.Join(row.ManagedBy, ".")
}

// ownerOf quotes who an object's owner is.
func ownerOf(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s is %s", j.Context, ownerField(j), named(Of(j)), j.ManagedBy)
}

// ttlOf quotes after how long an object is deleted, which has a TTL.
func ttlOf(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s is %d", j.Context, strings.Join(j.Row().TTL(), "."), named(Of(j)), *j.TTL)
}

// withoutTTL is the command that takes an object's TTL away.
func withoutTTL(j *inspect.Job) command.Command { return set(j, j.Row().TTL(), nil) }

// set is the command that gives a field of an object a value, which is null or a
// string.
func set(j *inspect.Job, path []string, value any) command.Command {
	return kubectlFor(j, "patch").With("--type=merge", "-p", command.Patch(value, path...))
}

// mayChange says whether an object's managedBy can be set or taken off once it is
// there.
func mayChange(j *inspect.Job) bool {
	row := j.Row()
	return !row.IsUnmanaged() && (row.Change == delegation.Always || row.Change == delegation.WhileSet)
}

// disown is what to do to have an object run by its own controller. Whether its
// owner can be taken off depends on the kind.
func disown(j *inspect.Job) command.Prose {
	row := j.Row()
	change := set(j, row.ManagedBy, nil).Prose()
	switch {
	case !mayChange(j):
		return makeAnew(j, delegation.BuiltIn)
	case row.Discovered:
		return command.Say("%s; if that is refused, %s", change, makeAnew(j, delegation.BuiltIn))
	}
	return change
}

// giveTo is what to do to have an object managed by an owner.
func giveTo(j *inspect.Job, owner delegation.Owner) command.Prose {
	row := j.Row()
	change := set(j, row.ManagedBy, string(owner)).Prose()
	switch {
	case !mayChange(j):
		return makeAnew(j, owner)
	case row.Change == delegation.WhileSet && !j.ManagedBy.IsBuiltIn():
		// One value cannot be replaced by another, but by none.
		return command.Say("%s, and then %s", set(j, row.ManagedBy, nil), change)
	case row.Discovered:
		return command.Say("%s; if that is refused, %s", change, makeAnew(j, owner))
	}
	return change
}

// makeAnew is what to do to have an object of a kind whose owner cannot be changed
// managed by another.
func makeAnew(j *inspect.Job, owner delegation.Owner) command.Prose {
	field := fieldOf(j.Row())
	switch {
	case mayRecreate(j, owner) && j.Controller != nil:
		return command.Say("%s; %s %s, which it belongs to, has to be changed too", recreate(j, owner), j.Controller.Kind, j.Controller.Name)
	case mayRecreate(j, owner):
		return recreate(j, owner).Prose()
	case owner.IsBuiltIn():
		return command.Say("%s, and create it again without %s", deleteJob(j), field)
	}
	return command.Say("%s, and create it again with %s: %s", deleteJob(j), field, owner)
}

// mayDispatch says whether the command dispatch takes objects of a kind under our own
// owner.
func mayDispatch(row delegation.Kind) bool { return !row.Template && row.Allows(delegation.Dispatch) }

// argument is an object as an argument of our commands: KIND/NAME, but for a Job.
func argument(j *inspect.Job) string {
	if row := j.Row(); !row.IsJob() {
		return row.String() + "/" + j.Name
	}
	return j.Name
}
