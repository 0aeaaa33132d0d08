package inspect

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Board is the present state of a fleet, as the changes tell it.
type Board struct {
	// contexts are shown in this order.
	contexts []string
	clusters map[string]*clusterState
}

type clusterState struct {
	jobs   map[string]Job
	synced bool
	// err is why it does not answer, or not wholly; gaveUp whether that is only
	// because it was not waited for any longer.
	err    error
	gaveUp bool
}

// NewBoard makes a board that expects changes from these contexts.
func NewBoard(contexts []string) *Board {
	b := &Board{contexts: contexts, clusters: map[string]*clusterState{}}
	for _, name := range contexts {
		b.clusters[name] = &clusterState{jobs: map[string]Job{}}
	}
	return b
}

// Apply takes a change in.
func (b *Board) Apply(c Change) {
	s, ok := b.clusters[c.Context]
	if !ok {
		return
	}
	switch c.Type {
	case Added, Modified:
		s.jobs[key(&c.Job)] = c.Job
	case Deleted:
		delete(s.jobs, key(&c.Job))
	case Synced:
		s.synced = true
		if s.gaveUp {
			s.err, s.gaveUp = nil, false
		}
	case Lost:
		s.err, s.gaveUp = c.Err, false
	case Found:
		s.err, s.gaveUp = nil, false
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

// GiveUp takes every context that has told nothing so far for one that does not
// answer, for the reason given.
func (b *Board) GiveUp(err error) {
	for name, s := range b.clusters {
		if !s.synced && s.err == nil {
			s.err, s.gaveUp = fleet.InContext(name, "reach the cluster", err), true
		}
	}
}

// Hopeless says whether no context has ever answered, each for a reason that
// trying again does not mend.
func (b *Board) Hopeless() bool {
	for _, s := range b.clusters {
		if s.synced || s.err == nil {
			return false
		}
		switch NewContextError(s.err).Code {
		case fleet.CodeUnreachable, fleet.CodeTimeout, fleet.CodeError:
			return false
		default:
		}
	}
	return true
}

// List is the board as a one-shot listing would have it, cut down to what the
// filter picks.
func (b *Board) List(filter Filter) *OwnerList {
	answers := make([]fleet.Answer[*Tally], 0, len(b.contexts))
	for _, name := range b.contexts {
		s, tally := b.clusters[name], &Tally{}
		for j := range maps.Values(s.jobs) {
			if filter.Matches(&j) {
				tally.Add(j)
			}
		}
		answers = append(answers, fleet.Answer[*Tally]{Context: name, Value: tally, Err: s.err})
	}
	return Merge(answers)
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
