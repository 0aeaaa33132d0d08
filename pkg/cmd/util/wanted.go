package util

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// WantedJob reads [KIND/]NAME.
func WantedJob(args []string) (read.Wanted, error) {
	var w read.Wanted
	if len(args) == 0 {
		return w, nil
	}
	kind, name, ok := strings.Cut(args[0], "/")
	if !ok {
		w.Name = args[0]
		return w, nil
	}
	w.Name = name
	if err := CheckKindName(kind); err != nil {
		return w, err
	}
	if name == "" || strings.Contains(name, "/") {
		return w, fmt.Errorf("%q is not of the form [KIND/]NAME. Set the namespace with -n", args[0])
	}
	if !delegation.Job().IsNamed(kind) {
		w.Kind = strings.ToLower(kind)
	}
	return w, nil
}

// WantedJobs reads arguments of the form [KIND/]NAME.
func WantedJobs(args []string, namespace string) ([]read.Wanted, error) {
	var names []read.Wanted
	for _, arg := range args {
		w, err := WantedJob([]string{arg})
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(w.Name) == "" {
			return nil, fmt.Errorf("%q is not a name", arg)
		}
		w.Namespace = namespace
		names = append(names, w)
	}
	return names, nil
}
