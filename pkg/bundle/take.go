package bundle

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
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

	// query tells which kinds there are.
	query read.Query
}

// Recording is what was read of a fleet, ready to be written.
type Recording struct {
	snapshot Snapshot
	// files are the objects of each file, in the order in which they are written.
	files map[string][]*record
}

// record is an object as it is written.
type record struct {
	group, kind, namespace, name string
	json                         []byte
}

func byRecord(a, b *record) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// Take reads all clusters of a fleet at once. What cannot be read becomes part
// of the recording; an error is returned only where ctx is over.
func Take(ctx context.Context, f *fleet.Fleet, o Options) (*Recording, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.query = read.Query{Kinds: kindNames()}.Across(ctx, f)
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*reading, error) {
		return readOne(ctx, c, o)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &Recording{
		// A bundle's clock has whole seconds, as those of its objects have.
		snapshot: Snapshot{
			TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
			TakenAt:  metav1.NewTime(o.Clock.Now().UTC()).Rfc3339Copy(),
			Contexts: make([]Context, len(answers)),
		},
		files: map[string][]*record{},
	}
	servers := map[string]*fleet.Cluster{}
	for _, c := range f.Clusters() {
		servers[c.Context] = c
	}
	used := map[string]bool{contents: true}
	clusters := map[string][]int{}
	var workers []kubecontext.Address
	for i, a := range answers {
		if a.Value == nil {
			r.snapshot.Contexts[i] = unreached(a, servers[a.Context])
			continue
		}
		c := a.Value.context
		workers = append(workers, a.Value.workers...)
		key := cmp.Or(c.ClusterUID, "context "+c.Name)
		if same := clusters[key]; len(same) > 0 {
			// The same cluster, and another namespace.
			c.File = r.snapshot.Contexts[same[0]].File
		} else {
			c.File = fileName(c.Name, used)
		}
		clusters[key] = append(clusters[key], i)
		r.files[c.File] = append(r.files[c.File], a.Value.records...)
		r.snapshot.Contexts[i] = c
	}
	r.finish(clusters)
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
func unreached(a fleet.Answer[*reading], c *fleet.Cluster) Context {
	err := kubecontext.InContext(a.Context, "", a.Err)
	record := Context{Name: a.Context, Error: err.Message(), Code: err.Code()}
	if c != nil {
		record.Server, record.CA = address(c.Server), c.CA
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
