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

// Options select the contents of a snapshot.
type Options struct {
	// AllNamespaces is whether all namespaces are read, instead of each context's own.
	AllNamespaces bool
	// Kinds are the names of kinds to record besides Jobs. read.AllKinds means every delegable
	// kind. None means all of these, and kinds without the field whose objects are in a queue.
	Kinds []string
	// Redact removes likely secrets: values of environment variables, annotations that no command
	// reads, and the holders of Leases.
	Redact bool
	// Known are the addresses of all contexts, read or not. A context that reaches the cluster of
	// another context has the name of that context.
	Known []kubecontext.Address
	// Clock is the clock; nil means the real one.
	Clock clock.PassiveClock
}

// Recording is the content of a snapshot, ready to be written.
type Recording struct {
	snapshot Snapshot
	// files are the objects of each file, in the order of writing.
	files map[string][]*record
}

// record is an object as it is written.
type record struct {
	resource schema.GroupVersionResource
	// kind is the kind in the snapshot, if it is known.
	kind, namespace, name string
	// about is the kind of the object of an event.
	about string
	json  []byte
}

func byRecord(a, b *record) int {
	return cmp.Or(cmp.Compare(a.resource.Group, b.resource.Group), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// Take reads all clusters of a fleet at once and records the results. Errors of reading become
// part of the recording. Take returns an error only if ctx is done.
func Take(ctx context.Context, f *fleet.Fleet, o Options) (*Recording, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	readings := map[string]*reading{}
	defer f.Record(func(c *fleet.Cluster) fleet.Recorder {
		r := &reading{cluster: c, options: &o, recorder: recorder{redact: o.Redact, requested: map[schema.GroupVersionResource]error{}}}
		readings[c.Context] = r
		return r
	})()
	all := read.Query{Kinds: kindNames(), AllNamespaces: o.AllNamespaces}
	clusters := read.Whole(ctx, f, all, func(k delegation.Kind) bool { return !o.isWanted(k) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &Recording{
		// The time has whole seconds, like the times of objects.
		snapshot: Snapshot{
			TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
			TakenAt:  metav1.NewTime(o.Clock.Now().UTC()).Rfc3339Copy(),
			Contexts: make([]Context, len(clusters)),
		},
		files: map[string][]*record{},
	}
	used := map[string]bool{contents: true}
	contextsOfCluster := map[string][]int{}
	var workers []kubecontext.Address
	for i, facts := range clusters {
		clusterReading := readings[facts.Context]
		if facts.Err != nil || clusterReading == nil {
			r.snapshot.Contexts[i] = unreached(facts, clusterReading)
			continue
		}
		c, records := clusterReading.finish(facts)
		if facts.Kueue != nil {
			workers = slices.AppendSeq(workers, maps.Values(facts.Kueue.Addresses))
		}
		key := cmp.Or(c.ClusterUID, "context "+c.Name)
		if same := contextsOfCluster[key]; len(same) > 0 {
			// This is the same cluster with another namespace.
			c.File = r.snapshot.Contexts[same[0]].File
		} else {
			c.File = fileName(c.Name, used)
		}
		contextsOfCluster[key] = append(contextsOfCluster[key], i)
		r.files[c.File] = append(r.files[c.File], records...)
		r.snapshot.Contexts[i] = c
	}
	r.finish(contextsOfCluster)
	r.addOthers(o.Known, workers)
	return r, nil
}

// finish sorts the objects, and sets the facts about the file of each context.
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

// unreached returns the record of a context that did not answer.
func unreached(facts *inspect.Facts, clusterReading *reading) Context {
	err := kubecontext.InContext(facts.Context, "", facts.Err)
	record := Context{Name: facts.Context, Error: err.Message(), Code: err.Code()}
	if clusterReading != nil {
		record.Server, record.CA = address(clusterReading.cluster.Server), clusterReading.cluster.CA
	}
	return record
}

// Contexts returns the record of each context.
func (r *Recording) Contexts() []Context { return slices.Clone(r.snapshot.Contexts) }

// CountReadable returns the number of contexts that could be read, at least partly.
func (r *Recording) CountReadable() int {
	n := 0
	for _, c := range r.snapshot.Contexts {
		if c.File != "" {
			n++
		}
	}
	return n
}
