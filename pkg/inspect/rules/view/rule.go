package view

import (
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/prose"
)

// Rule is one way for delegated Jobs to go wrong.
type Rule struct {
	// Code is JM and three digits. A code is never reused.
	Code string
	// Text describes the rule. The registry sets it from package prose.
	prose.Text
	Severity inspect.Severity
	// Reads are the parts that the rule reads. If one of them could not be read, the rule skips what
	// depends on it, and the user is informed.
	Reads []inspect.Part
	// GracePeriod is how long the state may last before it is a problem, if that is longer than the
	// grace period of the user.
	GracePeriod time.Duration
	// IsProgress is for rules about progress. Such a rule informs within the grace period, except
	// at its very beginning, and warns after it.
	IsProgress bool
	// SumsUp is for rules that report what the sightings of all other rules have in common.
	SumsUp bool
	// Undated is for rules that depend on absence, which has no date. Clusters are not read at one
	// instant, so two readings must agree.
	Undated bool
	// Setup is for rules about the set-up, whether or not Jobs depend on it. Their findings concern
	// every Job whose chain contains the object.
	Setup bool
	// Covers are codes that say less about the same object. Findings with these codes are dropped if
	// this rule reports the object.
	Covers []string
	// Detect reports what it finds.
	Detect func(*View)
}

// The codes that package answer treats like package rules.
const (
	// NeverAdmitted is the code of a Job whose requests fit into no queue.
	NeverAdmitted = "JM029"
	// BehindOthers is the code of Jobs that wait behind another Job. For a Job that never fits, it becomes
	// NeverAdmitted.
	BehindOthers = "JM115"
)

// Docs returns the address of the rule's documentation.
func (r Rule) Docs() string { return docs + strings.ToLower(r.Code) }

// docs is the page with a section for each code.
const docs = "https://github.com/jobmanagedby/kubectl-jobmanagedby/blob/main/docs/codes.md#"
