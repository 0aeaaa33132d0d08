package bundle

import (
	"cmp"
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// Options say what goes into a bundle.
type Options struct {
	// AllNamespaces is whether all namespaces are read, and not each context's own.
	AllNamespaces bool
	// Kinds are the kinds of objects to record beside Jobs, by their names; read.AllKinds
	// is every kind that can be delegated. None is all of these, and those that have no
	// field for that and were submitted to a queue.
	Kinds []string
	// Redact takes away what tends to be secret: values of environment variables,
	// annotations that no one here reads, and the names of who holds Leases.
	Redact bool
	// Known are the addresses of all contexts there are, asked or not; that of a
	// context which was joined with another one has that one's name.
	Known []kubecontext.Address
	// Clock tells the time; nil is the real one.
	Clock clock.PassiveClock
}

// Recording is what was read of a fleet, ready to be written.
type Recording struct {
	snapshot Snapshot
	// files are the objects of each file, in the order in which they are written.
	files map[string][]*record
}

// record is an object as it is written.
type record struct {
	resource schema.GroupVersionResource
	// kind is what a bundle calls it, where that is known.
	kind, namespace, name string
	// about is of which kind the object is that an event is about.
	about string
	json  []byte
}

func byRecord(a, b *record) int {
	return cmp.Or(cmp.Compare(a.resource.Group, b.resource.Group), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// Take has all clusters of a fleet read at once, and records what comes of it. What cannot be
// read becomes part of the recording; an error is returned only where ctx is over.
func Take(ctx context.Context, f *fleet.Fleet, o Options) (*Recording, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	readings := map[string]*reading{}
	defer f.Record(func(c *fleet.Cluster) fleet.Recorder {
		r := &reading{cluster: c, options: &o, recorder: recorder{redact: o.Redact, asked: map[schema.GroupVersionResource]error{}}}
		readings[c.Context] = r
		return r
	})()
	all := read.Query{Kinds: kindNames(), AllNamespaces: o.AllNamespaces}
	clusters := read.Whole(ctx, f, all, func(k delegation.Kind) bool { return !o.isWanted(k) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &Recording{
		// A bundle's clock has whole seconds, as those of its objects have.
		snapshot: Snapshot{
			TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
			TakenAt:  metav1.NewTime(o.Clock.Now().UTC()).Rfc3339Copy(),
			Contexts: make([]Context, len(clusters)),
		},
		files: map[string][]*record{},
	}
	used := map[string]bool{contents: true}
	sharing := map[string][]int{}
	var workers []kubecontext.Address
	for i, facts := range clusters {
		one := readings[facts.Context]
		if facts.Err != nil || one == nil {
			r.snapshot.Contexts[i] = unreached(facts, one)
			continue
		}
		c, records := one.finish(facts)
		if facts.Kueue != nil {
			workers = slices.AppendSeq(workers, maps.Values(facts.Kueue.Addresses))
		}
		key := cmp.Or(c.ClusterUID, "context "+c.Name)
		if same := sharing[key]; len(same) > 0 {
			// The same cluster, and another namespace.
			c.File = r.snapshot.Contexts[same[0]].File
		} else {
			c.File = fileName(c.Name, used)
		}
		sharing[key] = append(sharing[key], i)
		r.files[c.File] = append(r.files[c.File], records...)
		r.snapshot.Contexts[i] = c
	}
	r.finish(sharing)
	r.addOthers(o.Known, workers)
	return r, nil
}

// finish puts the objects into order, and tells of each context what its file
// holds.
func (r *Recording) finish(clusters map[string][]int) {
	for name, records := range r.files {
		slices.SortStableFunc(records, byRecord)
		r.files[name] = slices.CompactFunc(records, func(a, b *record) bool { return byRecord(a, b) == 0 })
	}
	for _, contexts := range clusters {
		var namespaces, versions, recorded []string
		var kinds []ServedKind
		for _, i := range contexts {
			namespaces = append(namespaces, r.snapshot.Contexts[i].Namespaces...)
			versions = append(versions, r.snapshot.Contexts[i].Served...)
			recorded = append(recorded, r.snapshot.Contexts[i].Recorded...)
			kinds = append(kinds, r.snapshot.Contexts[i].Kinds...)
		}
		namespaces, versions, kinds = unique(namespaces), unique(versions), uniqueKinds(kinds)
		recorded = unique(recorded)
		for _, i := range contexts {
			c := &r.snapshot.Contexts[i]
			count := len(r.files[c.File])
			c.Objects = &count
			c.Namespaces, c.Served, c.Kinds, c.Recorded = namespaces, versions, kinds, recorded
		}
	}
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// unreached is a context that gave no answer.
func unreached(facts *inspect.Facts, one *reading) Context {
	err := kubecontext.InContext(facts.Context, "", facts.Err)
	record := Context{Name: facts.Context, Error: err.Message(), Code: err.Code()}
	if one != nil {
		record.Server, record.CA = address(one.cluster.Server), one.cluster.CA
	}
	return record
}

// Contexts are what was recorded of each context.
func (r *Recording) Contexts() []Context { return slices.Clone(r.snapshot.Contexts) }

// Usable is how many contexts could be read, at least in part.
func (r *Recording) Usable() int {
	n := 0
	for _, c := range r.snapshot.Contexts {
		if c.File != "" {
			n++
		}
	}
	return n
}
