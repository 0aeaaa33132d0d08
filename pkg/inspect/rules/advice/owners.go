package advice

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// RemoveTTL returns the command that removes a Job's TTL.
func RemoveTTL(j *inspect.Job) command.Command { return SetField(j, j.Row().TTL(), nil) }

// SetField returns the command that sets a field of a Job to a string, or removes it with nil.
func SetField(j *inspect.Job, path []string, value any) command.Command {
	return KubectlJob(j, "patch").With("--type=merge", "-p", command.Patch(value, path...))
}

// CanChangeOwner reports whether the managedBy of an existing object can be set or removed.
func CanChangeOwner(j *inspect.Job) bool {
	row := j.Row()
	return !row.IsUnmanaged() && (row.Change == delegation.Always || row.Change == delegation.WhileSet)
}

// Disown returns how to have a Job run by its built-in controller. It depends on the kind
// whether managedBy can be removed.
func Disown(v *view.View, j *inspect.Job) command.Prose {
	row := j.Row()
	change := SetField(j, row.ManagedBy, nil).Prose()
	switch {
	case !CanChangeOwner(j):
		change = Recreation(v, j, delegation.BuiltIn)
	case row.Discovered:
		change = command.Say("%s; if that is refused, %s", change, Recreation(v, j, delegation.BuiltIn))
	}
	return givenTo(delegation.BuiltIn, change)
}

// GiveTo returns how to give a Job to an owner.
func GiveTo(v *view.View, j *inspect.Job, owner delegation.Owner) command.Prose {
	row := j.Row()
	change := SetField(j, row.ManagedBy, string(owner)).Prose()
	switch {
	case !CanChangeOwner(j):
		change = Recreation(v, j, owner)
	case row.Change == delegation.WhileSet && !j.ManagedBy.IsBuiltIn():
		// One value cannot be replaced by another, but by none.
		change = command.Say("%s, and then %s", SetField(j, row.ManagedBy, nil), change)
	case row.Discovered:
		change = command.Say("%s; if that is refused, %s", change, Recreation(v, j, owner))
	}
	return givenTo(owner, change)
}

// givenTo returns a remedy that gives a Job to an owner, with a text that says so if the remedy begins with a
// command.
func givenTo(owner delegation.Owner, remedy command.Prose) command.Prose {
	if parts := remedy.Parts(); len(parts) == 0 || !parts[0].IsCommand {
		return remedy
	}
	name := string(owner)
	switch {
	case owner.IsBuiltIn():
		name = "the built-in controller"
	case owner == delegation.MultiKueue:
		name = "MultiKueue"
	}
	return command.Say("give it to %s: %s", name, remedy)
}

// ControllerOf returns the object that controls a Job, as far as the Job names it; nil if none does.
func ControllerOf(j *inspect.Job) *inspect.Job {
	c := j.Controller
	if c == nil {
		return nil
	}
	return &inspect.Job{Context: j.Context, APIVersion: c.APIVersion, Kind: c.Kind, Namespace: j.Namespace, Name: c.Name}
}

// alsoOwner adds to a remedy that gives a Job another owner how to change what creates the Job, if
// something does: it would repeat the old one.
func alsoOwner(remedy command.Prose, j *inspect.Job, owner delegation.Owner) command.Prose {
	var value any
	if !owner.IsBuiltIn() {
		value = string(owner)
	}
	return alsoInTemplate(remedy, j, value, func(template delegation.Kind) []string { return template.ManagedBy })
}

// alsoQueue adds to a remedy that gives a Job another queue how to change what creates the Job, if
// something does: it would repeat the old one.
func alsoQueue(remedy command.Prose, j *inspect.Job, queue string) command.Prose {
	return alsoInTemplate(remedy, j, queue, func(template delegation.Kind) []string { return template.QueueLabel })
}

// alsoInTemplate adds to a remedy for a Job how to set a field of the template that it is created from.
func alsoInTemplate(remedy command.Prose, j *inspect.Job, value any, field func(delegation.Kind) []string) command.Prose {
	c := ControllerOf(j)
	if c == nil {
		return remedy
	}
	if row := c.Row(); row.Template && field(row) != nil {
		return command.Say("%s; also change %s %s, which creates it: %s", remedy, c.Kind, c.Name, SetField(c, field(row), value))
	}
	return command.Say("%s; also change %s %s, which creates it", remedy, c.Kind, c.Name)
}

// Recreation returns how to recreate a Job for another owner, if the owner of its kind cannot
// change.
func Recreation(v *view.View, j *inspect.Job, owner delegation.Owner) command.Prose {
	field := quote.OwnerField(j.Row())
	switch {
	case CanRecreate(j, owner):
		return alsoOwner(Recreate(v, j, owner).Prose(), j, owner)
	case owner.IsBuiltIn() && mustLeaveQueue(v, j, owner):
		return CreateAgainWith(j, "without "+field+" and without the label "+delegation.QueueNameLabel)
	case owner.IsBuiltIn():
		return CreateAgainWith(j, "without "+field)
	}
	return CreateAgainWith(j, "with "+field+": "+string(owner))
}

// CanDispatch reports whether the command dispatch takes objects of a kind with our own owner.
func CanDispatch(row delegation.Kind) bool { return !row.Template && row.Allows(delegation.Dispatch) }
