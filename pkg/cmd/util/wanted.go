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
	kind, name, err := SplitName(args[0])
	if kind != "" {
		if err := checkKindName(kind); err != nil {
			return w, err
		}
	}
	if err != nil {
		return w, err
	}
	w.Name = name
	if kind != "" && !delegation.Job().IsNamed(kind) {
		w.Kind = strings.ToLower(kind)
	}
	return w, nil
}

// SplitName splits an argument of the form [KIND/]NAME. The kind is "" without one. The error says that the
// argument has another form.
func SplitName(arg string) (kind, name string, err error) {
	kind, name, hasKind := strings.Cut(arg, "/")
	if !hasKind {
		kind, name = "", arg
	}
	kind = strings.TrimSpace(kind)
	if hasKind && kind == "" || strings.TrimSpace(name) == "" || strings.Contains(name, "/") {
		err = fmt.Errorf("%q is not of the form [KIND/]NAME. Set the namespace with -n", arg)
	}
	return kind, name, err
}

// QueueKinds returns the kinds of Kueue's queues, with their names in kubectl (kueue: apis/kueue/v1beta2).
func QueueKinds() []delegation.Kind {
	of := func(kind string, shortNames ...string) delegation.Kind {
		name := strings.ToLower(kind)
		return delegation.Kind{Kind: kind, Name: name, ShortNames: shortNames, Resource: delegation.KueueResources(name + "s")[0]}
	}
	return []delegation.Kind{of("ClusterQueue", "cq"), of("Cohort"), of("LocalQueue", "queue", "queues", "lq")}
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
