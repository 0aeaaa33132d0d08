package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// builder collects the hops of one pair.
type builder struct {
	inventory *inspect.Inventory
	pair      inspect.Pair
	trace     *inspect.Trace
	hops      []inspect.Hop
	// shown are the mirrors and namesakes that have a hop.
	shown map[*inspect.Job]bool
	// chosen is the MultiKueueCluster that MultiKueue chose for the Job, "" if none.
	chosen string
	// isSecretExplained is whether a hop already says why the Secrets of clusters are unread.
	isSecretExplained bool
}

// hopsOf returns the chain of a pair. Any hop may be missing: an absent or unreadable object does not
// affect the others.
func hopsOf(v *inspect.Inventory, p inspect.Pair, t *inspect.Trace) []inspect.Hop {
	b := &builder{inventory: v, pair: p, trace: t, hops: []inspect.Hop{}, shown: map[*inspect.Job]bool{}}
	if p.Origin == nil {
		b.addOrphan()
		return b.hops
	}
	origin := jobHop(p.Origin)
	origin.Message = originMessage(p.Origin, v.Facts(p.Origin.Context))
	b.add(0, origin)
	if facts := v.Facts(p.Origin.Context); facts != nil {
		b.addPods(1, facts, p.Origin)
		if p.Origin.ManagedBy == delegation.MultiKueue || p.Origin.Queue() != "" {
			b.addMultiKueue(facts)
		}
	}
	for i := range p.Mirrors {
		b.addMirror(1, i)
	}
	for _, j := range p.Namesakes {
		b.addNamesake(1, j)
	}
	return b.hops
}

// isDispatched reports whether the command dispatch created the mirror.
func (b *builder) isDispatched() bool {
	return slices.ContainsFunc(b.pair.Mirrors, func(m inspect.Mirror) bool { return m.Is(inspect.ByDispatch) })
}

func (b *builder) add(depth int, h inspect.Hop) {
	h.Depth = depth
	b.hops = append(b.hops, h)
}

func originMessage(j *inspect.Job, f *inspect.Facts) string {
	owner := "managed by " + string(j.ManagedBy)
	switch {
	case j.Row().Template:
		owner = "the objects that it creates are managed by " + string(f.OwnerFromTemplate(j))
	case j.Row().IsUnmanaged():
		owner = "of a kind without managedBy, which MultiKueue recognizes by its marks"
	case j.IsPart():
		owner = fmt.Sprintf("created by %s %s", j.Controller.Kind, j.Controller.Name)
	case j.ManagedBy.IsBuiltIn():
		owner = "not delegated"
	case j.Status == delegation.Unclaimed:
		owner += ", which has not picked it up"
	}
	return withProgress(j, ", ", owner)
}

// withProgress puts a Job's progress before a message, if its kind counts Pods.
func withProgress(j *inspect.Job, between, message string) string {
	if !j.Row().IsJob() {
		return message
	}
	return fmt.Sprintf("%s completions%s%s", j.Progress(), between, message)
}

// addOrphan adds the chain of a mirror without a known origin.
func (b *builder) addOrphan() {
	j := b.pair.Mirrors[0].Job
	h := inspect.Hop{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, State: stateNotFound, Health: inspect.HealthBad, Message: "no origin on the contexts that were read"}
	if place := j.Marks.Origin; !place.IsZero() {
		h.Namespace, h.Name = place.Namespace, place.Name
	}
	switch unseen := b.inventory.UnreadContexts(); {
	case b.inventory.IsOrphan(j):
	case len(unseen) > 0:
		h.State, h.Health, h.Message = stateUnknown, inspect.HealthUnknown, "its origin may be in an unread context: "+inspect.Some(unseen)
	case !b.inventory.KnowsManagerOf(j):
		h.State, h.Health, h.Message = stateUnknown, inspect.HealthUnknown, "its origin is unknown: no manager was read"
	}
	b.add(0, h)
	if f := b.inventory.Facts(j.Context); f != nil {
		for _, copied := range b.inventory.WorkloadsOf(b.pair, f) {
			b.add(1, WorkloadHop(f, copied))
		}
	}
	b.addMirror(1, 0)
}

// addMirror adds a mirror and its Pods.
func (b *builder) addMirror(depth, i int) {
	m := b.pair.Mirrors[i]
	if b.shown[m.Job] {
		return
	}
	b.shown[m.Job] = true
	h := jobHop(m.Job)
	switch {
	case b.pair.Origin == nil:
		h.Message = "mirror, by its " + marker(m.Relation)
	case m.Current && m.Job.Status == delegation.Unclaimed:
		h.Message = "mirror, which no controller on " + m.Job.Context + " has picked up"
	case !m.Current:
		h.Health, h.Message = inspect.HealthBad, "mirror of an older "+m.Job.Kind+" of this name"
	case b.isMisplaced(m):
		manager := b.inventory.Facts(b.pair.Origin.Context)
		place := cmp.Or(b.inventory.ContextOf(manager, b.chosen), b.chosen)
		h.Health, h.Message = inspect.HealthBad, "mirror in the wrong place: MultiKueue gave the "+m.Job.Kind+" to "+place
	case m.Relation == inspect.ByWorkload:
		h.Health, h.Message = inspect.HealthBad, "mirror, without label "+delegation.MultiKueueOriginLabel
	case m.Relation == inspect.ByName:
		h.Message = "mirror, by its name"
	default:
		b.compare(&h, m, &b.trace.Mirrors[i])
	}
	h.Message = withProgress(m.Job, "; ", h.Message)
	b.add(depth, h)
	if f := b.inventory.Facts(m.Job.Context); f != nil {
		b.addPods(depth+1, f, m.Job)
	}
}

// isMisplaced reports whether a mirror is certainly on another cluster than MultiKueue chose.
func (b *builder) isMisplaced(m inspect.Mirror) bool {
	return b.chosen != "" && b.inventory.IsElsewhere(b.inventory.Facts(b.pair.Origin.Context), b.chosen, m.Job.Context)
}

// compare adds to the step of a mirror whether it and its origin are in sync.
func (b *builder) compare(h *inspect.Hop, m inspect.Mirror, traced *inspect.TraceMirror) {
	switch {
	case traced.Lag:
		h.Message = "mirror; the origin does not show its state yet"
	case traced.InStep && b.specDiffers(m):
		h.Health, h.Message = inspect.HealthBad, "mirror, status in sync; its spec differs"
	case traced.InStep:
		h.Message = "mirror, in sync"
	default:
		h.Message = "mirror; the origin does not show its state"
	}
}

// specDiffers reports whether a mirror differs from its origin in a field that it copies. Kueue suspends
// the two at different times.
func (b *builder) specDiffers(m inspect.Mirror) bool {
	return slices.ContainsFunc(b.inventory.Differences(b.pair.Origin, m), func(d inspect.Difference) bool {
		isKueues := d.Field == "spec.suspend" && m.Relation != inspect.ByDispatch
		return !d.IsStatus() && !d.Lag && !isKueues
	})
}

func marker(r inspect.Relation) string {
	if r == inspect.ByDispatch {
		return "label " + delegation.OriginUIDLabel
	}
	return "label " + delegation.MultiKueueOriginLabel
}

// addNamesake adds a Job that has the name of a mirror but is none.
func (b *builder) addNamesake(depth int, j *inspect.Job) {
	if b.shown[j] {
		return
	}
	b.shown[j] = true
	h := jobHop(j)
	h.Message = fmt.Sprintf("not its mirror but another %s of this name: %s would have marked it", j.Kind, b.pair.Origin.ManagedBy)
	if origin := j.MultiKueueOrigin(); origin != "" {
		h.Message = fmt.Sprintf("not its mirror but another manager's %s of this name: %s is %s", j.Kind, delegation.MultiKueueOriginLabel, origin)
	}
	b.add(depth, h)
}

func (b *builder) addPods(depth int, f *inspect.Facts, j *inspect.Job) {
	if err := f.Gaps[inspect.PartPods]; err != nil {
		b.add(depth, missing(inspect.Hop{Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context}, err, ""))
		return
	}
	pods := f.PodsOf(j)
	if len(pods) == 0 {
		// A suspended object has no Pods on purpose, and its last warning may be of its last run. The
		// Pods of a delegated origin are on another cluster.
		hasOwnPods := j != b.pair.Origin || !j.IsDelegated()
		if e := f.LastWarning(j); e != nil && hasOwnPods && !j.Status.IsFinished() && j.Status != delegation.Suspended {
			b.add(depth, inspect.Hop{
				Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context, State: "none", Health: inspect.HealthBad,
				Message: e.Reason + ": " + e.Message,
			})
		}
		return
	}
	h := podsHop(f, j, pods)
	if j == b.pair.Origin && j.IsDelegated() {
		h.Health = inspect.HealthBad
		h.Message = strings.TrimPrefix(h.Message+"; ", "; ") + "a delegated " + j.Kind + " has no Pods of its own: another controller runs it here"
	}
	b.add(depth, h)
}

// addMultiKueue adds the hops from a Job's queue to the clusters that MultiKueue
// dispatches to.
func (b *builder) addMultiKueue(f *inspect.Facts) {
	if f.Kueue == nil && f.NoKueue && b.isDispatched() {
		// The command dispatch works without MultiKueue.
		return
	}
	if f.Kueue == nil {
		b.add(1, missing(inspect.Hop{Kind: "Kueue", Context: f.Context}, f.Gaps[inspect.PartKueue], "this cluster does not serve "+kueue.Group))
		return
	}
	queue := b.addQueues(f)
	workloads := b.inventory.WorkloadsOf(b.pair, f)
	for _, workload := range workloads {
		b.add(1, WorkloadHop(f, workload))
		b.chosen = cmp.Or(workload.ChosenCluster(), b.chosen)
	}
	if len(workloads) == 0 && !b.pair.Origin.Row().Template {
		b.add(1, missing(inspect.Hop{Kind: "Workload", Namespace: b.pair.Origin.Namespace, Context: f.Context}, f.Gaps[inspect.PartWorkloads],
			"Kueue created none for this "+b.pair.Origin.Kind))
	}
	for _, name := range b.addChecks(f, queue, workloads) {
		if config, ok := f.Kueue.ConfigOf(name); ok {
			b.addClusters(f, config, workloads)
		}
	}
}

// addQueues adds the LocalQueue and the ClusterQueue, and returns the ClusterQueue, nil if unknown.
func (b *builder) addQueues(f *inspect.Facts) *kueue.ClusterQueue {
	origin := b.pair.Origin
	h := inspect.Hop{Kind: "LocalQueue", Namespace: origin.Namespace, Name: origin.Queue(), Context: f.Context}
	if h.Name == "" && origin.Row().Template {
		return nil
	}
	if h.Name == "" {
		b.add(1, missing(h, nil, fmt.Sprintf("the %s has no queue label (%s)", origin.Kind, delegation.QueueNameLabel)))
		return nil
	}
	route := f.Lookup().Route(h.Namespace, h.Name)
	local, queue := route.Local.Object, route.Cluster.Object
	if local == nil {
		b.add(1, missing(h, route.Local.Unread, "there is no such queue in namespace "+h.Namespace))
		return nil
	}
	setActive(&h, local.Status.Conditions)
	b.add(1, h)
	h = inspect.Hop{Kind: "ClusterQueue", Name: local.Spec.ClusterQueue, Context: f.Context}
	if queue == nil {
		b.add(1, missing(h, route.Cluster.Unread, "there is no such queue"))
		return nil
	}
	setActive(&h, queue.Status.Conditions)
	b.add(1, h)
	return queue
}

// addChecks adds the AdmissionChecks of the queue and of the Workloads, and returns their names.
func (b *builder) addChecks(f *inspect.Facts, queue *kueue.ClusterQueue, workloads []*kueue.Workload) []string {
	var names []string
	states := map[string]kueue.CheckState{}
	if queue != nil {
		names = append(names, queue.Checks()...)
	}
	for _, workload := range workloads {
		for _, s := range workload.Status.AdmissionChecks {
			states[s.Name] = s
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		h := inspect.Hop{Kind: "AdmissionCheck", Name: name, Context: f.Context}
		check, unread := f.Lookup().Check(name)
		state, asked := states[name]
		// A check that has not answered never will if it does not exist.
		isGone := check == nil && unread == nil && checkHealth(state.State) == inspect.HealthWaiting
		switch {
		case asked && !isGone:
			h.State, h.Message, h.Health = state.State, state.Message, checkHealth(state.State)
			h.Since = state.LastTransitionTime.DeepCopy()
		case check == nil:
			h = missing(h, unread, "there is no such AdmissionCheck")
		default:
			setActive(&h, check.Status.Conditions)
		}
		b.add(1, h)
	}
	return names
}

func checkHealth(state string) inspect.Health {
	switch state {
	case kueue.CheckReady:
		return inspect.HealthOK
	case kueue.CheckRejected:
		return inspect.HealthBad
	}
	return inspect.HealthWaiting
}
