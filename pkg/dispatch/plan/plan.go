// Package plan says what a mirror is to be: New makes it of its origin, and tells of every
// difference and why it is there, or why there can be none; DriftOf compares the plan with
// the mirror as it is by now, and says what is to be written to it.
//
// It is pure: it is given objects, and knows no server, no clock, and nothing of how a
// mirror comes to be.
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

// Options say what a mirror is to look like, as far as the origin leaves
// that open.
type Options struct {
	// Kind is the origin's, in the version that it is read in; the zero Kind is Job.
	Kind delegation.Kind
	// Owner is the managedBy value that the origin must have; "" is
	// delegation.Dispatch.
	Owner delegation.Owner
	// Context is the one that the origin is in, for commands that people are told.
	Context string
	// OriginCluster is the identity of the origin's cluster, for the mirror's marks.
	OriginCluster delegation.Cluster
	// Namespace is the mirror's; "" is the origin's.
	Namespace string
	// SetLabels are put on the mirror, and StripLabels taken off it. They concern
	// the Job itself and not its pods.
	SetLabels   map[string]string
	StripLabels []string
}

// Action says what was done to a field on its way from the origin to the mirror.
type Action string

const (
	Removed Action = "removed"
	Set     Action = "set"
	// Kept is for what a reader may expect to be removed.
	Kept Action = "kept"
)

// Change is one difference between an origin and its mirror, and why.
type Change struct {
	Action Action
	// Field is its path, such as "spec.managedBy" or "metadata.labels[team]".
	Field string
	// Value is the value that was set, kept, or removed, in brief; "" for what
	// is too long to be told.
	Value  string
	Reason string
}

// Plan is the mirror that an origin is to have.
type Plan struct {
	// Kind is that of both.
	Kind delegation.Kind
	// Mirror is what is sent to the worker, ready to be created.
	Mirror *unstructured.Unstructured
	// Changes are the differences, in the order of their fields. What a server
	// alone writes (uid, resourceVersion, status and the like) is never sent, and
	// not told of.
	Changes []Change
	// Warnings are what may surprise: one sentence each.
	Warnings []string

	// origin is what the origin was like.
	origin object.Desired
}

// IsFor says whether nothing has changed on an origin since, so that New would make the
// same of it.
func (p *Plan) IsFor(origin *unstructured.Unstructured) bool { return p.origin.IsOf(origin) }

// RefusedError says that an origin cannot be dispatched as it is.
type RefusedError struct {
	// Kind is the origin's; "" means Job.
	Kind string
	// Origin is namespace/name.
	Origin string
	// Reason says why, and Remedy what to do; both are parts of a sentence.
	Reason string
	Remedy command.Prose
}

func (e *RefusedError) Error() string { return string(e.Prose()) }

// Prose is what Error returns.
func (e *RefusedError) Prose() command.Prose {
	message := command.Say("%s %s %s", strings.ToLower(cmp.Or(e.Kind, delegation.Job().Kind)), e.Origin, e.Reason)
	if e.Remedy != "" {
		message = command.Say("%s; %s", message, e.Remedy)
	}
	return message
}

// New makes the mirror of an origin. The origin is not changed, and fields
// that this build does not know are kept. What cannot be dispatched is a
// *RefusedError; any other error is for options, or an object, that make no sense.
// An origin that was not created yet, from a file, has no uid; then the mirror
// carries no mark of it, and the plan is not for the one that is created.
func New(origin *unstructured.Unstructured, o Options) (*Plan, error) {
	o.Kind, o.Owner = object.OrJob(o.Kind), cmp.Or(o.Owner, delegation.Dispatch)
	if err := o.validate(); err != nil {
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

// take removes a field of the mirror and returns what it held, nil if nothing.
func (p *planner) take(path ...string) any {
	value := content.At(p.Mirror, path...)
	unstructured.RemoveNestedField(p.Mirror.Object, path...)
	return value
}
