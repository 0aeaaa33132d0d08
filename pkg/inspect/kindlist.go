package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// KindList is the kinds that clusters serve and that can be delegated.
type KindList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []ServedKind   `json:"items"`
	Errors          []ContextError `json:"errors"`
}

// ServedKind is a kind as one cluster serves it.
type ServedKind struct {
	Context    string `json:"context"`
	ClusterUID string `json:"clusterUID"`
	Kind       string `json:"kind"`
	// APIVersion is the version in which it is read.
	APIVersion string `json:"apiVersion"`
	// Resource is its plural and group, as kubectl and --kinds take it.
	Resource string `json:"resource"`
	// ManagedBy is the path of the field that names the owner, with dots; "" where the
	// cluster serves the kind in versions that do not have it.
	ManagedBy string `json:"managedBy"`
	// Template says that the field names the owner of what is made of an object, and
	// not of itself.
	Template bool `json:"template"`
	// Allowed are the values that the field may have; null means any.
	Allowed []delegation.Owner `json:"allowed"`
	// Reserved is the value that means the same as none, "" where that is not known;
	// Defaulted says that it is written where there is none.
	Reserved  string `json:"reserved"`
	Defaulted bool   `json:"defaulted"`
	// Change says whether the field can be changed later.
	Change delegation.Change `json:"change"`
	// Discovered says that its schema alone tells of it, so that its status is read by
	// the conditions that many kinds have in common.
	Discovered bool `json:"discovered"`
	// Since is the first version of its controller that heeds the field, "" where that
	// is not known.
	Since string `json:"since"`
	// Owners are those that objects have, delegated ones by name, then the built-in
	// one; null where objects were not or could not be counted.
	Owners []KindOwner `json:"owners"`
}

// KindOwner is how many objects of a kind have an owner.
type KindOwner struct {
	ManagedBy delegation.Owner `json:"managedBy"`
	BuiltIn   bool             `json:"builtIn"`
	Count     int              `json:"count"`
}

// NewKindList makes an empty list.
func NewKindList() *KindList {
	return &KindList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "KindList"},
		Items:    []ServedKind{}, Errors: []ContextError{},
	}
}

// ReadKinds finds out which kinds can be delegated on each cluster of a fleet, and
// counts their objects by owner. A query's kinds do not matter.
func ReadKinds(ctx context.Context, f *fleet.Fleet, q Query) *KindList {
	list := NewKindList()
	type read struct {
		kinds []ServedKind
		errs  []error
	}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (read, error) {
		kinds, errs := readKinds(ctx, c, q)
		return read{kinds, errs}, context.Cause(ctx)
	}) {
		list.Items = append(list.Items, a.Value.kinds...)
		if a.Err != nil {
			// Then all else is for the same reason.
			list.Errors = append(list.Errors, NewContextError(a.Err))
			continue
		}
		for _, err := range a.Value.errs {
			list.Errors = append(list.Errors, NewContextError(kubecontext.InContext(a.Context, "", err)))
		}
	}
	return list
}

// readKinds reads one cluster. errs are why not all is known.
func readKinds(ctx context.Context, c *fleet.Cluster, q Query) (all []ServedKind, errs []error) {
	s := newSurvey(ctx, c, []string{AllKinds})
	s.verify = true
	s.run(ctx)
	if err := s.err(); err != nil {
		errs = append(errs, err)
	}
	for _, kind := range s.kinds {
		all = append(all, servedKind(c, kind))
	}
	failed := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i, kind := range s.kinds {
		group.Go(func() error {
			all[i].Owners, failed[i] = countOwners(ctx, c, q, kind)
			return nil
		})
	}
	// The errors are in failed.
	_ = group.Wait()
	if s.unasked != nil {
		// That a kind is served was no more than likely.
		all, failed = slices.DeleteFunc(all, func(k ServedKind) bool { return k.Owners == nil }), nil
	}
	for _, kind := range s.without {
		k := servedKind(c, kind)
		k.ManagedBy, k.Allowed = "", nil
		all = append(all, k)
	}
	slices.SortStableFunc(all, func(a, b ServedKind) int {
		// Those of the table first, in its order.
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource, b.Resource))
	})
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	return all, append(errs, failed...)
}

// rankOf is the place of a kind in the table, behind which all others are.
func rankOf(k ServedKind) int {
	rows := delegation.Kinds()
	i := slices.IndexFunc(rows, func(row delegation.Kind) bool {
		return row.Kind == k.Kind && resourceText(row.Resource) == k.Resource
	})
	if i < 0 {
		return len(rows)
	}
	return i
}

func servedKind(c *fleet.Cluster, k delegation.Kind) ServedKind {
	return ServedKind{
		Context: c.Context, ClusterUID: c.UID,
		Kind: k.Kind, APIVersion: k.Resource.GroupVersion().String(), Resource: resourceText(k.Resource),
		ManagedBy: strings.Join(k.ManagedBy, "."), Template: k.Template,
		Allowed: slices.Clone(k.Allowed), Reserved: k.Reserved, Defaulted: k.Defaulted, Change: k.Change,
		Discovered: k.Discovered, Since: k.Since,
	}
}

// countOwners counts the objects of a kind by owner. They are read in chunks, and
// nothing of them is kept.
func countOwners(ctx context.Context, c *fleet.Cluster, q Query, kind delegation.Kind) ([]KindOwner, error) {
	counts := map[delegation.Owner]int{}
	list := listObjectsOf
	if kind.IsJob() {
		list = listJobs
	}
	if err := list(ctx, c, q, kind, func(r read) { counts[r.job.ManagedBy]++ }); err != nil {
		return nil, &KindError{Kind: kind, Err: &kubecontext.Error{Doing: q.doing("list", kind, c), Err: err}}
	}
	owners := []KindOwner{}
	for _, owner := range slices.SortedFunc(maps.Keys(counts), byOwner) {
		owners = append(owners, KindOwner{ManagedBy: owner, BuiltIn: owner.IsBuiltIn(), Count: counts[owner]})
	}
	return owners, nil
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *KindList) DeepCopyObject() runtime.Object {
	c := &KindList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		k := &c.Items[i]
		k.Allowed, k.Owners = slices.Clone(k.Allowed), slices.Clone(k.Owners)
	}
	return c
}
