// Package recreate recreates an object with another owner, because managedBy is immutable. New
// derives the new object. A Runner checks the replacement, deletes the old object and creates the
// new one, or restores the old one.
//
// It works on one cluster. It knows the marks of mirrors, and not how objects are dispatched.
package recreate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// Options configure the replacement of a Job, or of an object of another kind.
type Options struct {
	// Kind is the object's kind; the zero Kind means Job.
	Kind delegation.Kind
	// Context is the object's context, for commands in messages.
	Context string
	// ManagedBy is the new spec.managedBy. Both "" and the reserved value mean the built-in
	// controller.
	ManagedBy string
	// Queue is the LocalQueue for MultiKueue; nil keeps the label, and "" removes it.
	Queue *string
	// Force replaces a Job even if its work would be lost or repeated.
	Force bool
	// Submitted is Kueue's record of the object: see FindSubmitted.
	Submitted Submitted
}

// Replacement is the plan for recreating a Job with another owner, which is the only way to
// change managedBy.
type Replacement struct {
	// Old is the old Job without the fields that only servers write.
	Old *unstructured.Unstructured
	// New is the new Job, ready to be created.
	New *unstructured.Unstructured
	// Restore is the old Job, ready to be created again. It does not have the marks of a
	// dispatch, which are invalid for another Job.
	Restore *unstructured.Unstructured
	// Changes are the differences between Old and New whose reason is not obvious, in the order
	// of their fields.
	Changes []plan.Change
	// Warnings are possible surprises, one sentence each.
	Warnings []string

	// stored is the old Job as it was read.
	stored  *unstructured.Unstructured
	options Options
}

// Validate returns an error for options that are invalid for any Job.
func (o Options) Validate() error {
	if err := object.ValidateManagedBy(o.ManagedBy); err != nil {
		return err
	}
	if o.Queue == nil {
		return nil
	}
	kind, isMultiKueue := object.OrJob(o.Kind).Kind, o.owner() == delegation.MultiKueue
	switch queue := *o.Queue; {
	case queue == "" && isMultiKueue:
		return fmt.Errorf("--queue is empty, but MultiKueue ignores a %s without a queue. Name the LocalQueue", kind)
	case queue != "" && !isMultiKueue:
		return fmt.Errorf("--queue is for %[1]ss managed by %[2]s, not by %[3]s. Remove the %[1]s from its queue with --queue ''", kind, delegation.MultiKueue, o.owner())
	case queue != "" && len(validation.IsDNS1123Subdomain(queue)) > 0:
		return fmt.Errorf("%q is not a valid name of a LocalQueue: %s", queue, validation.IsDNS1123Subdomain(queue)[0])
	}
	return nil
}

func (o Options) owner() delegation.Owner { return object.OrJob(o.Kind).OwnerOf(o.ManagedBy) }

// New returns the plan for replacing a stored Job. It does not change the old Job, and keeps
// fields that this build does not know. It returns a *plan.RefusedError if the Job cannot be
// replaced, and another error for invalid options or a malformed object.
func New(old *unstructured.Unstructured, o Options) (*Replacement, error) {
	o.Kind = object.OrJob(o.Kind)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if refusal := plan.RefuseOwner(old, o.Kind, o.owner()); refusal != nil {
		return nil, refusal
	}
	if err := object.Malformed(o.Kind, old); err != nil {
		return nil, fmt.Errorf("%s %s is invalid: %w", strings.ToLower(o.Kind.Kind), object.NameOf(old), err)
	}
	if refusal := refuse(old, o); refusal != nil {
		return nil, refusal
	}
	r := &Replacement{Old: withoutServerFields(o.Kind, old), stored: old, options: o}
	r.Restore, r.New = r.Old.DeepCopy(), r.Old.DeepCopy()
	r.stripMarks()
	r.stripKueues()
	r.stripMetadata()
	r.setOwner()
	r.setQueue()
	r.warnOfWork()
	r.warnOfManagers()
	slices.SortStableFunc(r.Changes, func(a, b plan.Change) int { return cmp.Compare(a.Field, b.Field) })
	return r, nil
}

func (r *Replacement) changed(action plan.Action, path string, value any, reason string) {
	r.Changes = append(r.Changes, plan.Change{Action: action, Field: path, Value: content.InBrief(value), Reason: reason})
}

func (r *Replacement) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, string(command.Say(format, args...)))
}

// kind returns the kind of both Jobs.
func (r *Replacement) kind() delegation.Kind { return r.options.Kind }

// describe returns the kind and the name of the old Job: "job ml/train".
func (r *Replacement) describe() string {
	return object.KindAndName(r.stored)
}
