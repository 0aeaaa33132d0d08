package view

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Object identifies the object that a finding is about.
type Object struct{ Context, APIVersion, Kind, Namespace, Name string }

// Sighting is one problem that a rule has found. The judge makes findings of sightings.
type Sighting struct {
	Object Object
	// Since is when the problem began, by the clock of the object's cluster. The zero time means
	// unknown, and counts as long ago.
	Since time.Time
	// IsUndated is whether Since is only the earliest possible time. It then decides whether the
	// grace period is over, and the finding has no date.
	IsUndated bool
	// GracePeriod is how long this may last before it is a problem, if that is longer than the
	// grace period of the user. It does not apply if the user wants no grace period.
	GracePeriod time.Duration
	// Message says in one line what is wrong, with real names.
	Message string
	// Clause is the message about one of the Jobs, which it calls "it", if Object is not the Job. If it
	// is "", the trace of a Job shows Message after the name of Object.
	Clause string
	// Evidence quotes fields of objects: of which object, on which cluster, since when.
	Evidence []string
	// Remedy is what a person can do, with real names.
	Remedy command.Prose
	// Preempted is how the Job lost its quota before it waited; nil if it did not.
	Preempted *inspect.Preemption
	// Complete sets Message, Evidence and Remedy, unless it is nil. It is for sightings of which
	// thousands may have one Cause: the judge calls it for a few of them.
	Complete func(*Sighting)
	// Severity is set if it differs from that of the rule.
	Severity inspect.Severity
	// Awaits is the step that would end the problem, if the problem is that an actor has not taken
	// it. If the actor is behind, JM114 reports the actor instead. It is nil for other problems.
	Awaits *Awaited
	// IsStuck is whether the actor of Awaits can take the step only after a person has changed something.
	IsStuck bool
	// MayPass is whether a controller may still end the problem, at any age: it answers an AdmissionCheck,
	// retries, or connects to a worker. The Job then waits, and is not blocked. It is for problems without
	// Awaits.
	MayPass bool
	// Jobs are the Jobs that the problem affects.
	Jobs []*inspect.Job
	// Covers are further codes that Rule.Covers would list, if they held for every sighting.
	Covers []string
	// Cause joins sightings: those of a rule with the same Cause become one finding, with the Jobs
	// of all and the object of the first.
	Cause string
	// Count is how many objects of its Job Message counts, for Group.
	Count int
	// Group changes Message and Remedy of the first of several sightings with one Cause, so that they hold for
	// all, which are in all. It is nil if they hold as they are.
	Group func(first *Sighting, all []Sighting)
}

// Of returns a Job as the object of a finding.
func Of(j *inspect.Job) Object {
	return Object{Context: j.Context, APIVersion: j.APIVersion, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name}
}

// OfKueue returns an object of Kueue as the object of a finding.
func OfKueue(f *inspect.Facts, kind, namespace, name string) Object {
	return Object{Context: f.Context, APIVersion: "kueue.x-k8s.io/" + f.Kueue.Version, Kind: kind, Namespace: namespace, Name: name}
}

// String names the object as evidence does: "Job ml/train".
func (o Object) String() string { return delegation.Named(o.Kind, o.Namespace, o.Name) }

// OfWorkload returns a Workload as the object of a finding.
func OfWorkload(f *inspect.Facts, w *kueue.Workload) Object {
	return OfKueue(f, "Workload", w.Namespace, w.Name)
}
