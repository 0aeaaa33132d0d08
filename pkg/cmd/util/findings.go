package util

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// FailOnNone is the value with which no finding changes the exit code.
const FailOnNone = "none"

// AddFindingsFlags adds the flags that choose findings.
func AddFindingsFlags(cmd *cobra.Command, failOn *string, suppress *[]string) {
	flags := cmd.Flags()
	flags.StringVar(failOn, "fail-on", string(inspect.Warning), "The lowest severity that causes exit code 3, and a failure in -o junit. One of: (error, warning, info, none)")
	Describe(cmd, ForFindings, OneOf(failOnValues()...), "fail-on")
	flags.StringSliceVar(suppress, "suppress", nil, "Findings to leave out, comma-separated: CODE, or CODE=NAMESPACE/NAME with * as wildcard; CODE=/NAME for an object without a namespace, such as a MultiKueueCluster")
	Describe(cmd, ForFindings, ListOf(OneOf(Codes()...), ""), "suppress")
}

func failOnValues() []string {
	var values []string
	for _, s := range inspect.Severities() {
		values = append(values, string(s))
	}
	return append(values, FailOnNone)
}

// ValidateFailOn returns an error if --fail-on has no such value.
func ValidateFailOn(value string) error {
	if !slices.Contains(failOnValues(), value) {
		return fmt.Errorf("unknown --fail-on %q; choose one of error, warning, info, none", value)
	}
	return nil
}

// Fails returns which severities count as failures: those at or above failOn.
func Fails(failOn inspect.Severity) func(inspect.Severity) bool {
	return func(s inspect.Severity) bool { return failOn != FailOnNone && s.IsAtLeast(failOn) }
}

// Verdict returns a *FindingsError if a finding is at least as severe as failOn, otherwise nil.
func Verdict(items []inspect.Finding, failOn inspect.Severity) error {
	isFailure := Fails(failOn)
	for i := range items {
		if isFailure(items[i].Severity) {
			return &FindingsError{Count: printers.CountFindings(&inspect.FindingList{Items: items})}
		}
	}
	return nil
}
