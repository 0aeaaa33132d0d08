package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Relation says what shows that an object is the mirror of another.
type Relation string

const (
	// ByMultiKueue means that the mirror has MultiKueue's label, and the origin's kind, namespace
	// and name. Its Workload's name shows whether it is the mirror of this origin or of an older one
	// of the same name; without that, its age does.
	ByMultiKueue Relation = "multikueue"
	// ByDispatch means that the mirror has dispatch's label with the origin's UID.
	ByDispatch Relation = "dispatch"
	// ByWorkload means that the mirror has the origin's kind, namespace and name, and the name of the
	// origin's Workload, which has a hash of the origin's UID, but has lost MultiKueue's label.
	ByWorkload Relation = "workload"
	// ByName means that the mirror has the origin's kind, namespace and name, and no mark of any
	// origin.
	ByName Relation = "name"
)

// Relations returns all relations.
func Relations() []Relation { return []Relation{ByMultiKueue, ByDispatch, ByWorkload, ByName} }

// Pair is an origin and its mirrors, if it has any.
type Pair struct {
	Origin *Job
	// Mirrors are sorted: current ones first, then unfinished ones, then by context.
	Mirrors []Mirror
	// Namesakes are objects on other clusters with the origin's kind, namespace and name that are
	// no mirrors, because its owner would have marked them, or marked them otherwise.
	Namesakes []*Job
}

// Jobs returns the origin, if there is one, and the mirrors.
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

// Current returns the mirrors of this origin, without those of an older origin of the same name.
func (p Pair) Current() []Mirror {
	if n := slices.IndexFunc(p.Mirrors, func(m Mirror) bool { return !m.Current }); n >= 0 {
		return p.Mirrors[:n:n]
	}
	return p.Mirrors
}

// Mirror is an object that runs, or ran, instead of an origin.
type Mirror struct {
	Job      *Job
	Relation Relation
	// Current is false for the mirror of an older origin of the same name, which has been deleted.
	Current bool
}

// Is reports whether the mirror is current and was found by a relation.
func (m Mirror) Is(r Relation) bool { return m.Current && m.Relation == r }

// Pairs are the relations between the objects of a fleet.
type Pairs struct {
	// Pairs has one pair for each origin, in the order of the input.
	Pairs []Pair
	// Orphans are objects marked as mirrors whose origin is missing from the input, or ambiguous.
	Orphans []*Job
}

// recreated is how much older than its origin a current mirror may seem, because clocks differ.
// Ages count only if nothing better shows which origin a mirror belongs to.
const recreated = time.Minute

// PairUp finds origins, their mirrors, and mirrors without an origin. It uses only its input, so
// pass the objects of all clusters, with as few filters as possible.
//
// A delegated object is never a mirror, and no mirror has two origins. An object of a kind without
// managedBy is an origin if it has a mirror. A part of another object may have that object's marks,
// but is neither origin nor mirror. See docs/reference/multikueue.md#markers for how mirrors are
// recognised, and for our own markers.
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
			// It is an origin or neither.
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
	// places are the origins by cluster, namespace and name.
	places  map[delegation.Place][]*Pair
	orphans []*Job
	// submitted are objects of kinds without managedBy that may be origins. unmanaged are the pairs
	// of those that are.
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

// byDispatch finds the origin of an object with dispatch's label. The UID proves that it is
// current. The annotation finds a later origin of the same name.
func (p *pairer) byDispatch(j *Job) {
	if pair, ok := only(onOtherClusters(p.byUID[j.Marks.OriginUID], j)); ok {
		pair.add(j, ByDispatch, true)
		return
	}
	if pair, ok := only(onOtherClusters(p.places[j.Marks.Origin], j)); ok && sameKind(pair.Origin, j) {
		pair.add(j, ByDispatch, false)
		return
	}
	p.orphans = append(p.orphans, j)
}

// byMultiKueue finds the origin of an object with MultiKueue's label. If two management clusters
// have an origin of that name, the Workload's name decides.
func (p *pairer) byMultiKueue(j *Job) {
	var candidates, proven []*Pair
	for _, pair := range onOtherClusters(p.named[NameOf(j)], j) {
		if pair.Origin.ManagedBy != delegation.MultiKueue {
			continue
		}
		candidates = append(candidates, pair)
		if isWorkloadOf(pair.Origin, j.Marks.Prebuilt) {
			proven = append(proven, pair)
		}
	}
	if pair, ok := only(proven); ok {
		pair.add(j, ByMultiKueue, true)
		return
	}
	pair, ok := only(candidates)
	if !ok {
		p.orphans = append(p.orphans, j)
		return
	}
	isProof := j.Marks.Prebuilt != "" && !pair.Origin.hasUnknownSizes()
	pair.add(j, ByMultiKueue, !isProof && notBefore(j, pair.Origin))
}

// hasUnknownSizes reports whether the names of an object's Workloads cannot be computed from the
// object. Ray's own autoscaler resizes elastic objects on the worker. A Workload of another name is
// then no proof of an older origin.
func (j *Job) hasUnknownSizes() bool {
	return len(j.Row().RayCluster) > 0 && j.IsElastic()
}

// byUnmanaged finds the origin of an object with MultiKueue's label, of a kind without managedBy:
// by the origin's UID if the mirror has it, by the Workload's name, or as the only candidate.
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

// byName finds the origin of an object without marks. If the owner marks its mirrors, the object is
// a mirror only if it runs under the origin's Workload.
func (p *pairer) byName(j *Job) {
	var unmarked []*Pair
	for _, pair := range onOtherClusters(p.named[NameOf(j)], j) {
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

// marks reports whether an owner is known to mark its mirrors.
func marks(o delegation.Owner) bool { return o == delegation.MultiKueue || o == delegation.Dispatch }

func (p *Pair) add(j *Job, relation Relation, current bool) {
	for _, m := range p.Mirrors {
		if idOf(m.Job).isSame(idOf(j)) {
			// Two contexts show the same object.
			return
		}
	}
	p.Mirrors = append(p.Mirrors, Mirror{Job: j, Relation: relation, Current: current})
}

// onOtherClusters drops origins on j's own cluster.
func onOtherClusters(pairs []*Pair, j *Job) []*Pair {
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

// only returns the first pair if all are for the same origin, which several contexts of one cluster
// may show.
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

// isWorkloadOf reports whether the name is that of a Workload of this origin, not of an older one.
func isWorkloadOf(origin *Job, workload string) bool {
	return workload != "" && slices.Contains(origin.WorkloadNames(), workload)
}

// WorkloadNames returns the names that the Workloads of a Job can have. Users may create a Workload
// themselves, under any name, and name it in a label of the Job. MultiKueue gives its name to the
// mirror (kueue: pkg/controller/jobframework/reconciler.go).
func (j *Job) WorkloadNames() []string {
	kind := j.Row()
	names := kind.WorkloadNames(j.Name, j.UID, "")
	if j.Prebuilt() != "" {
		names = append(names, j.Prebuilt())
	}
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

// byUse sorts the most important mirror first.
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

// first sorts true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// MirrorRefs returns the mirrors of this origin, without those of an older one.
func (p Pair) MirrorRefs() []Ref {
	refs := []Ref{}
	for _, m := range p.Current() {
		refs = append(refs, RefOf(m.Job))
	}
	return refs
}
