package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Severity says how severe a finding is.
type Severity string

// The severities, the most severe first.
const (
	// Error means that Jobs do not run, run twice or are lost until a person acts.
	Error Severity = "error"
	// Warning means that Jobs may not run, or hold resources for nothing.
	Warning Severity = "warning"
	// Info means that the state may be intended, or ends without a person.
	Info Severity = "info"
)

// Severities returns all severities, the most severe first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// Finding is one problem of one object.
type Finding struct {
	// Code is the code of the rule, such as JM013.
	Code string `json:"code"`
	// Severity is how severe the problem is.
	Severity Severity `json:"severity"`
	// Title is what the rule detects, in general.
	Title string `json:"title"`
	// Message says what is wrong, and names the object.
	Message string `json:"message"`
	// Context is the context of the object.
	Context string `json:"context"`
	// APIVersion is the API version of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Evidence quotes the fields that show the problem.
	Evidence []string `json:"evidence"`
	// Since is when the problem began, by the clock of the object's cluster; null if unknown.
	Since *metav1.Time `json:"since"`
	// Young is true if the problem is younger than its grace period, so that check does not report
	// it yet.
	Young bool `json:"young,omitempty"`
	// Grace is the grace period of a young problem, and of progress that is younger; 0 for others.
	Grace time.Duration `json:"-"`
	// Fingerprint identifies the problem in every later run with the same context names.
	Fingerprint string `json:"fingerprint"`
	// Fixes are ways to solve the problem, the best first.
	Fixes []command.Fix `json:"fixes"`
	// Remedy is Fixes as one text. Commands are in backquotes and can be pasted into a shell.
	// Replace words in capitals, such as CONTEXT and FILE.
	Remedy string `json:"remedy"`
	// Jobs are the affected Jobs; the object itself may be of another kind.
	Jobs []Ref `json:"jobs"`
	// Cost is the quota on the management cluster that the Job holds although no cluster can run
	// it; absent if it holds none, or could run.
	Cost *Cost `json:"cost,omitempty"`
	// Docs is the address of the page about the code.
	Docs string `json:"docs"`
	// Preempted is how the Job lost its quota before it waited; nil if it did not.
	Preempted *Preemption `json:"-"`
	// Clauses are what the finding says about its Jobs, instead of Message.
	Clauses map[Ref]string `json:"-"`
	// AwaitsActor is whether a controller may still solve the problem by itself.
	AwaitsActor bool `json:"-"`
	// MayPass is whether the problem may end without a person at any age, so that the Job waits and is not
	// blocked: a controller may still answer, retry or connect. An AdmissionCheck may need a day.
	MayPass bool `json:"-"`
}

// Preemption is how a Job lost its quota to another one.
type Preemption struct {
	// Text says on which context, by which Job, and both priorities if they differ.
	Text string
	// Since is when, by our clock.
	Since time.Time
}

// FindingList is the output of check.
type FindingList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the findings, the most severe first.
	Items []Finding `json:"items"`
	// Suppressed are the findings that the user suppressed.
	Suppressed []Finding `json:"-"`
	// Summary counts what was checked and found.
	Summary CheckSummary `json:"summary"`
	// Unchecked is what the findings depend on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts, and the parts of them, that could not be read, and the codes that
	// were therefore not checked there.
	Errors []ContextError `json:"errors"`
}

// FindingEventType is the type of a FindingEvent.
type FindingEventType string

// The events of findings while check watches.
const (
	FindingAppeared FindingEventType = "new"
	FindingCleared  FindingEventType = "cleared"
)

// FindingEventTypes returns all types.
func FindingEventTypes() []FindingEventType {
	return []FindingEventType{FindingAppeared, FindingCleared}
}

// FindingEvent is what a command of check --exec reads from standard input.
type FindingEvent struct {
	metav1.TypeMeta `json:",inline"`
	// Time is when check noticed the event, by the clock of the machine that runs check.
	Time metav1.Time `json:"time"`
	// Event is the type of the event.
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
	// Errors is how many findings are of severity error.
	Errors int `json:"errors"`
	// Warnings is how many findings are of severity warning.
	Warnings int `json:"warnings"`
	// Infos is how many findings are of severity info.
	Infos int `json:"infos"`
	// Suppressed is how many findings --suppress leaves out. The other numbers of findings do not
	// include them.
	Suppressed int `json:"suppressed"`
	// Jobs is how many delegated Jobs were checked.
	Jobs int `json:"jobs"`
	// Mirrors is how many mirrors were checked whose origin may exist on a cluster that was not
	// read; absent if there are none.
	Mirrors int `json:"mirrors,omitempty"`
	// Clusters is how many clusters were checked.
	Clusters int `json:"clusters"`
	// Young is how many errors and warnings are not reported yet because they are younger than the
	// grace period. Infos are not counted.
	Young int `json:"young"`
	// GraceSeconds is the longest grace period of the findings that Young counts, in seconds: that of
	// --grace, or of a code that waits longer. It is 0 if Young is 0.
	GraceSeconds int `json:"graceSeconds"`
}

// Unchecked is something that an answer depends on and that could not be read.
type Unchecked struct {
	// What names the unread part, such as "Workloads", "worker paris", or the "verdict" on a cluster.
	What string `json:"what"`
	// Contexts are the contexts where it could not be read; empty if no known context reaches it.
	Contexts []string `json:"contexts"`
	// Reason says why it could not be read.
	Reason string `json:"reason"`
	// Cluster is whether a whole cluster is unread, on which any rule may depend.
	Cluster bool `json:"-"`
}

// WorkerPrefix is how Unchecked.What begins for a worker that was not read. The name of its
// MultiKueueCluster follows.
const WorkerPrefix = "worker "

// UnreadWorkloads is Unchecked.What for a cluster of which only the Workloads were not read. Those of a worker show whether
// it admits a Job, and who holds its quota.
const UnreadWorkloads = "Workloads"

// IsOfWorker reports whether it is a worker that was not read, or the Workloads of a cluster.
func (u *Unchecked) IsOfWorker() bool {
	return strings.HasPrefix(u.What, WorkerPrefix) || u.What == UnreadWorkloads
}

// NotSelected is the Reason of a context that was left out.
const NotSelected = "not selected"

// AreNotSelected says that contexts were left out.
func AreNotSelected(names []string) string {
	if len(names) == 1 {
		return names[0] + " is " + NotSelected
	}
	return And(names) + " are " + NotSelected
}

// Everything is the What of a context of which nothing could be read.
const Everything = "everything"

// NoVerdict is the What of a trace whose Job has no verdict, for a reason that is also the message.
const NoVerdict = "verdict"

// UncheckedOf returns what could not be read and was therefore not checked. It merges entries with the
// same reason, because a restricted user may not read many resources.
func UncheckedOf(errs []ContextError) []Unchecked {
	found := []Unchecked{}
	add := func(what, context, reason string) {
		i := slices.IndexFunc(found, func(u Unchecked) bool { return u.What == what && u.Reason == reason })
		if i < 0 {
			i = len(found)
			found = append(found, Unchecked{What: what, Reason: reason, Cluster: what == Everything})
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

// NewFindingList returns an empty list.
func NewFindingList() *FindingList {
	return &FindingList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "FindingList"},
		Items:    []Finding{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *FindingList) DeepCopyObject() runtime.Object {
	c := &FindingList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Summary: l.Summary, Errors: slices.Clone(l.Errors)}
	c.Unchecked, c.Suppressed = slices.Clone(l.Unchecked), slices.Clone(l.Suppressed)
	for _, all := range [][]Finding{c.Items, c.Suppressed} {
		for i := range all {
			all[i] = all[i].deepCopy()
		}
	}
	return c
}

func (f *Finding) deepCopy() Finding {
	c := *f
	c.Evidence, c.Jobs, c.Fixes, c.Clauses = slices.Clone(f.Evidence), slices.Clone(f.Jobs), slices.Clone(f.Fixes), maps.Clone(f.Clauses)
	c.Since, c.Cost = f.Since.DeepCopy(), f.Cost.deepCopy()
	return c
}

// IsAtLeast reports whether s is at least as severe as other.
func (s Severity) IsAtLeast(other Severity) bool {
	return s.Compare(other) <= 0
}

// Compare is negative if s is more severe than other.
func (s Severity) Compare(other Severity) int {
	return cmp.Compare(slices.Index(Severities(), s), slices.Index(Severities(), other))
}

// Subject returns the kind and name of the finding's object; "" if it has no name.
func (f *Finding) Subject() string {
	if f.Name == "" {
		return ""
	}
	return delegation.Named(f.Kind, f.Namespace, f.Name)
}

// Say sets the message. Unless the text names the object or a Job, Say puts the object before it,
// or replaces an "it" at its start, because a message must stand alone in a pager.
func (f *Finding) Say(text string) {
	f.Message = text
	subject := f.Subject()
	if subject == "" || f.names(text) && !strings.HasPrefix(text, "it ") && !strings.HasPrefix(text, "its ") {
		return
	}
	if rest, isOfIt := strings.CutPrefix(text, "it "); isOfIt {
		f.Message = subject + " " + rest
		return
	}
	f.Message = subject + ": " + text
}

// names reports whether a text names the object of the finding or one of its Jobs. The object's kind
// must be present, unless it is a Job or cluster-scoped.
func (f *Finding) names(text string) bool {
	name := f.Subject()
	if f.Kind == "Job" {
		name = f.Namespace + "/" + f.Name
	}
	if f.Namespace == "" && containsWord(text, f.Name) {
		return true
	}
	return containsWord(text, name) || slices.ContainsFunc(f.Jobs, func(j Ref) bool { return containsWord(text, j.Namespace+"/"+j.Name) })
}

// Predicate returns the message without the object, for output that shows the object next to it.
func (f *Finding) Predicate() string {
	text, _ := f.cut()
	return text
}

// Clause returns the message with "it" instead of the object, for text that has named the object
// before.
func (f *Finding) Clause() string {
	text, isVerb := f.cut()
	if isVerb {
		return "it " + text
	}
	return text
}

// cut removes the object from the start of the message. isVerb is whether a verb follows, so that
// the text needs a subject.
func (f *Finding) cut() (text string, isVerb bool) {
	subject := f.Subject()
	rest, begins := strings.CutPrefix(f.Message, subject)
	if !begins || subject == "" {
		return f.Message, false
	}
	if text, isLabel := strings.CutPrefix(rest, ": "); isLabel {
		return text, false
	}
	if text, isVerb := strings.CutPrefix(rest, " "); isVerb {
		return text, true
	}
	return f.Message, false
}

// containsWord reports whether a text contains a name that is not part of a longer one.
func containsWord(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		start := from + i
		if endsWord(text[start+len(name):]) && (start == 0 || !isNamePart(text[start-1])) {
			return true
		}
		from = start + 1
	}
	return false
}

// endsWord reports whether a name ends before rest. A full stop at the end of a sentence is not part
// of the name.
func endsWord(rest string) bool {
	return rest == "" || !isNamePart(rest[0]) || rest == "." || strings.HasPrefix(rest, ". ")
}

// isNamePart reports whether a byte may be part of an object's name, or join it to a namespace.
func isNamePart(b byte) bool {
	return b == '-' || b == '.' || b == '/' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
