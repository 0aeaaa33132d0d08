package util

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// OneOf completes one of some values, which may have a description behind a tab. It ignores case,
// and keeps the case that was typed.
func OneOf(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var found []string
		for _, value := range values {
			if len(value) >= len(typed) && strings.EqualFold(value[:len(typed)], typed) {
				found = append(found, typed+value[len(typed):])
			}
		}
		return found, Directive(found)
	}
}

// Directive returns the directive for a complete list of choices. After some, such as "jsonpath="
// and "job/", the word continues.
func Directive(choices []string) cobra.ShellCompDirective {
	isPrefix := func(choice string) bool { return strings.HasSuffix(choice, "=") || strings.HasSuffix(choice, "/") }
	isComplete := func(choice string) bool { return !isPrefix(choice) }
	if len(choices) > 0 && !slices.ContainsFunc(choices, isComplete) {
		return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// FirstOnly completes only the first argument.
func FirstOnly(first cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return first(cmd, args, typed)
	}
}

// ListOf completes the last of several comma-separated values, and leaves out those that are
// already there. A mark in front of a value, if there is one, is kept.
func ListOf(one cobra.CompletionFunc, mark string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		behind := strings.LastIndex(typed, ",") + 1
		given := strings.Split(typed[:behind], ",")
		if mark != "" && strings.HasPrefix(typed[behind:], mark) {
			behind += len(mark)
		}
		values, directive := one(cmd, args, typed[behind:])
		var found []string
		for _, value := range values {
			name, _, _ := strings.Cut(value, "\t")
			if !slices.Contains(given, name) && !slices.Contains(given, mark+name) {
				found = append(found, typed[:behind]+value)
			}
		}
		return found, directive
	}
}

// Files lets the shell complete names of files.
func Files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Directories lets the shell complete names of directories.
func Directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Manifests lets the shell complete names of manifests and their directories.
func Manifests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// Codes returns the codes of check with their titles.
func Codes() []string {
	var values []string
	for _, r := range rules.Catalogue() {
		values = append(values, cobra.CompletionWithDesc(r.Code, r.Title))
	}
	return values
}

// completeKinds completes a list of kinds, each with a description.
func completeKinds() cobra.CompletionFunc {
	var values []string
	for _, k := range delegation.Kinds() {
		what := k.Kind
		if k.Resource.Group != "" {
			what += " of " + k.Resource.Group
		}
		// A kind has several entries if its versions differ.
		if value := cobra.CompletionWithDesc(k.Name, what); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return ListOf(OneOf(append(values, cobra.CompletionWithDesc(read.AllKinds, "every kind that is known or found"))...), "")
}
