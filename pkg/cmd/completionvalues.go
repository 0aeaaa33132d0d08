package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// oneOf completes what takes one of these values. They may have a description behind a tab. Case does not matter, and is kept as it
// was typed.
func oneOf(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var found []string
		for _, value := range values {
			if len(value) >= len(typed) && strings.EqualFold(value[:len(typed)], typed) {
				found = append(found, typed+value[len(typed):])
			}
		}
		return found, directive(found)
	}
}

// directive tells the shell about choices that are there to the last. Behind some,
// such as "jsonpath=" and "job/", the word goes on.
func directive(choices []string) cobra.ShellCompDirective {
	goesOn := func(choice string) bool { return strings.HasSuffix(choice, "=") || strings.HasSuffix(choice, "/") }
	isAnEnd := func(choice string) bool { return !goesOn(choice) }
	if len(choices) > 0 && !slices.ContainsFunc(choices, isAnEnd) {
		return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// firstOnly completes the first argument and no other.
func firstOnly(first cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return first(cmd, args, typed)
	}
}

// list completes the last of several values with commas between them, and leaves
// out those that stand there already. A mark in front of a value, if there is one,
// is kept.
func list(one cobra.CompletionFunc, mark string) cobra.CompletionFunc {
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

// files and folders are what the shell itself completes.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// manifests are files of objects, and folders with them.
func manifests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// codes are check's, with what they mean.
func codes() []string {
	var values []string
	for _, r := range rules.All() {
		values = append(values, cobra.CompletionWithDesc(r.Code, r.Title))
	}
	return values
}

// completeKinds completes a list of kinds, each told with what it is.
func completeKinds() cobra.CompletionFunc {
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
	return list(oneOf(append(values, cobra.CompletionWithDesc(inspect.AllKinds, "every kind that is known or found"))...), "")
}
