package inspect

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	Code       string   `json:"code"`
	Severity   Severity `json:"severity"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Context    string   `json:"context"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	// Evidence quotes the fields that show it.
	Evidence []string `json:"evidence"`
	// Remedy is what to do. Commands in it stand in backquotes, one or several that a
	// shell joins, and a shell takes them as they are; words in capitals, such as
	// CONTEXT and FILE, are for the reader to replace.
	Remedy string `json:"remedy"`
	// Jobs are those that hang on it; the object itself may be something else.
	Jobs []Ref `json:"jobs"`
	// Docs is where to read on.
	Docs string `json:"docs"`
}

// FindingList is what check prints.
type FindingList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are sorted, the worst first.
	Items []Finding `json:"items"`
	// Errors are the contexts, and the parts of them, that could not be looked at,
	// and which codes were therefore not judged there.
	Errors []ContextError `json:"errors"`
}

// NewFindingList makes an empty list.
func NewFindingList() *FindingList {
	return &FindingList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "FindingList"},
		Items:    []Finding{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *FindingList) DeepCopyObject() runtime.Object {
	c := &FindingList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		c.Items[i].Evidence, c.Items[i].Jobs = slices.Clone(c.Items[i].Evidence), slices.Clone(c.Items[i].Jobs)
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
