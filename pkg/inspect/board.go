package inspect

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Board is the current state of a fleet, built from changes.
type Board struct {
	// contexts are in the order of lists.
	contexts []string
	clusters map[string]*clusterState
	homes    homes
	// isComplete says whether all Jobs of a namespace are known; see SetMirrors.
	isComplete func(namespace string) bool
}

type clusterState struct {
	jobs   map[ObjectName]*Job
	synced bool
	// err is why the cluster does not answer, completely or in part.
	err error
}

// NewBoard returns a board for changes from these contexts. holdsAll says for a namespace whether
// the changes will cover all its Jobs.
func NewBoard(contexts []string, holdsAll func(namespace string) bool) *Board {
	b := &Board{contexts: contexts, clusters: map[string]*clusterState{}, homes: homes{}}
	b.isComplete = func(namespace string) bool { return len(b.Errors()) == 0 && b.Complete() && holdsAll(namespace) }
	for _, name := range contexts {
		b.clusters[name] = &clusterState{jobs: map[ObjectName]*Job{}}
	}
	return b
}

// Apply adds a change to the board and returns the changes to report: the change itself with the
// Job's mirrors set, and a Modified for each other Job whose mirrors it changes. It returns nothing
// for a Job that is already shown for another context.
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

// setMirrors sets mirrors without reading management clusters. No worker runs a Job of MultiKueue
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

// related returns j, if it is on the board, and the Jobs that may be its origin or mirrors or share
// them, with mirrors set. These Jobs have the same namespace and name as j, or those in j's marks.
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

// Complete says whether every context has reported all its Jobs or an error.
func (b *Board) Complete() bool {
	for _, s := range b.clusters {
		if !s.synced && s.err == nil {
			return false
		}
	}
	return true
}

// Hopeless says whether no context has ever answered, and each failed with an error that a retry
// does not fix.
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

// List returns the board as a one-shot listing would, limited to Jobs that the filter matches.
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

// Errors returns why contexts do not answer at present, in the order of contexts.
func (b *Board) Errors() []error {
	var errs []error
	for _, name := range b.contexts {
		if err := b.clusters[name].err; err != nil {
			errs = append(errs, err)
		}
	}
	return slices.Clip(errs)
}
