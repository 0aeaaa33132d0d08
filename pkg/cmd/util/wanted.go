package util

import (
	"cmp"
	"errors"
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
	kind, name, hasKind := strings.Cut(args[0], "/")
	if !hasKind {
		kind, name = delegation.Job().Name, args[0]
	}
	w.Name = name
	if strings.TrimSpace(kind) != "" {
		if err := checkKindName(kind); err != nil {
			return w, err
		}
	}
	if strings.TrimSpace(kind) == "" || strings.TrimSpace(name) == "" || strings.Contains(name, "/") {
		return w, fmt.Errorf("%q is not of the form [KIND/]NAME. Set the namespace with -n", args[0])
	}
	if !delegation.Job().IsNamed(kind) {
		w.Kind = strings.ToLower(kind)
	}
	return w, nil
}

// ParseJobNames parses arguments of the form [KIND/]NAME.
func ParseJobNames(args []string) ([]read.Wanted, error) {
	var names []read.Wanted
	for _, arg := range args {
		w, err := ParseJobName([]string{arg})
		if err != nil {
			return nil, err
		}
		names = append(names, w)
	}
	return names, nil
}

// NamesOrSelectors returns kubectl's error if names of Jobs are given together with selectors.
func NamesOrSelectors(names []string, selectors ...string) error {
	if len(names) > 0 && strings.Join(selectors, "") != "" {
		return errors.New("name cannot be provided when a selector is specified")
	}
	return nil
}

// WithKinds adds the kinds of named objects to those of --kinds. Without any kind, only Jobs are read.
func WithKinds(kinds []string, names []read.Wanted) []string {
	needsKind := func(w read.Wanted) bool { return len(kinds) > 0 || w.Kind != "" }
	if slices.Contains(kinds, read.AllKinds) || !slices.ContainsFunc(names, needsKind) {
		return kinds
	}
	all := slices.Clone(kinds)
	for _, w := range names {
		if kind := cmp.Or(w.Kind, delegation.Job().Name); !slices.ContainsFunc(all, func(k string) bool { return isSameKind(k, kind) }) {
			all = append(all, kind)
		}
	}
	return all
}

// isSameKind reports whether two words name the same kind.
func isSameKind(a, b string) bool {
	kind, isKnown := delegation.KindNamed(a)
	return a == b || isKnown && kind.IsNamed(b)
}
