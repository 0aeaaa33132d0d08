package rules

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/actors"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/dispatched"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/engagement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/kinds"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/orphans"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/owners"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/plumbing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/prose"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/running"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/setup"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/waiting"
)

// Rule is one way in which delegated Jobs go wrong.
type Rule = view.Rule

// All returns the rules that judge Jobs, in the order of their codes.
func All() []Rule {
	return withText(slices.Concat(plumbing.Rules(), engagement.Rules(), waiting.Rules(), running.Rules(), actors.Rules(), orphans.Rules(), owners.Rules(), dispatched.Rules(), kinds.Rules()))
}

// withText adds to rules the texts of their codes, and sorts them by code.
func withText(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Text = prose.Of(rules[i].Code)
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.Code, b.Code) })
	return rules
}

// Catalogue returns all rules: those of All, and those that only doctor runs,
// because they read objects that no Job depends on.
func Catalogue() []Rule { return append(All(), withText(setup.Rules())...) }

// ForSetup returns the rules that doctor runs. They find what is wrong before
// any Job is submitted.
func ForSetup() []Rule {
	return slices.DeleteFunc(Catalogue(), func(r Rule) bool { return !r.Setup })
}

// ByCode returns the rule with a code. It returns false if there is none.
func ByCode(code string) (Rule, bool) {
	for _, r := range Catalogue() {
		if r.Code == code {
			return r, true
		}
	}
	return Rule{}, false
}

// Undetectable is a code of the catalogue that cannot be detected from outside
// the controllers, with the reason.
type Undetectable struct{ Code, Title, Reason string }

// UndetectableCodes returns these codes in order.
func UndetectableCodes() []Undetectable {
	return []Undetectable{{
		Code: "JM051", Title: "a StatefulSet or LeaderWorkerSet is never ready where it was submitted",
		Reason: "MultiKueue does not copy the status of these kinds, by design: their own controller would overwrite it. Read the mirror",
	}}
}
