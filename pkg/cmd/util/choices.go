package util

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// OneOf completes what takes one of these values. They may have a description behind a tab. Case does not matter, and is kept as it
// was typed.
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

// Directive tells the shell about choices that are there to the last. Behind some,
// such as "jsonpath=" and "job/", the word goes on.
func Directive(choices []string) cobra.ShellCompDirective {
	goesOn := func(choice string) bool { return strings.HasSuffix(choice, "=") || strings.HasSuffix(choice, "/") }
	isAnEnd := func(choice string) bool { return !goesOn(choice) }
	if len(choices) > 0 && !slices.ContainsFunc(choices, isAnEnd) {
		return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// FirstOnly completes the first argument and no other.
func FirstOnly(first cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return first(cmd, args, typed)
	}
}

// ListOf completes the last of several values with commas between them, and leaves
// out those that stand there already. A mark in front of a value, if there is one,
// is kept.
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

// Files are what the shell itself completes.
func Files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Folders are, too.
func Folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Manifests are files of objects, and folders with them.
func Manifests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// Codes are check's, with what they mean.
func Codes() []string {
	var values []string
	for _, r := range rules.Catalogue() {
		values = append(values, cobra.CompletionWithDesc(r.Code, r.Title))
	}
	return values
}

// CompleteKinds completes a list of kinds, each told with what it is.
func CompleteKinds() cobra.CompletionFunc {
	var values []string
	for _, k := range delegation.Kinds() {
		what := k.Kind
		if k.Resource.Group != "" {
			what += " of " + k.Resource.Group
		}
		// A kind has a row for each of its versions that differ.
		if value := cobra.CompletionWithDesc(k.Name, what); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return ListOf(OneOf(append(values, cobra.CompletionWithDesc(read.AllKinds, "every kind that is known or found"))...), "")
}
