package cmd

import (
	"errors"
	"slices"
)

// target is an object that the user names as [KIND/]NAME.
type target struct {
	// kind is "" for a Job.
	kind, name string
}

// targetsOf reads the names of objects, each of which is named once.
func targetsOf(args []string) ([]target, error) {
	var targets []target
	for _, arg := range args {
		w, err := wantedJob([]string{arg})
		if err != nil {
			return nil, err
		}
		if w.Name == "" {
			return nil, errors.New("a NAME is empty")
		}
		if t := (target{w.Kind, w.Name}); !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets, nil
}
