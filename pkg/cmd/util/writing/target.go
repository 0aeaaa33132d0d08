// Package writing has what the commands that write to clusters share: the named objects, the
// clusters, and the view of events.
package writing

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// Target is an object that the user names as [KIND/]NAME.
type Target struct {
	// Kind is "" for a Job.
	Kind, Name string
}

// ParseTargets parses the names of objects, and drops repeated ones.
func ParseTargets(args []string) ([]Target, error) {
	var targets []Target
	for _, arg := range args {
		w, err := util.ParseJobName([]string{arg})
		if err != nil {
			return nil, err
		}
		if t := (Target{w.Kind, w.Name}); !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets, nil
}
