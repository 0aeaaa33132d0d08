package util

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// ParseJobName parses [KIND/]NAME.
func ParseJobName(args []string) (read.Wanted, error) {
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
	if err := checkKindName(kind); err != nil {
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

// ParseJobNames parses arguments of the form [KIND/]NAME, for Jobs in a namespace.
func ParseJobNames(args []string, namespace string) ([]read.Wanted, error) {
	var names []read.Wanted
	for _, arg := range args {
		w, err := ParseJobName([]string{arg})
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

// WithKinds adds the kinds of named Jobs to those of --kinds. Without any kind, only Jobs are read.
func WithKinds(kinds []string, names []read.Wanted) []string {
	hasKind := func(w read.Wanted) bool { return w.Kind != "" }
	if slices.Contains(kinds, read.AllKinds) || !slices.ContainsFunc(names, hasKind) {
		return kinds
	}
	all := slices.Clone(kinds)
	for _, w := range names {
		switch {
		case hasKind(w) && !slices.Contains(all, w.Kind):
			all = append(all, w.Kind)
		case !hasKind(w) && len(kinds) == 0 && !slices.Contains(all, delegation.Job().Name):
			all = append(all, delegation.Job().Name)
		}
	}
	return all
}
