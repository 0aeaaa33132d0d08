package inspect

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// APIVersion is the version of all JSON and YAML output. Fields are only ever added to it.
const APIVersion = "jobmanagedby.github.io/v1alpha1"

// OwnerList lists Jobs by owner.
type OwnerList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the groups of Jobs, one per owner.
	Items []OwnerGroup `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// UnreadWorkers returns the workers that were not read, or not completely. Errors has all other parts of Unchecked.
func (l *OwnerList) UnreadWorkers() []Unchecked {
	return slices.DeleteFunc(slices.Clone(l.Unchecked), func(u Unchecked) bool { return !u.IsOfWorker() })
}

// OwnerGroup is the Jobs of one owner.
type OwnerGroup struct {
	// ManagedBy is the owner, "built-in" if BuiltIn is true.
	ManagedBy delegation.Owner `json:"managedBy"`
	// BuiltIn is whether the built-in controller is the owner.
	BuiltIn bool `json:"builtIn"`
	// Counts is how many Jobs are in each status.
	Counts map[delegation.Status]int `json:"counts"`
	// Jobs are the Jobs, sorted by context, namespace and name; empty in a summary.
	Jobs []*Job `json:"jobs"`
}

// Total returns how many Jobs were counted.
func (g *OwnerGroup) Total() int {
	n := 0
	for _, count := range g.Counts {
		n += count
	}
	return n
}

// ContextError is why a context was not read completely.
type ContextError struct {
	// Context is the context that was not read completely.
	Context string `json:"context"`
	// Code is the type of the error.
	Code kubecontext.Code `json:"code"`
	// Message says what failed, why, and what to do.
	Message string `json:"message"`

	// Part is what could not be read, "" for the whole context.
	Part Part `json:"-"`
	// Refusal is the denied request, if that is the error. NotJudged are the codes that were
	// therefore not checked, in order.
	Refusal   *Refusal `json:"-"`
	NotJudged []string `json:"-"`
	// Cause is Message without the consequences.
	Cause string `json:"-"`
}

// NewContextError converts an error from reading a fleet to its output form.
func NewContextError(err error) ContextError {
	var e *kubecontext.Error
	if !errors.As(err, &e) {
		return ContextError{Code: kubecontext.CodeError, Message: err.Error(), Cause: err.Error()}
	}
	return ContextError{Context: e.Context, Code: e.Code(), Message: e.Message(), Refusal: RefusalOf(err), Cause: e.Message()}
}

// NewPartError is NewContextError for an error that concerns one part of a context.
func NewPartError(context string, part Part, err error) ContextError {
	e := NewContextError(kubecontext.InContext(context, "", err))
	e.Part = part
	return e
}

// Tally groups Jobs, or only counts them. It is not safe for concurrent use: each cluster fills its
// own, and Merge combines them.
type Tally struct {
	// Context is where the Jobs were read. Err is why some or all may be missing.
	Context string
	Err     error
	// Kinds are the kinds that were read, for KeepUnread.
	Kinds []delegation.Kind
	// CountOnly drops Jobs after counting them, and keeps only their UIDs. Distinct drops these
	// too. It says that no other tally has the same Jobs, because all contexts are known to point
	// to different clusters.
	CountOnly, Distinct bool

	groups  map[delegation.Owner]*OwnerGroup
	counted []countedJob
	hidden  []*Job
	// partial are the parts that could not be read.
	partial []Gap
}

// Gap is a part of a cluster that could not be read, and why.
type Gap struct {
	Part Part
	Err  error
}

// Partial records parts of a cluster that could not be read.
func (t *Tally) Partial(gaps []Gap) { t.partial = append(t.partial, gaps...) }

// Hide keeps a Job that is not listed, because it may be the mirror of a listed one, or the origin
// of a Job that would otherwise seem to be a mirror of another.
func (t *Tally) Hide(j Job) {
	if !t.CountOnly {
		t.hidden = append(t.hidden, &j)
	}
}

// Add counts a Job, and keeps it unless CountOnly. It returns the kept Job.
func (t *Tally) Add(j Job) *Job {
	g := t.group(j.ManagedBy)
	g.Counts[j.Status]++
	switch {
	case !t.CountOnly:
		g.Jobs = append(g.Jobs, &j)
	case !t.Distinct:
		t.counted = append(t.counted, countedJob{idOf(&j), j.ManagedBy, j.Status})
	}
	return &j
}

// countedJob is what a tally keeps of a Job that is only counted.
type countedJob struct {
	objectID
	owner  delegation.Owner
	status delegation.Status
}

// drop removes the Jobs that other tallies, recorded in seen, already have.
func (t *Tally) drop(seen objectIDs) {
	for _, g := range t.groups {
		g.Jobs = slices.DeleteFunc(g.Jobs, func(j *Job) bool {
			isKnown := !seen.add(idOf(j))
			if isKnown {
				g.Counts[j.Status]--
			}
			return isKnown
		})
	}
	for _, j := range t.counted {
		if !seen.add(j.objectID) {
			t.groups[j.owner].Counts[j.status]--
		}
	}
	for owner, g := range t.groups {
		maps.DeleteFunc(g.Counts, func(_ delegation.Status, n int) bool { return n == 0 })
		if len(g.Counts) == 0 {
			delete(t.groups, owner)
		}
	}
}

func (t *Tally) group(owner delegation.Owner) *OwnerGroup {
	if t.groups == nil {
		t.groups = map[delegation.Owner]*OwnerGroup{}
	}
	g, ok := t.groups[owner]
	if !ok {
		g = &OwnerGroup{ManagedBy: owner, BuiltIn: owner.IsBuiltIn(), Counts: map[delegation.Status]int{}, Jobs: []*Job{}}
		t.groups[owner] = g
	}
	return g
}

// MergeTallies returns the list of all tallies: delegated owners by name, then the built-in one, and an
// error for each context that had one. A Job that several contexts show is listed and counted once,
// for the first of them.
func MergeTallies(tallies []*Tally) *OwnerList {
	list := NewOwnerList()
	var all Tally
	seen := objectIDs{}
	for _, t := range tallies {
		if t.Err != nil {
			list.Errors = append(list.Errors, NewContextError(t.Err))
		}
		for _, gap := range t.partial {
			list.Errors = append(list.Errors, NewPartError(t.Context, gap.Part, gap.Err))
		}
		if len(tallies) > 1 && !t.Distinct {
			t.drop(seen)
		}
		for owner, g := range t.groups {
			to := all.group(owner)
			for status, n := range g.Counts {
				to.Counts[status] += n
			}
			// Tallies are in the fleet's order, and so are their contexts.
			slices.SortFunc(g.Jobs, byName)
			to.Jobs = append(to.Jobs, g.Jobs...)
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(all.groups), byOwner) {
		list.Items = append(list.Items, *all.groups[owner])
	}
	return list
}

// Owners lists the Jobs of an inventory that match both the label selector and picks. others are
// the remaining Jobs, which may be their mirrors.
func (v *Inventory) Owners(picks func(*Job) bool) (list *OwnerList, others []*Job) {
	var tallies []*Tally
	for _, f := range v.Clusters {
		t := &Tally{Context: f.Context, Err: f.Err}
		for _, j := range f.Jobs {
			if f.Selects(j) && picks(j) {
				t.Add(*j)
			} else {
				others = append(others, j)
			}
		}
		for _, part := range append(f.KindParts(), PartKinds) {
			if err := f.Gaps[part]; err != nil {
				t.partial = append(t.partial, Gap{part, err})
			}
		}
		if claims := f.Gaps[PartWorkloads]; t.Err == nil && errors.Is(claims, ErrClaimsUnknown) {
			t.partial = append(t.partial, Gap{PartWorkloads, claims})
		}
		tallies = append(tallies, t)
	}
	return MergeTallies(tallies), others
}

// Fold removes mirrors whose origins are listed from a list and its counts, together with the
// objects that the mirrors control.
func (l *OwnerList) Fold() {
	folded := l.foldable()
	if len(folded) == 0 {
		return
	}
	for i := range l.Items {
		g := &l.Items[i]
		g.Jobs = slices.DeleteFunc(g.Jobs, func(j *Job) bool {
			if folded[RefOf(j)] {
				g.Counts[j.Status]--
			}
			return folded[RefOf(j)]
		})
		maps.DeleteFunc(g.Counts, func(_ delegation.Status, n int) bool { return n == 0 })
	}
	l.Items = slices.DeleteFunc(l.Items, func(g OwnerGroup) bool { return len(g.Counts) == 0 })
}

// foldable returns the mirrors of the origins in a list, and the objects that these mirrors
// control, such as the Jobs of a JobSet.
func (l *OwnerList) foldable() map[Ref]bool {
	all, folded := l.All(), map[Ref]bool{}
	uids := map[string]map[string]bool{}
	fold := func(r Ref) {
		folded[r] = true
		if uids[r.Context] == nil {
			uids[r.Context] = map[string]bool{}
		}
		uids[r.Context][r.UID] = true
	}
	for _, j := range all {
		for _, m := range j.Mirrors {
			fold(m)
		}
	}
	// A TrainJob creates a JobSet, which creates Jobs.
	for before := -1; before < len(folded); {
		before = len(folded)
		for _, j := range all {
			if j.IsPart() && uids[j.Context][string(j.Controller.UID)] {
				fold(RefOf(j))
			}
		}
	}
	return folded
}

// HiddenJobs returns the Jobs that Merge does not list.
func HiddenJobs(tallies []*Tally) []*Job {
	var jobs []*Job
	for _, t := range tallies {
		jobs = append(jobs, t.hidden...)
	}
	return jobs
}

// All returns the Jobs of all groups.
func (l *OwnerList) All() []*Job {
	var jobs []*Job
	for i := range l.Items {
		jobs = append(jobs, l.Items[i].Jobs...)
	}
	return jobs
}

// NewOwnerList returns an empty list.
func NewOwnerList() *OwnerList {
	return &OwnerList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "OwnerList"},
		Items:    []OwnerGroup{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

func byName(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// byOwner sorts by name, with built-in last, because the delegated Jobs matter more.
func byOwner(a, b delegation.Owner) int {
	if a.IsBuiltIn() != b.IsBuiltIn() {
		if a.IsBuiltIn() {
			return 1
		}
		return -1
	}
	return cmp.Compare(a, b)
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *OwnerList) DeepCopyObject() runtime.Object {
	c := &OwnerList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		g := &c.Items[i]
		g.Counts, g.Jobs = maps.Clone(g.Counts), slices.Clone(g.Jobs)
		for n := range g.Jobs {
			g.Jobs[n] = g.Jobs[n].DeepCopy()
		}
	}
	return c
}
