package inspect

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// ChangeType is the type of a RowChange, named as the API's watch events.
type ChangeType string

// A Job is new, looks different, or is no longer listed.
const (
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
)

// Rows are the Jobs of a list that is read repeatedly, as they were last shown.
type Rows struct{ shown map[Ref]*Job }

// RowChange is how a Job differs from its row.
type RowChange struct {
	Type ChangeType
	// Job must not be modified.
	Job *Job
}

// Add records these Jobs, and returns the new and the modified ones, in their order. It keeps the
// rows of all other Jobs.
func (r *Rows) Add(jobs []*Job) (changes []RowChange) {
	if r.shown == nil {
		r.shown = make(map[Ref]*Job, len(jobs))
	}
	for _, j := range jobs {
		ref := RefOf(j)
		switch before := r.shown[ref]; {
		case before == nil:
			changes = append(changes, RowChange{Added, j})
		case !isSameRow(before, j):
			changes = append(changes, RowChange{Modified, j})
		}
		r.shown[ref] = j
	}
	return changes
}

// Update records that the list now has exactly these Jobs, and returns the differences: first the
// deleted ones, then the others in their order. A Job that was only left out of the list, and is
// among others, is Deleted with its state there. kubectl makes no difference between the two either.
func (r *Rows) Update(jobs, others []*Job) []RowChange {
	changes := r.Add(jobs)
	if len(r.shown) == len(jobs) {
		return changes
	}
	listed := make(sets.Set[Ref], len(jobs))
	for _, j := range jobs {
		listed.Insert(RefOf(j))
	}
	gone := map[Ref]*Job{}
	for ref, j := range r.shown {
		if !listed.Has(ref) {
			gone[ref] = j
			delete(r.shown, ref)
		}
	}
	for _, j := range others {
		if before := gone[RefOf(j)]; before != nil {
			last := *j
			last.Mirrors = before.Mirrors
			gone[RefOf(j)] = &last
		}
	}
	var deleted []RowChange
	for _, j := range gone {
		deleted = append(deleted, RowChange{Deleted, j})
	}
	slices.SortFunc(deleted, func(a, b RowChange) int {
		return cmp.Or(cmp.Compare(a.Job.Context, b.Job.Context), byName(a.Job, b.Job), cmp.Compare(a.Job.UID, b.Job.UID))
	})
	return append(deleted, changes...)
}

// isSameRow reports whether two readings of a Job look the same. It ignores when and by whom the Job was last
// written, and when its cluster was identified: a change of nothing visible is not news.
func isSameRow(a, b *Job) bool {
	if a.Status != b.Status || !slices.Equal(a.Mirrors, b.Mirrors) {
		return false
	}
	if a.SpecWrittenAt != nil && a.SpecWrittenAt == b.SpecWrittenAt {
		// Both are copies of one object, so only the fields above can differ. Comparing all fields
		// takes a hundred times as long.
		return true
	}
	x, y := *a, *b
	x.StatusWrittenAt, y.StatusWrittenAt = nil, nil
	x.Since, y.Since = nil, nil
	x.SpecWrittenAt, y.SpecWrittenAt = nil, nil
	x.Generation, y.Generation = 0, 0
	x.KindRow, y.KindRow = nil, nil
	x.WrittenAs, y.WrittenAs = nil, nil
	x.StatusWriters, y.StatusWriters = nil, nil
	x.SpecWriters, y.SpecWriters = nil, nil
	x.ClusterUID, y.ClusterUID = "", ""
	return equality.Semantic.DeepEqual(&x, &y)
}

// Outages are the contexts, or parts of them, that the last reading of a fleet could not read.
type Outages struct{ parts map[string]sets.Set[Part] }

// Update records the errors of a reading. It returns the errors about contexts and parts that could
// be read before, and the contexts that can be read completely again, by name.
func (o *Outages) Update(errs []ContextError) (lost []ContextError, regained []string) {
	now := map[string]sets.Set[Part]{}
	for _, e := range errs {
		if !o.parts[e.Context].Has(e.Part) {
			lost = append(lost, e)
		}
		if now[e.Context] == nil {
			now[e.Context] = sets.New[Part]()
		}
		now[e.Context].Insert(e.Part)
	}
	for _, context := range slices.Sorted(maps.Keys(o.parts)) {
		switch parts := now[context]; {
		case parts == nil:
			regained = append(regained, context)
		case parts.Has(""):
			// The state of the parts is unknown.
			now[context] = parts.Union(o.parts[context])
		}
	}
	o.parts = now
	return lost, regained
}

// KeepUnread adds to each tally the Jobs that the last tally of its context has and that could not
// be read this time: all Jobs of a context that does not answer, and the Jobs of unreadable kinds.
// It adds no Job that another tally has read, through another context of the same cluster. It must
// be called before Merge.
func KeepUnread(tallies, last []*Tally) {
	isRead := func(t *Tally) bool { return t.Err == nil && len(t.partial) == 0 }
	if !slices.ContainsFunc(tallies, func(t *Tally) bool { return !isRead(t) }) {
		return
	}
	read := objectIDs{}
	for _, t := range tallies {
		for j := range t.jobs {
			read.add(idOf(j))
		}
	}
	for _, t := range tallies {
		i := slices.IndexFunc(last, func(before *Tally) bool { return before.Context == t.Context })
		if isRead(t) || i < 0 {
			continue
		}
		mayLack := t.mayLack()
		for j, isListed := range last[i].jobs {
			if !mayLack(j) || !read.add(idOf(j)) {
				continue
			}
			if isListed {
				t.Add(*j)
			} else {
				t.Hide(*j)
			}
		}
	}
}

// jobs calls visit for the Jobs of a tally, listed or not, in a fixed order.
func (t *Tally) jobs(visit func(j *Job, isListed bool) bool) {
	for _, owner := range slices.Sorted(maps.Keys(t.groups)) {
		for _, j := range t.groups[owner].Jobs {
			if !visit(j, true) {
				return
			}
		}
	}
	for _, j := range t.hidden {
		if !visit(j, false) {
			return
		}
	}
}

// mayLack returns a function that says whether a tally may lack an existing Job.
func (t *Tally) mayLack() func(*Job) bool {
	if t.Err != nil {
		return func(*Job) bool { return true }
	}
	unread, read := sets.New[Part](), sets.New[Part]()
	for _, gap := range t.partial {
		unread.Insert(gap.Part)
	}
	for i := range t.Kinds {
		read.Insert(PartOf(t.Kinds[i]))
	}
	return func(j *Job) bool {
		part := PartOf(j.Row())
		return unread.Has(part) || unread.Has(PartKinds) && !read.Has(part)
	}
}

// KindList lists the kinds that clusters serve and that can be delegated.
type KindList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the kinds that can be delegated.
	Items []ServedKind `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// ServedKind is a kind as one cluster serves it.
type ServedKind struct {
	// Context is the context of the cluster that serves the kind.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Kind is the name of the kind.
	Kind string `json:"kind"`
	// APIVersion is the version in which the kind is read.
	APIVersion string `json:"apiVersion"`
	// Resource is the plural and group of the kind, in the form that kubectl and --kinds use.
	Resource string `json:"resource"`
	// ManagedBy is the path of the field that names the owner, with dots; "" if the cluster serves
	// only versions without the field.
	ManagedBy string `json:"managedBy"`
	// Template is whether the field names the owner of objects that this object creates, and not
	// its own.
	Template bool `json:"template"`
	// Allowed are the values that the field may have; null means any.
	Allowed []delegation.Owner `json:"allowed"`
	// Reserved is the value that means the same as no owner; "" if unknown.
	Reserved string `json:"reserved"`
	// Defaulted is whether the API server writes Reserved if the field is not set.
	Defaulted bool `json:"defaulted"`
	// Change reports whether the field can be changed later.
	Change delegation.Change `json:"change"`
	// Discovered is whether the kind is known from its schema only, so that its status is read from
	// conditions that many kinds have in common.
	Discovered bool `json:"discovered"`
	// Since is the first version of the kind's controller that reads the field by default; "" if unknown.
	Since string `json:"since"`
	// Owners are the owners of objects of this kind, by name, the built-in one last; null if
	// objects were not counted.
	Owners []KindOwner `json:"owners"`
}

// KindOwner counts the objects of a kind that have one owner.
type KindOwner struct {
	// ManagedBy is the owner.
	ManagedBy delegation.Owner `json:"managedBy"`
	// BuiltIn is whether the owner is the built-in controller of the kind.
	BuiltIn bool `json:"builtIn"`
	// Count is how many objects the owner has.
	Count int `json:"count"`
}

// KindOwners returns counts of objects by owner, in the order of lists.
func KindOwners(counts map[delegation.Owner]int) []KindOwner {
	owners := []KindOwner{}
	for _, owner := range slices.SortedFunc(maps.Keys(counts), byOwner) {
		owners = append(owners, KindOwner{ManagedBy: owner, BuiltIn: owner.IsBuiltIn(), Count: counts[owner]})
	}
	return owners
}

// NewKindList returns an empty list.
func NewKindList() *KindList {
	return &KindList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "KindList"},
		Items:    []ServedKind{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *KindList) DeepCopyObject() runtime.Object {
	c := &KindList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		k := &c.Items[i]
		k.Allowed, k.Owners = slices.Clone(k.Allowed), slices.Clone(k.Owners)
	}
	return c
}

// CodeList describes the codes of findings.
type CodeList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the codes, in the order of their numbers.
	Items []CodeDescription `json:"items"`
}

// CodeDescription describes what a finding with one code means.
type CodeDescription struct {
	// Code is the code. A code is never reused for another problem.
	Code string `json:"code"`
	// Severity is the usual severity of its findings.
	Severity Severity `json:"severity"`
	// Title names the problem in a few words.
	Title string `json:"title"`
	// Why says what causes the problem.
	Why string `json:"why"`
	// Shows says what users see of the problem.
	Shows string `json:"shows"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
	// Docs is the address of the page about the code, as in a finding.
	Docs string `json:"docs"`
	// Link is the address of documentation or a discussion elsewhere.
	Link string `json:"link"`
}

// NewCodeList returns an empty list with its kind set.
func NewCodeList() *CodeList {
	return &CodeList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "CodeList"},
		Items:    []CodeDescription{},
	}
}

// DeepCopyObject makes a CodeList a runtime.Object, for printers.
func (l *CodeList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]CodeDescription(nil), l.Items...)
	return &c
}
