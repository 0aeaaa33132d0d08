package inspect

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Board is the present state of a fleet, as the changes tell it.
type Board struct {
	// contexts are shown in this order.
	contexts []string
	clusters map[string]*clusterState
	homes    homes
	// isComplete is as SetMirrors takes it.
	isComplete func(namespace string) bool
}

type clusterState struct {
	jobs   map[ObjectName]*Job
	synced bool
	// err is why it does not answer, or not wholly.
	err error
}

// NewBoard makes a board that expects changes from these contexts. holdsAll says
// for a namespace whether all Jobs that there are will be told.
func NewBoard(contexts []string, holdsAll func(namespace string) bool) *Board {
	b := &Board{contexts: contexts, clusters: map[string]*clusterState{}, homes: homes{}}
	b.isComplete = func(namespace string) bool { return len(b.Errors()) == 0 && b.Complete() && holdsAll(namespace) }
	for _, name := range contexts {
		b.clusters[name] = &clusterState{jobs: map[ObjectName]*Job{}}
	}
	return b
}

// Apply takes a change in, and returns what is to be told of it: the change with
// the Job's mirrors set, and Modified for each other Job whose mirrors it changes.
// Nothing is told of a Job that is shown for another context already.
func (b *Board) Apply(c Change) []Change {
	if c.Type != Added && c.Type != Modified && c.Type != Deleted {
		b.apply(c)
		return []Change{c}
	}
	if !b.take(&c) {
		b.forget(c.Job)
		return nil
	}
	before := b.related(c.Job)
	b.apply(c)
	after := b.related(c.Job)
	if c.Type == Deleted {
		last := *c.Job
		last.Mirrors = mirrorsOf(before, c.Job)
		c.Job = &last
	}
	changes := []Change{c}
	for _, j := range append(slices.Clip(after), before...) {
		if changes[0].Origin == nil && slices.Contains(j.Mirrors, RefOf(c.Job)) {
			changes[0].Origin = j
		}
	}
	for _, j := range after {
		switch {
		case RefOf(j) == RefOf(c.Job):
			changes[0].Job = j
		case j.IsDelegated() && !slices.Equal(j.Mirrors, mirrorsOf(before, j)):
			changes = append(changes, Change{Type: Modified, Context: j.Context, Job: j})
		}
	}
	return changes
}

// setMirrors sets mirrors without asking management clusters: no worker runs a Job of MultiKueue
// that is suspended or unclaimed, unless a context shows its mirror.
func (b *Board) setMirrors(pairs *Pairs, jobs []*Job) {
	for _, j := range SetMirrors(pairs, jobs, b.isComplete) {
		waits := j.Status == delegation.Suspended || j.Status == delegation.Unclaimed
		if waits && b.isComplete(j.Namespace) {
			j.Mirrors = []Ref{}
		}
	}
}

func mirrorsOf(jobs []*Job, wanted *Job) []Ref {
	for _, j := range jobs {
		if RefOf(j) == RefOf(wanted) {
			return j.Mirrors
		}
	}
	return nil
}

// related are the Jobs that may be j's origin or mirrors, and those that share
// them, with j itself if it is on the board, and with their mirrors set. These are
// the ones of the same namespace and name, and those that its marks name.
func (b *Board) related(j *Job) []*Job {
	keys := []ObjectName{NameOf(j)}
	if j.Marks != nil {
		for _, p := range []delegation.Place{j.Marks.Origin, j.Marks.Mirror} {
			if k := NameLike(j, p.Namespace, p.Name); !p.IsZero() && k != keys[0] {
				keys = append(keys, k)
			}
		}
	}
	var jobs []*Job
	for _, name := range b.contexts {
		for _, k := range keys {
			if found, ok := b.clusters[name].jobs[k]; ok && b.isShown(name, found) {
				own := *found
				jobs = append(jobs, &own)
			}
		}
	}
	b.setMirrors(PairUp(jobs), jobs)
	return jobs
}

func (b *Board) apply(c Change) {
	s, ok := b.clusters[c.Context]
	if !ok {
		return
	}
	switch c.Type {
	case Added, Modified:
		s.jobs[NameOf(c.Job)] = c.Job
	case Deleted:
		delete(s.jobs, NameOf(c.Job))
		b.forget(c.Job)
	case Synced:
		s.synced = true
	case Lost:
		s.err = c.Err
	case Found:
		s.err = nil
	}
}

// Complete says whether every context has told all it had or that it does not
// answer.
func (b *Board) Complete() bool {
	for _, s := range b.clusters {
		if !s.synced && s.err == nil {
			return false
		}
	}
	return true
}

// Hopeless says whether no context has ever answered, each for a reason that
// trying again does not mend.
func (b *Board) Hopeless() bool {
	for _, s := range b.clusters {
		if s.synced || s.err == nil {
			return false
		}
		switch NewContextError(s.err).Code {
		case kubecontext.CodeUnreachable, kubecontext.CodeTimeout, kubecontext.CodeError:
			return false
		default:
		}
	}
	return true
}

// List is the board as a one-shot listing would have it, cut down to what the
// filter picks.
func (b *Board) List(filter Filter) *OwnerList {
	tallies := make([]*Tally, 0, len(b.contexts))
	for _, name := range b.contexts {
		s := b.clusters[name]
		tally := &Tally{Context: name, Err: s.err}
		for j := range maps.Values(s.jobs) {
			if !b.isShown(name, j) {
				continue
			}
			if filter.Matches(j) {
				tally.Add(*j)
			} else {
				tally.Hide(*j)
			}
		}
		tallies = append(tallies, tally)
	}
	list := Merge(tallies)
	jobs := list.All()
	b.setMirrors(PairUp(append(slices.Clip(jobs), Hidden(tallies)...)), jobs)
	return list
}

// Errors are why contexts do not answer at present, in the order of contexts.
func (b *Board) Errors() []error {
	var errs []error
	for _, name := range b.contexts {
		if err := b.clusters[name].err; err != nil {
			errs = append(errs, err)
		}
	}
	return slices.Clip(errs)
}
