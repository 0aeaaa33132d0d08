package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// way collects the hops of one pair.
type way struct {
	inventory *Inventory
	pair      Pair
	trace     *Trace
	hops      []Hop
	// told are the mirrors that have a hop.
	told map[*Job]bool
	// chosen is the context of the worker that MultiKueue chose for the Job, "" if none or unknown.
	chosen string
	// toldSecrets is whether a hop already explained why the context of a cluster is unknown.
	toldSecrets bool
}

// hops returns the chain of a pair. Any hop may be missing: an absent or unreadable object does not
// affect the others.
func (v *Inventory) hops(p Pair, t *Trace) []Hop {
	w := &way{inventory: v, pair: p, trace: t, hops: []Hop{}, told: map[*Job]bool{}}
	if p.Origin == nil {
		w.orphan()
		return w.hops
	}
	origin := jobHop(p.Origin)
	origin.Message = originMessage(p.Origin)
	w.add(0, origin)
	if facts := v.Facts(p.Origin.Context); facts != nil {
		w.pods(1, facts, p.Origin)
		if p.Origin.ManagedBy == delegation.MultiKueue || p.Origin.Queue() != "" {
			w.multiKueue(facts)
		}
	}
	for i := range p.Mirrors {
		w.mirror(1, i)
	}
	for _, j := range p.Namesakes {
		w.namesake(1, j)
	}
	return w.hops
}

// isDispatched says whether the command dispatch created the mirror.
func (w *way) isDispatched() bool {
	return slices.ContainsFunc(w.pair.Mirrors, func(m Mirror) bool { return m.Is(ByDispatch) })
}

func (w *way) add(depth int, h Hop) {
	h.Depth = depth
	w.hops = append(w.hops, h)
}

func originMessage(j *Job) string {
	owner := "managed by " + string(j.ManagedBy)
	switch {
	case j.Row().Template:
		owner = "what is made of it is " + owner
	case j.Row().IsUnmanaged():
		owner = "of a kind without managedBy, which MultiKueue tells by its marks"
	case j.IsPart():
		owner = fmt.Sprintf("made by %s %s", j.Controller.Kind, j.Controller.Name)
	case j.ManagedBy.IsBuiltIn():
		owner = "not delegated"
	case j.Status == delegation.Unclaimed:
		owner += ", which has not picked it up"
	}
	return withProgress(j, ", ", owner)
}

// withProgress puts a Job's progress before a message, if its kind counts Pods.
func withProgress(j *Job, between, message string) string {
	if !j.Row().IsJob() {
		return message
	}
	return fmt.Sprintf("%s completions%s%s", j.Progress(), between, message)
}

// orphan adds the chain of a mirror without a known origin.
func (w *way) orphan() {
	j := w.pair.Mirrors[0].Job
	h := Hop{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, State: stateNotFound, Health: HealthBad, Message: "no origin on the contexts that were read"}
	if place := j.Marks.Origin; !place.IsZero() {
		h.Namespace, h.Name = place.Namespace, place.Name
	}
	switch unseen := w.inventory.Unseen(); {
	case len(unseen) > 0:
		h.State, h.Health, h.Message = stateUnknown, HealthUnknown, "its origin may be in an unread context: "+Some(unseen)
	case !w.inventory.knowsManagerOf(j):
		h.State, h.Health, h.Message = stateUnknown, HealthUnknown, "its origin is unknown: no management cluster was read"
	}
	w.add(0, h)
	if f := w.inventory.Facts(j.Context); f != nil {
		for _, copied := range w.inventory.WorkloadsOf(w.pair, f) {
			w.add(1, WorkloadHop(f, copied))
		}
	}
	w.mirror(1, 0)
}

// mirror adds a mirror and its Pods.
func (w *way) mirror(depth, i int) {
	m := w.pair.Mirrors[i]
	if w.told[m.Job] {
		return
	}
	w.told[m.Job] = true
	h := jobHop(m.Job)
	switch {
	case w.pair.Origin == nil:
		h.Message = "mirror, by its " + marker(m.Relation)
	case m.Current && m.Job.Status == delegation.Unclaimed:
		h.Message = "mirror, which no controller on " + m.Job.Context + " has picked up"
	case !m.Current:
		h.Health, h.Message = HealthBad, "mirror of an older "+m.Job.Kind+" of this name"
	case w.chosen != "" && w.chosen != m.Job.Context:
		h.Health, h.Message = HealthBad, "mirror in the wrong place: MultiKueue gave the "+m.Job.Kind+" to "+w.chosen
	case m.Relation == ByWorkload:
		h.Health, h.Message = HealthBad, "mirror, without label "+delegation.MultiKueueOriginLabel
	case m.Relation == ByName:
		h.Message = "mirror, by its name"
	case w.trace.Mirrors[i].InStep && w.inventory.isBehind(w.pair.Origin, m):
		h.Message = "mirror; the origin does not show its state yet"
	case w.trace.Mirrors[i].InStep:
		h.Message = "mirror, in sync"
	default:
		h.Message = "mirror; the origin does not show its state"
	}
	h.Message = withProgress(m.Job, "; ", h.Message)
	w.add(depth, h)
	if f := w.inventory.Facts(m.Job.Context); f != nil {
		w.pods(depth+1, f, m.Job)
	}
}

// isBehind says whether the mirror's status changed so recently that the origin may still be
// catching up.
func (v *Inventory) isBehind(origin *Job, m Mirror) bool {
	return slices.ContainsFunc(v.Differences(origin, m), func(d Difference) bool { return d.IsStatus() && d.Lag })
}

func marker(r Relation) string {
	if r == ByDispatch {
		return "label " + delegation.OriginUIDLabel
	}
	return "label " + delegation.MultiKueueOriginLabel
}

// namesake adds a Job that has the name of a mirror but is none.
func (w *way) namesake(depth int, j *Job) {
	if w.told[j] {
		return
	}
	w.told[j] = true
	h := jobHop(j)
	h.Message = fmt.Sprintf("not its mirror but another %s of this name: %s would have marked it", j.Kind, w.pair.Origin.ManagedBy)
	w.add(depth, h)
}

func (w *way) pods(depth int, f *Facts, j *Job) {
	if err := f.Gaps[PartPods]; err != nil {
		w.add(depth, missing(Hop{Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context}, err, ""))
		return
	}
	pods := f.PodsOf(j)
	if len(pods) == 0 {
		if e := f.LastWarning(j); e != nil && j != w.pair.Origin && !j.Status.IsFinished() {
			w.add(depth, Hop{
				Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context, State: "none", Health: HealthBad,
				Message: e.Reason + ": " + e.Message,
			})
		}
		return
	}
	h := podsHop(f, j, pods)
	if j == w.pair.Origin && j.IsDelegated() {
		h.Health = HealthBad
		h.Message = strings.TrimPrefix(h.Message+"; ", "; ") + "a delegated " + j.Kind + " has no Pods of its own: another controller runs it here"
	}
	w.add(depth, h)
}

// multiKueue adds the hops from a Job's queue to the clusters that MultiKueue
// dispatches to.
func (w *way) multiKueue(f *Facts) {
	if f.Kueue == nil && f.NoKueue && w.isDispatched() {
		// The command dispatch works without MultiKueue.
		return
	}
	if f.Kueue == nil {
		w.add(1, missing(Hop{Kind: "Kueue", Context: f.Context}, f.Gaps[PartKueue], "this cluster does not serve "+kueue.Group))
		return
	}
	queue := w.queues(f)
	workloads := w.inventory.WorkloadsOf(w.pair, f)
	for _, workload := range workloads {
		w.add(1, WorkloadHop(f, workload))
		if name := workload.ChosenCluster(); name != "" {
			w.chosen = w.inventory.ContextOf(f, name)
		}
	}
	if len(workloads) == 0 {
		w.add(1, missing(Hop{Kind: "Workload", Namespace: w.pair.Origin.Namespace, Context: f.Context}, f.Gaps[PartWorkloads],
			"Kueue made none for this "+w.pair.Origin.Kind))
	}
	for _, name := range w.checks(f, queue, workloads) {
		if config, ok := f.Kueue.configOf(name); ok {
			w.clusters(f, config, workloads)
		}
	}
}

// queues adds the LocalQueue and the ClusterQueue, and returns the ClusterQueue, nil if unknown.
func (w *way) queues(f *Facts) *kueue.ClusterQueue {
	origin, gap := w.pair.Origin, f.Gaps[PartQueues]
	h := Hop{Kind: "LocalQueue", Namespace: origin.Namespace, Name: origin.Queue(), Context: f.Context}
	if h.Name == "" {
		w.add(1, missing(h, nil, fmt.Sprintf("the %s has no queue label (%s)", origin.Kind, delegation.QueueNameLabel)))
		return nil
	}
	local := f.Kueue.LocalQueueNamed(h.Namespace, h.Name)
	if local == nil {
		w.add(1, missing(h, gap, "there is no such queue in namespace "+h.Namespace))
		return nil
	}
	h.active(local.Status.Conditions)
	w.add(1, h)
	h = Hop{Kind: "ClusterQueue", Name: local.Spec.ClusterQueue, Context: f.Context}
	queue := f.Kueue.ClusterQueueNamed(h.Name)
	if queue == nil {
		w.add(1, missing(h, gap, "there is no such queue"))
		return nil
	}
	h.active(queue.Status.Conditions)
	w.add(1, h)
	return queue
}

// checks adds the AdmissionChecks of the queue and of the Workloads, and returns their names.
func (w *way) checks(f *Facts, queue *kueue.ClusterQueue, workloads []*kueue.Workload) []string {
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
		h := Hop{Kind: "AdmissionCheck", Name: name, Context: f.Context}
		check := f.Kueue.CheckNamed(name)
		state, asked := states[name]
		switch {
		case asked:
			h.State, h.Message, h.Health = state.State, state.Message, checkHealth(state.State)
			h.Since = state.LastTransitionTime.DeepCopy()
		case check == nil:
			h = missing(h, f.Gaps[PartChecks], "there is no such AdmissionCheck")
		default:
			h.active(check.Status.Conditions)
		}
		w.add(1, h)
	}
	return names
}

func checkHealth(state string) Health {
	switch state {
	case kueue.CheckReady:
		return HealthOK
	case kueue.CheckRejected:
		return HealthBad
	}
	return HealthWaiting
}
