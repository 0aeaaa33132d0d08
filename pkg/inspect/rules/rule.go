// Package rules judges an inventory: each rule is a value that says what it looks
// for, and finds it. Rules read nothing but the inventory, and only through a
// View, so that they hold for a live fleet, a watched one and a recorded one
// alike.
package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Rule is one way for delegated Jobs to go wrong.
type Rule struct {
	// Code is JM and three digits; it is never used for anything else. New
	// rules take the next number of their family.
	Code string
	// Title names what is wrong in a few words.
	Title string
	// Holds says what is true where the rule finds nothing. Reports of what passed name it.
	Holds    string
	Severity inspect.Severity
	// Reads are the parts that it judges by. Where one of them could not be read,
	// the rule does not judge what hangs on it, and the user is told so.
	Reads []inspect.Part
	// Why says how it comes about, Shows how it looks from outside, and Remedy
	// what to do, each in prose for explain.
	Why, Shows, Remedy string
	// Link is where it is documented or discussed.
	Link string
	// GracePeriod is how long the state may last before it is wrong, where that is
	// longer than the grace that a user gives.
	GracePeriod time.Duration
	// Goes says that the rule tells of what goes on: within a grace it does so for
	// information, unless it is hardly begun, and beyond it warns.
	Goes bool
	// SumsUp says that the rule tells what the sightings of all others have in common.
	SumsUp bool
	// Undated says that the rule goes by what is not there, which nobody dates: as
	// clusters are not read at one instant, it takes two readings to be sure.
	Undated bool
	// Setup says that it judges how something is set up, whether Jobs hang on it or not, so
	// that it concerns every Job whose way leads there.
	Setup bool
	// Covers are codes that say less about the same object: theirs are dropped
	// where this one is found.
	Covers []string
	// Detect reports what it sees.
	Detect func(*View)
}

// Object is what a finding is about.
type Object struct{ Context, APIVersion, Kind, Namespace, Name string }

// Sighting is what a rule has seen.
type Sighting struct {
	Object Object
	// Since is when it began, by the clock of the object's cluster; the zero time
	// where nobody dated it, which counts as long ago.
	Since time.Time
	// GracePeriod is how long this may last before it is wrong, where that is longer than
	// the grace that a user gives; no grace at all is obeyed.
	GracePeriod time.Duration
	// Message says in a line what is wrong, with real names.
	Message string
	// Evidence quotes fields of objects: which, on which cluster, since when.
	Evidence []string
	// Remedy is what a person can do, with real names in it.
	Remedy command.Prose
	// Tell, unless it is nil, puts into the sighting what Message, Evidence and Remedy lack.
	// It is for sightings of which thousands may have one Cause: few of these are told.
	Tell func(*Sighting)
	// Severity is the rule's own unless set.
	Severity inspect.Severity
	// Awaits is who has to act for it to pass, where it rests on nothing having been
	// done. Where that actor is at work and just behind, the sighting becomes part of
	// what JM114 tells of the actor; nil where the sighting rests on what is there.
	Awaits *Awaited
	// Jobs are those that hang on it.
	Jobs []*inspect.Job
	// Cause joins what one cause brings about: sightings of a rule with the same
	// Cause become one finding, with the Jobs of all. The object is then the first
	// one's.
	Cause string
}

// Of is a Job as the object of a finding.
func Of(j *inspect.Job) Object {
	return Object{Context: j.Context, APIVersion: j.APIVersion, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name}
}

// OfKueue is an object of Kueue's as the object of a finding.
func OfKueue(f *inspect.Facts, kind, namespace, name string) Object {
	return Object{Context: f.Context, APIVersion: "kueue.x-k8s.io/" + f.Kueue.Version, Kind: kind, Namespace: namespace, Name: name}
}

// All are the rules that Jobs are judged by, in the order of their codes.
func All() []Rule {
	return slices.Concat(plumbing(), engagement(), waiting(), running(), orphans(), owners(), lives(), stalls(), steps(), dispatching(), kinds())
}

// Catalogue are all rules: those of All, and those that only doctor judges, since they read
// what no Job depends on.
func Catalogue() []Rule { return append(All(), setup()...) }

// ForSetup are the rules that doctor judges: whatever is wrong before any Job is submitted.
func ForSetup() []Rule {
	return slices.DeleteFunc(Catalogue(), func(r Rule) bool { return !r.Setup })
}

// ByCode finds a rule.
func ByCode(code string) (Rule, bool) {
	for _, r := range Catalogue() {
		if r.Code == code {
			return r, true
		}
	}
	return Rule{}, false
}

// Docs is where the rule is told of at length.
func (r Rule) Docs() string { return docs + strings.ToLower(r.Code) }

// docs is the page that holds a section for every code.
const docs = "https://github.com/jobmanagedby/kubectl-jobmanagedby/blob/main/docs/codes.md#"
