// Package plan defines the mirror of an origin. New derives the mirror, lists each difference
// with its reason, or refuses the origin with a reason. DriftOf compares the plan with the
// current mirror, and returns the necessary changes.
//
// It is pure: it receives objects, and knows neither servers, clocks, nor how a mirror is
// created.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// Options configure the mirror.
type Options struct {
	// Kind is the origin's kind, in the version that was read. The zero Kind means Job.
	Kind delegation.Kind
	// Owner is the required managedBy value of the origin; "" means delegation.Dispatch.
	Owner delegation.Owner
	// Context is the origin's context, for commands in messages.
	Context string
	// OriginCluster is the identity of the origin's cluster, for the mirror's marks.
	OriginCluster delegation.Cluster
	// Namespace is the mirror's namespace; "" means the origin's.
	Namespace string
	// SetLabels are set on the mirror, and StripLabels are removed from it. Neither affects the
	// labels of Pods.
	SetLabels   map[string]string
	StripLabels []string
}

// Action is the kind of a change from the origin to the mirror.
type Action string

const (
	Removed Action = "removed"
	Set     Action = "set"
	// Kept marks a field that a reader might expect to be removed.
	Kept Action = "kept"
)

// Change is a difference between an origin and its mirror, with its reason.
type Change struct {
	Action Action
	// Field is the path, such as "spec.managedBy" or "metadata.labels[team]".
	Field string
	// Value is the value that was set, kept or removed; "" if it is too long.
	Value  string
	Reason string
}

// Plan is the planned mirror of an origin.
type Plan struct {
	// Kind is the kind of the origin and its mirror.
	Kind delegation.Kind
	// Mirror is the object to create on the worker.
	Mirror *unstructured.Unstructured
	// Changes are the differences, in the order of their fields. Fields that only servers write
	// (UID, resourceVersion, status and the like) are never sent, and not listed.
	Changes []Change
	// Warnings are possible surprises, one sentence each.
	Warnings []string

	// origin identifies the version of the origin.
	origin object.Desired
}

// IsFor reports whether an origin is unchanged since, so that New would return the same plan.
func (p *Plan) IsFor(origin *unstructured.Unstructured) bool { return p.origin.IsOf(origin) }

// RefusedError means that an origin cannot be dispatched.
type RefusedError struct {
	// Kind is the origin's kind; "" means Job.
	Kind string
	// Origin is namespace/name.
	Origin string
	// Reason is the reason, and Remedy the fix. Both are parts of a sentence.
	Reason string
	Remedy command.Prose
}

func (e *RefusedError) Error() string { return string(e.Prose()) }

// Prose returns the text of Error.
func (e *RefusedError) Prose() command.Prose {
	message := command.Say("%s %s %s", strings.ToLower(cmp.Or(e.Kind, delegation.Job().Kind)), e.Origin, e.Reason)
	if e.Remedy != "" {
		message = command.Say("%s; %s", message, e.Remedy)
	}
	return message
}

// New returns the plan for an origin. It does not change the origin, and keeps fields that this
// build does not know. It returns a *RefusedError if the origin cannot be dispatched, and another
// error for invalid options or a malformed object. An origin from a file has no UID yet. Then the
// mirror has no label with that UID, and the plan does not apply to the stored origin.
func New(origin *unstructured.Unstructured, o Options) (*Plan, error) {
	o.Kind, o.Owner = object.OrJob(o.Kind), cmp.Or(o.Owner, delegation.Dispatch)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if refusal := refuseKind(origin, o); refusal != nil {
		return nil, refusal
	}
	if err := object.Malformed(o.Kind, origin); err != nil {
		return nil, fmt.Errorf("%s %s is invalid: %w", strings.ToLower(o.Kind.Kind), object.NameOf(origin), err)
	}
	if refusal := refuse(origin, o); refusal != nil {
		return nil, refusal
	}
	p := &planner{Plan: &Plan{Kind: o.Kind, Mirror: origin.DeepCopy(), origin: object.DesiredOf(origin)}, origin: origin, options: o}
	p.metadata()
	p.labels()
	p.annotations()
	p.spec()
	p.warnOfQueues()
	if o.Kind.IsJob() {
		p.warnOfSelectors()
	}
	p.sort()
	return p.Plan, nil
}

func (p *Plan) sort() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int { return cmp.Compare(a.Field, b.Field) })
}

// planner turns a copy of an origin into its mirror.
type planner struct {
	*Plan
	origin  *unstructured.Unstructured
	options Options
}

func (p *planner) changed(action Action, field string, value any, reason string) {
	p.Changes = append(p.Changes, Change{Action: action, Field: field, Value: content.InBrief(value), Reason: reason})
}

func (p *planner) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, string(command.Say(format, args...)))
}

// take removes a field of the mirror and returns its value; nil if there was none.
func (p *planner) take(path ...string) any {
	value := content.At(p.Mirror, path...)
	unstructured.RemoveNestedField(p.Mirror.Object, path...)
	return value
}
