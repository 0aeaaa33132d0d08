package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Inventory is all that was read of a fleet, and the relations between objects. Judging is a pure
// function of it.
type Inventory struct {
	// Now is when the fleet was read, by our own clock.
	Now time.Time
	// Clusters has each cluster once, in the fleet's order, including contexts that could not be
	// read.
	Clusters []*Facts
	// Addresses are those of all contexts, read or not, to find the contexts of MultiKueueClusters.
	// A context that was merged with another one has that one's name.
	Addresses []kubecontext.Address
	Pairs     *Pairs

	// contexts caches the results of ContextOf, and offered those of byOffers, by the manager's
	// context. workers caches those of workerContexts, origins those of OriginNames, and submitted the
	// names of MultiKueue's origins. as maps contexts to the context into whose Facts theirs were merged.
	contexts  map[clusterName]string
	offered   map[string]*matcher
	workers   map[string]sets.Set[string]
	origins   map[string]OriginNames
	submitted sets.Set[ObjectName]
	as        map[string]string
}

// clusterName identifies a MultiKueueCluster by its name and its manager's context.
type clusterName struct{ manager, cluster string }

// NewInventory pairs up what was read. Facts that several contexts read of one cluster are merged
// under the name of the first.
func NewInventory(now time.Time, clusters []*Facts, addresses []kubecontext.Address) *Inventory {
	clusters, as := joined(clusters)
	addresses = renamed(addresses, as)
	var jobs []*Job
	for _, f := range clusters {
		f.sort()
		f.proveSkew(now)
		jobs = append(jobs, f.Jobs...)
		f.buildIndex()
		f.markLostPods(now)
		f.takeStatusFromParts()
		f.SetDispatchers(now)
	}
	v := &Inventory{
		Now: now, Clusters: clusters, Addresses: addresses, Pairs: PairUp(jobs),
		contexts: map[clusterName]string{}, offered: map[string]*matcher{}, workers: map[string]sets.Set[string]{},
		origins: map[string]OriginNames{}, as: as,
	}
	for i := range v.Pairs.Pairs {
		v.adoptByWorkload(&v.Pairs.Pairs[i])
	}
	for i := range v.Pairs.Pairs {
		v.rejectForeign(&v.Pairs.Pairs[i])
	}
	return v
}

// adoptByWorkload makes a namesake a mirror if it controls a copy of the origin's Workload. Such a
// mirror has lost all its other marks.
func (v *Inventory) adoptByWorkload(p *Pair) {
	if len(p.Namesakes) == 0 || p.Origin.ManagedBy != delegation.MultiKueue {
		return
	}
	p.Namesakes = slices.DeleteFunc(p.Namesakes, func(j *Job) bool {
		f := v.Facts(j.Context)
		for _, name := range p.Origin.WorkloadNames() {
			w := f.Workload(j.Namespace, name)
			if w == nil || w.Labels[delegation.MultiKueueOriginLabel] == "" {
				continue
			}
			if owner := metav1.GetControllerOf(w); owner != nil && string(owner.UID) == j.UID {
				p.add(j, ByWorkload, true)
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(p.Mirrors, byUse)
}

// rejectForeign makes a mirror of MultiKueue a namesake if nothing shows that it is current, and its
// management cluster uses another label: another management cluster created it.
func (v *Inventory) rejectForeign(p *Pair) {
	p.Mirrors = slices.DeleteFunc(p.Mirrors, func(m Mirror) bool {
		isForeign := !m.Current && m.Relation == ByMultiKueue && !v.usesOrigin(v.Facts(p.Origin.Context), m.Job.MultiKueueOrigin())
		if isForeign {
			p.Namesakes = append(p.Namesakes, m.Job)
		}
		return isForeign
	})
}

// WithoutGaps splits the inventory for rules that draw conclusions from absent objects. whole lacks
// the kinds that could not be read on some cluster. byGap has an inventory for each of these kinds,
// in which the clusters with the gap count as unread.
func (v *Inventory) WithoutGaps() (whole *Inventory, byGap map[Part]*Inventory) {
	byGap = map[Part]*Inventory{}
	for _, f := range v.Clusters {
		for _, part := range f.KindParts() {
			byGap[part] = nil
		}
	}
	if len(byGap) == 0 {
		return v, nil
	}
	for part := range byGap {
		byGap[part] = v.only(func(p Part) bool { return p == part }, part)
	}
	return v.only(func(p Part) bool { _, is := byGap[p]; return !is }, ""), byGap
}

// only returns the inventory with the Jobs of the kinds to keep. A cluster where the needed kind is
// a gap counts as unread.
func (v *Inventory) only(keep func(Part) bool, needed Part) *Inventory {
	var clusters []*Facts
	for _, f := range v.Clusters {
		c := *f
		c.Jobs = slices.DeleteFunc(slices.Clone(f.Jobs), func(j *Job) bool { return !keep(PartOf(j.Row())) })
		c.Kinds = slices.DeleteFunc(slices.Clone(f.Kinds), func(k delegation.Kind) bool { return !keep(PartOf(k)) })
		if err := f.Gaps[needed]; err != nil && c.Err == nil {
			c = Facts{Context: f.Context, ClusterUID: f.ClusterUID, NamespaceUIDs: f.NamespaceUIDs, Skew: f.Skew, Err: err}
		}
		clusters = append(clusters, &c)
	}
	return NewInventory(v.Now, clusters, v.Addresses)
}

// Facts returns what was read through a context, nil if the context was not read.
func (v *Inventory) Facts(name string) *Facts {
	for _, f := range v.Clusters {
		if f.Context == name {
			return f
		}
	}
	return nil
}

// renamed returns the addresses, under the names of the contexts that theirs were merged into.
func renamed(addresses []kubecontext.Address, as map[string]string) []kubecontext.Address {
	if len(as) == 0 {
		return addresses
	}
	addresses = slices.Clone(addresses)
	for i := range addresses {
		if name := as[addresses[i].Context]; name != "" {
			addresses[i].Context = name
		}
	}
	return addresses
}

// isCovered reports whether a context that did not answer points to a cluster that was read through
// another context. Its address then has the other's name.
func (v *Inventory) isCovered(f *Facts) bool {
	return len(v.Addresses) > 0 && !slices.ContainsFunc(v.Addresses, func(a kubecontext.Address) bool { return a.Context == f.Context })
}

// UnreadContexts returns the contexts that were not read, unless their cluster was read through
// another one.
func (v *Inventory) UnreadContexts() []string {
	var names []string
	for _, f := range v.Clusters {
		if f.Err != nil && !v.isCovered(f) {
			names = append(names, f.Context)
		}
	}
	for _, a := range v.Addresses {
		if v.Facts(a.Context) == nil && !slices.Contains(names, a.Context) {
			names = append(names, a.Context)
		}
	}
	return names
}

// Count returns a number with its noun, in the plural if needed.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Some lists the first few names, and counts the others.
func Some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// And lists a few texts, with "and" before the last one.
func And(texts []string) string { return enumerate(texts, " and ") }

// Or lists a few texts, with "or" before the last one.
func Or(texts []string) string { return enumerate(texts, " or ") }

// enumerate lists texts, with a conjunction before the last one.
func enumerate(texts []string, conjunction string) string {
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + conjunction + texts[n-1]
	}
	return strings.Join(texts, "")
}

// Errors returns the contexts that were not read completely, with the reasons.
func (v *Inventory) Errors() []ContextError {
	errs := []ContextError{}
	for _, f := range v.Clusters {
		errs = append(errs, f.errors()...)
	}
	return errs
}

func (f *Facts) errors() []ContextError {
	if f.Err != nil {
		return []ContextError{NewContextError(kubecontext.InContext(f.Context, "", f.Err))}
	}
	var errs []ContextError
	for _, part := range f.parts() {
		if err := f.Gaps[part]; err != nil {
			e := NewPartError(f.Context, part, err)
			e.Message = kubecontext.InContext(f.Context, part.doing(), err).Message()
			errs = append(errs, e)
		}
	}
	return errs
}

// Age returns the time since t, which is by the clock of a context's cluster. For the zero time,
// which means unknown, it returns the longest duration.
func (v *Inventory) Age(name string, t time.Time) time.Duration {
	if t.IsZero() {
		return math.MaxInt64
	}
	return v.clusterTime(name).Sub(t)
}

// clusterTime returns Now by the clock of a context's cluster.
func (v *Inventory) clusterTime(name string) time.Time {
	if f := v.Facts(name); f != nil {
		return clusterTime(v.Now, f.Skew)
	}
	return v.Now
}

// clusterTime converts now from our own clock to one with this skew.
func clusterTime(now time.Time, s kubecontext.Skew) time.Time {
	if !s.Known {
		return now
	}
	return now.Add((s.Min + s.Max) / 2)
}

// maxReading is by how much objects may be newer than Now: reading takes time, and Date headers have whole seconds.
const maxReading = 30 * time.Second

// proveSkew notes that a clock has dated objects later than the cluster's Date headers allow. Only the API server sets
// the time of a creation. Other times may be copies from another cluster.
func (f *Facts) proveSkew(now time.Time) {
	f.LeastSkew, f.SkewProof = 0, ""
	latest, name := f.newest()
	if latest.Sub(clusterTime(now, f.Skew)) <= maxReading {
		return
	}
	f.LeastSkew = latest.Sub(now)
	f.SkewProof = fmt.Sprintf("%s was created at %s", name, latest.UTC().Format(time.RFC3339))
}

// ReportedSkew returns the skew of a cluster's clock for people: the measured one, or the one that its objects prove. Ages
// count by the measured one, because nothing proves how far the clock is off.
func (f *Facts) ReportedSkew() kubecontext.Skew {
	if f.SkewProof == "" {
		return f.Skew
	}
	return kubecontext.Skew{Min: f.LeastSkew, Max: f.LeastSkew, Known: true}
}

// newest returns when the newest object was created, and its name; "" without objects.
func (f *Facts) newest() (latest time.Time, name string) {
	var kind, namespace string
	note := func(created metav1.Time, ofKind, in, called string) {
		if created.After(latest) {
			latest, kind, namespace, name = created.Time, ofKind, in, called
		}
	}
	for _, j := range f.Jobs {
		note(j.CreationTimestamp, j.Kind, j.Namespace, j.Name)
	}
	for _, p := range f.Pods {
		note(p.CreationTimestamp, "Pod", p.Namespace, p.Name)
	}
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			note(w.CreationTimestamp, "Workload", w.Namespace, w.Name)
		}
	}
	if name == "" {
		return latest, ""
	}
	return latest, delegation.Named(kind, namespace, name)
}

// On converts a time by the clock of the cluster of one context, from, into that of another.
func (v *Inventory) On(context, from string, t time.Time) time.Time {
	if t.IsZero() || context == from {
		return t
	}
	ahead := v.clusterTime(context).Sub(v.clusterTime(from))
	if ahead.Abs() < sameClock {
		// The difference is known to a second or two, and a time must not change between readings.
		return t
	}
	return t.Add(ahead)
}

// sameClock is by how much two clocks must differ before times are converted.
const sameClock = 2 * time.Second

// AgeText returns an age for people; ok is false if the time is in the future, which proves that a clock is wrong.
func AgeText(age time.Duration) (text string, ok bool) {
	if age < -maxReading {
		return "", false
	}
	return duration.HumanDuration(max(0, age)), true
}

// ToOurClock converts t from the clock of a context's cluster to our own clock. The zero time
// stays zero.
func (v *Inventory) ToOurClock(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.Now.Add(-v.Age(context, t))
}

// ToClusterClock converts t from our own clock to that of a context's cluster. The zero time
// stays zero.
func (v *Inventory) ToClusterClock(context string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return v.clusterTime(context).Add(t.Sub(v.Now))
}

// NoticeableSkew returns by how many whole seconds a clock is ahead; ok is false if the difference
// is negligible.
func NoticeableSkew(s kubecontext.Skew) (ahead int, ok bool) {
	by, ok := s.Noticeable()
	return int(by / time.Second), ok
}
