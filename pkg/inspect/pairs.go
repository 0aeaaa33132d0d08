package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Relation says how it is known that an object is the mirror of another.
type Relation string

const (
	// ByMultiKueue: it carries MultiKueue's marker, and has the origin's kind,
	// namespace and name.
	ByMultiKueue Relation = "multikueue"
	// ByDispatch: it carries the origin's uid as dispatch writes it.
	ByDispatch Relation = "dispatch"
	// ByWorkload: it has the origin's kind, namespace and name, and runs under the origin's
	// Workload, but MultiKueue's marker was removed.
	ByWorkload Relation = "workload"
	// ByName: it has the origin's kind, namespace and name, and nothing says whose
	// it is.
	ByName Relation = "name"
)

// Relations returns all relations.
func Relations() []Relation { return []Relation{ByMultiKueue, ByDispatch, ByWorkload, ByName} }

// Pair is an origin and its mirrors. An origin without any is a Pair too.
type Pair struct {
	Origin *Job
	// Mirrors are sorted: current ones first, then what is unfinished, then by
	// context.
	Mirrors []Mirror
	// Namesakes are objects of other clusters that have the origin's kind,
	// namespace and name, and are known not to be its mirrors, because its owner
	// would have marked these.
	Namesakes []*Job
}

// Jobs are the origin, if there is one, and the mirrors.
func (p Pair) Jobs() []*Job {
	var jobs []*Job
	if p.Origin != nil {
		jobs = append(jobs, p.Origin)
	}
	for _, m := range p.Mirrors {
		jobs = append(jobs, m.Job)
	}
	return jobs
}

// Current are the mirrors that run, or ran, this very incarnation of the origin.
func (p Pair) Current() []Mirror {
	if n := slices.IndexFunc(p.Mirrors, func(m Mirror) bool { return !m.Current }); n >= 0 {
		return p.Mirrors[:n:n]
	}
	return p.Mirrors
}

// Mirror is an object that runs, or ran, in place of an origin.
type Mirror struct {
	Job      *Job
	Relation Relation
	// Current is false for the mirror of an older incarnation: an origin of the
	// same name that was deleted since.
	Current bool
}

// Is says whether it was made for this very incarnation of the origin, and that is known
// by a relation.
func (m Mirror) Is(r Relation) bool { return m.Current && m.Relation == r }

// Pairs is how the objects of a fleet belong together.
type Pairs struct {
	// Pairs are all origins, in the order in which they were given.
	Pairs []Pair
	// Orphans are objects that are marked as mirrors and whose origin is not among
	// what was given, or cannot be told from others.
	Orphans []*Job
}

// recreated is how much older a mirror may look than its origin; it covers
// clocks that differ. Only where nothing better tells incarnations apart does
// age decide.
const recreated = time.Minute

// PairUp finds out which objects are origins, which are their mirrors, and which
// mirrors are nobody's. It looks at nothing but what it is given: pass the
// objects of all clusters, as unfiltered as they can be had.
//
// A delegated object is never a mirror, and no mirror has two origins. An object
// of a kind without managedBy is an origin if there is a mirror of it. What was made
// for another object, and may have its marks, is neither. How
// mirrors are recognised: docs/reference/multikueue.md#markers, and our
// own markers.
func PairUp(jobs []*Job) *Pairs {
	p := newPairer(jobs)
	result := &Pairs{}
	for _, j := range jobs {
		if !j.ManagedBy.IsBuiltIn() || j.Row().Template || j.IsPart() {
			continue
		}
		switch {
		case j.OriginUID() != "":
			p.byDispatch(j)
		case j.MultiKueueOrigin() != "" && j.Row().IsUnmanaged():
			p.byUnmanaged(j)
		case j.MultiKueueOrigin() != "":
			p.byMultiKueue(j)
		case j.Row().IsUnmanaged():
			// It is an origin or nothing.
		default:
			p.byName(j)
		}
	}
	for _, pair := range p.pairs {
		slices.SortStableFunc(pair.Mirrors, byUse)
		result.Pairs = append(result.Pairs, *pair)
	}
	result.Orphans = p.orphans
	return result
}

type pairer struct {
	pairs []*Pair
	named map[ObjectName][]*Pair
	byUID map[string][]*Pair
	// places are origins by cluster, namespace and name.
	places  map[delegation.Place][]*Pair
	orphans []*Job
	// submitted are objects of kinds without managedBy that may be origins, and
	// unmanaged the pairs of those that are.
	submitted map[ObjectName][]*Job
	unmanaged map[*Job]*Pair
}

func newPairer(jobs []*Job) *pairer {
	p := &pairer{
		named: make(map[ObjectName][]*Pair, len(jobs)), byUID: make(map[string][]*Pair, len(jobs)), places: make(map[delegation.Place][]*Pair, len(jobs)),
		submitted: map[ObjectName][]*Job{}, unmanaged: map[*Job]*Pair{},
	}
	for _, j := range jobs {
		if j.Row().IsUnmanaged() && j.Queue() != "" && j.Marks.MultiKueueOrigin == "" {
			p.submitted[NameOf(j)] = append(p.submitted[NameOf(j)], j)
		}
		if !j.IsDelegated() {
			continue
		}
		pair := &Pair{Origin: j}
		p.pairs = append(p.pairs, pair)
		p.named[NameOf(j)] = append(p.named[NameOf(j)], pair)
		p.byUID[j.UID] = append(p.byUID[j.UID], pair)
		if j.ClusterUID != "" {
			place := delegation.Place{ClusterUID: j.ClusterUID, Namespace: j.Namespace, Name: j.Name}
			p.places[place] = append(p.places[place], pair)
		}
	}
	return p
}

// byDispatch finds the origin of what carries our label. The uid proves the
// incarnation; the annotation leads to a later one of the same name.
func (p *pairer) byDispatch(j *Job) {
	if pair, ok := only(elsewhere(p.byUID[j.Marks.OriginUID], j)); ok {
		pair.add(j, ByDispatch, true)
		return
	}
	if pair, ok := only(elsewhere(p.places[j.Marks.Origin], j)); ok && sameKind(pair.Origin, j) {
		pair.add(j, ByDispatch, false)
		return
	}
	p.orphans = append(p.orphans, j)
}

// byMultiKueue finds the origin of what carries MultiKueue's label. Where two
// management clusters have an origin of that name, the Workload's name tells
// whose it is.
func (p *pairer) byMultiKueue(j *Job) {
	var candidates []*Pair
	for _, pair := range elsewhere(p.named[NameOf(j)], j) {
		if pair.Origin.ManagedBy != delegation.MultiKueue {
			continue
		}
		candidates = append(candidates, pair)
		if isWorkloadOf(pair.Origin, j.Marks.Prebuilt) {
			pair.add(j, ByMultiKueue, true)
			return
		}
	}
	pair, ok := only(candidates)
	if !ok {
		p.orphans = append(p.orphans, j)
		return
	}
	isProof := j.Marks.Prebuilt != "" && !pair.Origin.hasUnknownSizes()
	pair.add(j, ByMultiKueue, !isProof && notBefore(j, pair.Origin))
}

// hasUnknownSizes says whether the names of an object's Workloads do not follow from the
// object: Ray's own autoscaler sizes elastic ones, on the worker. A Workload of another
// name is then no proof of another incarnation.
func (j *Job) hasUnknownSizes() bool {
	return len(j.Row().RayCluster) > 0 && j.IsElastic()
}

// byUnmanaged finds the origin of what carries MultiKueue's label and is of a kind
// without managedBy: by the origin's uid where the mirror has that, by the
// Workload's name, or because there is only one that it can be.
func (p *pairer) byUnmanaged(j *Job) {
	var candidates []*Job
	for _, origin := range p.submitted[NameOf(j)] {
		if sameCluster(origin, j) || origin.UID == j.UID {
			continue
		}
		candidates = append(candidates, origin)
		if j.Marks.MultiKueueOriginUID == origin.UID || isWorkloadOf(origin, j.Marks.Prebuilt) {
			p.unmanagedPair(origin).add(j, ByMultiKueue, true)
			return
		}
	}
	if len(candidates) == 0 || slices.ContainsFunc(candidates, func(o *Job) bool { return o.UID != candidates[0].UID }) {
		p.orphans = append(p.orphans, j)
		return
	}
	isProven := j.Marks.MultiKueueOriginUID != "" || j.Marks.Prebuilt != "" && j.Marks.PodGroup == ""
	p.unmanagedPair(candidates[0]).add(j, ByMultiKueue, !isProven && notBefore(j, candidates[0]))
}

func (p *pairer) unmanagedPair(origin *Job) *Pair {
	pair, known := p.unmanaged[origin]
	if !known {
		pair = &Pair{Origin: origin}
		p.unmanaged[origin] = pair
		p.pairs = append(p.pairs, pair)
	}
	return pair
}

// byName finds the origin of what carries no marker. An owner that would have
// marked it did not make it, unless it runs under the origin's Workload.
func (p *pairer) byName(j *Job) {
	var unmarked []*Pair
	for _, pair := range elsewhere(p.named[NameOf(j)], j) {
		switch {
		case pair.Origin.ManagedBy == delegation.MultiKueue && isWorkloadOf(pair.Origin, j.Prebuilt()):
			pair.add(j, ByWorkload, true)
			return
		case marks(pair.Origin.ManagedBy):
			pair.Namesakes = append(pair.Namesakes, j)
		default:
			unmarked = append(unmarked, pair)
		}
	}
	if pair, ok := only(unmarked); ok {
		pair.add(j, ByName, notBefore(j, pair.Origin))
	}
}

// marks says whether an owner is known to mark the mirrors that it makes.
func marks(o delegation.Owner) bool { return o == delegation.MultiKueue || o == delegation.Dispatch }

func (p *Pair) add(j *Job, relation Relation, current bool) {
	for _, m := range p.Mirrors {
		if idOf(m.Job).isSame(idOf(j)) {
			// It was read through two contexts.
			return
		}
	}
	p.Mirrors = append(p.Mirrors, Mirror{Job: j, Relation: relation, Current: current})
}

// elsewhere leaves out origins on j's own cluster.
func elsewhere(pairs []*Pair, j *Job) []*Pair {
	var others []*Pair
	for _, pair := range pairs {
		if !sameCluster(pair.Origin, j) && pair.Origin.UID != j.UID {
			others = append(others, pair)
		}
	}
	return others
}

func sameCluster(a, b *Job) bool {
	if a.ClusterUID != "" && b.ClusterUID != "" {
		return a.ClusterUID == b.ClusterUID
	}
	return a.Context == b.Context
}

// only is the pair that all of them are: several readings of one origin, through
// contexts of one cluster, count as one.
func only(pairs []*Pair) (*Pair, bool) {
	for _, pair := range pairs {
		if pair.Origin.UID != pairs[0].Origin.UID || !sameCluster(pair.Origin, pairs[0].Origin) {
			return nil, false
		}
	}
	if len(pairs) == 0 {
		return nil, false
	}
	return pairs[0], true
}

func sameKind(a, b *Job) bool { return NameOf(a).GroupKind == NameOf(b).GroupKind }

func notBefore(mirror, origin *Job) bool {
	return mirror.CreationTimestamp.Add(recreated).After(origin.CreationTimestamp.Time)
}

// isWorkloadOf says whether a Workload of that name was made for this very
// incarnation of an origin.
func isWorkloadOf(origin *Job, workload string) bool {
	return workload != "" && slices.Contains(origin.WorkloadNames(), workload)
}

// WorkloadNames are the names that the Workloads of a Job can have.
func (j *Job) WorkloadNames() []string {
	kind := j.Row()
	names := kind.WorkloadNames(j.Name, j.UID, "")
	if j.Marks != nil && j.Marks.PodGroup != "" {
		names = append(names, j.Marks.PodGroup)
	}
	if j.IsElastic() {
		for _, size := range kind.Sizes(j.Generation, j.Marks.RayGeneration) {
			names = append(names, kind.WorkloadNames(j.Name, j.UID, size)...)
		}
	}
	return names
}

// byUse sorts the mirror that matters most to the front.
func byUse(a, b Mirror) int {
	return cmp.Or(
		first(a.Current, b.Current),
		first(!a.Job.Status.IsFinished(), !b.Job.Status.IsFinished()),
		cmp.Compare(a.Job.Context, b.Job.Context),
		cmp.Compare(a.Job.Namespace, b.Job.Namespace),
		cmp.Compare(a.Job.Name, b.Job.Name),
		cmp.Compare(a.Job.UID, b.Job.UID),
	)
}

// first sorts what holds before what does not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
