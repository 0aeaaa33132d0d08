package printers

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// withOthers returns the message of a finding about several Jobs with the others, or their number.
func withOthers(f *inspect.Finding, message string) string {
	names, isJob := sets.New[string](), false
	for _, j := range f.Jobs {
		if j.Namespace == f.Namespace && j.Name == f.Name {
			// A mirror has the name of its origin.
			isJob = true
			continue
		}
		names.Insert(Safe(j.Namespace + "/" + j.Name))
	}
	switch {
	case len(names) == 0:
		return message
	case !isJob:
		return withJobs(message, sets.List(names))
	case strings.Contains(message, " "+inspect.Count(len(names)+1, "Job")):
		// The message is about all of them.
		return message
	}
	// Numbers and verbs of the message belong to the object alone.
	others := sets.List(names)[0]
	if len(names) > 1 {
		others = inspect.Count(len(names), "more Job")
	}
	if strings.HasSuffix(message, "?") {
		return message + " Also " + others
	}
	return strings.TrimSuffix(message, ".") + "; also " + others
}

// withJobs returns the message of a finding about another object than a Job, with the Job that it affects or
// their number, unless the message has it.
func withJobs(message string, names []string) string {
	text := "Job " + names[0]
	has := strings.Contains(message, names[0])
	if len(names) > 1 {
		text = inspect.Count(len(names), "Job")
		has = strings.HasPrefix(message, text+" ") || strings.Contains(message, " "+text+" ")
	}
	switch {
	case has:
		return message
	case strings.HasSuffix(message, "?"):
		return message + " Affects " + text
	}
	return strings.TrimSuffix(message, ".") + "; " + text
}

// maxNamedJobs is the maximum number of Jobs that are named unless all are wanted.
const maxNamedJobs = 5

func jobNames(jobs []inspect.Ref, all bool) string {
	var names []string
	known := map[string]bool{}
	for _, j := range jobs {
		// An origin and its mirror have the same name.
		if name := j.Namespace + "/" + j.Name; !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	if len(names) > maxNamedJobs && !all {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamedJobs], ", "), len(names)-maxNamedJobs)
	}
	return strings.Join(names, ", ")
}
