package inspect

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// Finding is one thing that is wrong with one object.
type Finding struct {
	// Code is the code of the rule, such as JM013.
	Code string `json:"code"`
	// Severity is how bad it is.
	Severity Severity `json:"severity"`
	// Title is what the rule finds, in general.
	Title string `json:"title"`
	// Message says what is wrong, and names its subject.
	Message string `json:"message"`
	// Context is where the object is.
	Context string `json:"context"`
	// APIVersion is that of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the object.
	Kind string `json:"kind"`
	// Namespace is that of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace"`
	// Name is that of the object.
	Name string `json:"name"`
	// Evidence quotes the fields that show it.
	Evidence []string `json:"evidence"`
	// Since is when the problem began, by the clock of the object's cluster; null where
	// nothing dates it.
	Since *metav1.Time `json:"since"`
	// Young is true where the problem is younger than its grace period, so that check does
	// not report it yet.
	Young bool `json:"young,omitempty"`
	// Fingerprint identifies the problem in every later run with the same context names.
	Fingerprint string `json:"fingerprint"`
	// Fixes are ways to solve it, the best first.
	Fixes []command.Fix `json:"fixes"`
	// Remedy is Fixes as one text. Commands in it stand in backquotes, one or several that a
	// shell joins, and a shell takes them as they are; words in capitals, such as
	// CONTEXT and FILE, are for the reader to replace.
	Remedy string `json:"remedy"`
	// Jobs are those that hang on it; the object itself may be something else.
	Jobs []Ref `json:"jobs"`
	// Cost is what a Job that no cluster can run holds on the management cluster; absent if it
	// holds nothing, or could run.
	Cost *Cost `json:"cost,omitempty"`
	// Docs is where to read on.
	Docs string `json:"docs"`
}

// FindingList is what check prints.
type FindingList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are sorted, the worst first.
	Items []Finding `json:"items"`
	// Summary counts what was checked and found.
	Summary CheckSummary `json:"summary"`
	// Unchecked is what the answer depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts, and the parts of them, that could not be read,
	// and the codes that were therefore not judged there.
	Errors []ContextError `json:"errors"`
}

// FindingEventType is what happened to a finding.
type FindingEventType string

// What happens to findings while check watches.
const (
	FindingAppeared FindingEventType = "new"
	FindingCleared  FindingEventType = "cleared"
)

// FindingEventTypes returns all of them.
func FindingEventTypes() []FindingEventType {
	return []FindingEventType{FindingAppeared, FindingCleared}
}

// FindingEvent is what a command of check --exec reads from standard input.
type FindingEvent struct {
	metav1.TypeMeta `json:",inline"`
	// Time is when check noticed it, by the clock of the machine that runs check.
	Time metav1.Time `json:"time"`
	// Event is what happened.
	Event FindingEventType `json:"event"`
	// Finding is the finding; if it is cleared, as it was last seen.
	Finding Finding `json:"finding"`
}

// NewFindingEvent returns an event about a finding, without its time.
func NewFindingEvent(event FindingEventType, f Finding) *FindingEvent {
	return &FindingEvent{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "FindingEvent"}, Event: event, Finding: f}
}

// CheckSummary counts what check has checked and found.
type CheckSummary struct {
	// Errors, Warnings and Infos are how many findings there are of each severity.
	Errors int `json:"errors"`
	// Warnings is how many findings are of severity warning.
	Warnings int `json:"warnings"`
	// Infos is how many findings are of severity info.
	Infos int `json:"infos"`
	// Jobs is how many delegated Jobs were checked, and Clusters on how many clusters.
	Jobs int `json:"jobs"`
	// Clusters is on how many clusters they were checked.
	Clusters int `json:"clusters"`
	// Young is how many findings are withheld because they are younger than the grace
	// period; GraceSeconds is that period.
	Young int `json:"young"`
	// GraceSeconds is the grace period in seconds.
	GraceSeconds int `json:"graceSeconds"`
}

// Unchecked is something that an answer depends on and that could not be read.
type Unchecked struct {
	// What names it, such as "Workloads" or "worker paris".
	What string `json:"what"`
	// Contexts are where it could not be read; empty where no context reaches it.
	Contexts []string `json:"contexts"`
	// Reason says why.
	Reason string `json:"reason"`
}

// Everything is the What of a context of which nothing could be read.
const Everything = "everything"

// Unread returns what could not be read and was therefore not checked, one entry for each
// reason: a restricted user may not read much, and one line says so.
func Unread(errs []ContextError) []Unchecked {
	found := []Unchecked{}
	add := func(what, context, reason string) {
		i := slices.IndexFunc(found, func(u Unchecked) bool { return u.What == what && u.Reason == reason })
		if i < 0 {
			i = len(found)
			found = append(found, Unchecked{What: what, Reason: reason})
		}
		if !slices.Contains(found[i].Contexts, context) {
			found[i].Contexts = append(found[i].Contexts, context)
		}
	}
	refused := map[string][]string{}
	var contexts []string
	for _, e := range errs {
		switch {
		case e.Part == "":
			add(Everything, e.Context, e.Cause)
		case e.Refusal != nil:
			if refused[e.Context] == nil {
				contexts = append(contexts, e.Context)
			}
			if !slices.Contains(refused[e.Context], e.Refusal.Resource) {
				refused[e.Context] = append(refused[e.Context], e.Refusal.Resource)
			}
		default:
			add(string(e.Part), e.Context, e.Cause)
		}
	}
	for _, context := range contexts {
		add(strings.Join(refused[context], ", "), context, "you may not read them")
	}
	return found
}

// NewFindingList makes an empty list.
func NewFindingList() *FindingList {
	return &FindingList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "FindingList"},
		Items:    []Finding{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *FindingList) DeepCopyObject() runtime.Object {
	c := &FindingList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Summary: l.Summary, Errors: slices.Clone(l.Errors)}
	c.Unchecked = slices.Clone(l.Unchecked)
	for i := range c.Items {
		c.Items[i].Evidence, c.Items[i].Jobs = slices.Clone(c.Items[i].Evidence), slices.Clone(c.Items[i].Jobs)
		c.Items[i].Since, c.Items[i].Fixes = c.Items[i].Since.DeepCopy(), slices.Clone(c.Items[i].Fixes)
		c.Items[i].Cost = c.Items[i].Cost.deepCopy()
	}
	return c
}

// IsAtLeast says whether a severity is as bad as another one, or worse.
func (s Severity) IsAtLeast(other Severity) bool {
	return s.Compare(other) <= 0
}

// Compare is negative where s is worse than another severity.
func (s Severity) Compare(other Severity) int {
	return cmp.Compare(slices.Index(Severities(), s), slices.Index(Severities(), other))
}
