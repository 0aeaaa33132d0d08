// Package recreate makes an object anew with another owner, since managedBy does not change
// once an object is there: New says what becomes of it, and a Runner checks that, deletes
// the old one and creates the new, or the old one again.
//
// It works on one cluster. Of mirrors it knows only their marks, and nothing of how an
// object is dispatched.
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

// Options say how a Job, or an object of another kind, is to be made anew.
type Options struct {
	// Kind is the object's; the zero Kind is Job.
	Kind delegation.Kind
	// Context is the one that it is in, for commands that people are told.
	Context string
	// ManagedBy is its new spec.managedBy; "" and the reserved value both mean the
	// built-in controller.
	ManagedBy string
	// Queue is the LocalQueue that MultiKueue finds it by; nil leaves the label as it
	// is, and "" takes it off.
	Queue *string
	// Force replaces a Job although its work would be lost or done twice.
	Force bool
	// Submitted is what Kueue knows of it: see FindSubmitted.
	Submitted Submitted
}

// Replacement is a Job that is to be made anew with another owner, which is the
// only way to change managedBy.
type Replacement struct {
	// Old is the Job as somebody could have written it: without what only a server
	// writes.
	Old *unstructured.Unstructured
	// New is the Job that takes its place, ready to be created.
	New *unstructured.Unstructured
	// Restore is what brings the old one back, ready to be created. Marks of a
	// dispatch that has no meaning for another Job are not in it.
	Restore *unstructured.Unstructured
	// Changes are what differs between Old and New for a reason that a reader may not
	// know, in the order of their fields.
	Changes []plan.Change
	// Warnings are what may surprise: one sentence each.
	Warnings []string

	// stored is the old Job as it was read.
	stored  *unstructured.Unstructured
	options Options
}

// Validate says what makes no sense about the options, whatever the Job is like.
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

// New makes the Job that takes the place of a stored one. The old one is
// not changed, and fields that this build does not know are kept. What cannot be
// replaced is a *plan.RefusedError; any other error is for options, or an object, that
// make no sense.
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
	r := &Replacement{Old: asWritten(o.Kind, old), stored: old, options: o}
	r.Restore, r.New = r.Old.DeepCopy(), r.Old.DeepCopy()
	r.stripMarks()
	r.stripKueues()
	r.stripMetadata()
	r.setOwner()
	r.setQueue()
	r.warnOfWork()
	r.warnOfOthers()
	slices.SortStableFunc(r.Changes, func(a, b plan.Change) int { return cmp.Compare(a.Field, b.Field) })
	return r, nil
}

func (r *Replacement) changed(action plan.Action, path string, value any, reason string) {
	r.Changes = append(r.Changes, plan.Change{Action: action, Field: path, Value: content.InBrief(value), Reason: reason})
}

func (r *Replacement) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, string(command.Say(format, args...)))
}

// kind is that of both Jobs.
func (r *Replacement) kind() delegation.Kind { return r.options.Kind }

// named is the old Job, for people: "job ml/train".
func (r *Replacement) named() string {
	return object.KindAndName(r.stored)
}
