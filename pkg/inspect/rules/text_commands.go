package rules

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// command is what a shell takes as it is: one command, or several that are joined by
// its operators. Options are added to it as to any string.
type command string

// quote stands around commands in a remedy.
const quote = "`"

// String is the command as it stands in a remedy.
func (c command) String() string { return quote + string(c) + quote }

// kubectl is a command of kubectl's for a context, and for a namespace unless that is
// "". What is given to the format is names of the API, or words.
func kubectl(context, namespace, format string, args ...any) command {
	flags := " --context " + word(context)
	if namespace != "" {
		flags += " -n " + namespace
	}
	return command("kubectl" + flags + " " + fmt.Sprintf(format, args...))
}

// kubectlFor is kubectl with a verb for an object.
func kubectlFor(j *inspect.Job, verb string) command {
	return kubectl(j.Context, j.Namespace, "%s %s %s", verb, typeOf(j), j.Name)
}

// ours is one of our own commands for an object.
func ours(verb string, j *inspect.Job) command {
	return command(fmt.Sprintf("kubectl jobs-managedby %s %s -n %s --context %s", verb, argument(j), j.Namespace, word(j.Context)))
}

// word is a text as one word of a shell's. Contexts go by any name, the API server
// takes owners with a semicolon, and messages of clusters may hold anything.
func word(text string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.NewReplacer("'", `'"'"'`, quote, `'"$(printf '\140')"'`).Replace(text) + "'"
}

// prose is a text of somebody else's, with nothing in it that looks like a command
// of ours.
func prose(text string) string { return strings.ReplaceAll(text, quote, "'") }

// deleteJob is the command that deletes an object with its pods.
func deleteJob(j *inspect.Job) command { return kubectlFor(j, "delete") }

// podsOfKueue is the command that shows whether Kueue runs on a context.
func podsOfKueue(context string) command { return kubectl(context, kueue.Namespace, "get pods") }

// dispatchTo is the command that dispatches a Job to a namespace of a context, or
// goes on with the mirror that it has there.
func dispatchTo(j *inspect.Job, context, namespace string) command {
	c := ours("dispatch", j) + command(" --to "+word(context))
	if namespace != j.Namespace {
		c += command(" --namespace-to " + namespace)
	}
	return c + ownerFlag(j)
}

// newMirror has dispatch make another mirror where somebody has removed one, or go
// on with one that was made so.
const newMirror = " --new-mirror"

// cancel is the command that ends a dispatch.
func cancel(j *inspect.Job) command { return ours("cancel", j) + ownerFlag(j) }

// ownerFlag says whose a Job is to commands that take it for our own.
func ownerFlag(j *inspect.Job) command {
	if j.ManagedBy == delegation.Dispatch {
		return ""
	}
	return command(" --managed-by " + word(string(j.ManagedBy)))
}

// mayRecreate says whether the command recreate can give an object to an owner. What
// a mirror is has to be made by whoever made it.
func mayRecreate(j *inspect.Job, owner delegation.Owner) bool {
	row := j.Row()
	isName := owner.IsBuiltIn() || len(validation.IsDomainPrefixedPath(nil, string(owner))) == 0
	return isName && row.Allows(row.OwnerOf(string(owner))) && !row.Template && !isMirror(j) && j.DeletedAt == nil
}

// recreate is the command that deletes an object and creates it again for another
// owner. It leaves alone what runs, what is dispatched and what belongs to another
// object, unless told.
func recreate(j *inspect.Job, owner delegation.Owner) command {
	return recreateIn(j, owner, someQueue)
}

// someQueue stands for a LocalQueue that the reader has to choose.
const someQueue = "LOCALQUEUE"

// recreateIn is recreate, which puts an object that is in no queue into one, if it is
// given to MultiKueue.
func recreateIn(j *inspect.Job, owner delegation.Owner, queue string) command {
	name := string(owner)
	if owner.IsBuiltIn() {
		name = ""
	}
	c := ours("recreate", j) + command(" --managed-by "+word(name))
	if owner == delegation.MultiKueue && j.Queue() == "" {
		c += command(" --queue " + queue)
	}
	if isAtWork(j) || j.Controller != nil || !j.Status.IsFinished() && !pinned(j).IsZero() {
		c += " --force"
	}
	return c
}

// isAtWork says whether an object can be seen to run where it is.
func isAtWork(j *inspect.Job) bool {
	isRunning := j.Status == delegation.Running && !j.Row().IsJob()
	return !j.Status.IsFinished() && (isRunning || j.Active > 0 || j.StartTime != nil && !j.Suspended)
}
