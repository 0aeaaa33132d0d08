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
