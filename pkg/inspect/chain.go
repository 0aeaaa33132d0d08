package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// chain collects the hops of one pair.
type chain struct {
	inventory *Inventory
	pair      Pair
	trace     *Trace
	hops      []Hop
	// shown are the mirrors and namesakes that have a hop.
	shown map[*Job]bool
	// chosen is the context of the worker that MultiKueue chose for the Job, "" if none or unknown.
	chosen string
	// explainedSecrets is whether a hop already explained why the context of a cluster is unknown.
	explainedSecrets bool
}

// hops returns the chain of a pair. Any hop may be missing: an absent or unreadable object does not
// affect the others.
func (v *Inventory) hops(p Pair, t *Trace) []Hop {
	c := &chain{inventory: v, pair: p, trace: t, hops: []Hop{}, shown: map[*Job]bool{}}
	if p.Origin == nil {
		c.orphan()
		return c.hops
	}
	origin := jobHop(p.Origin)
	origin.Message = originMessage(p.Origin)
	c.add(0, origin)
	if facts := v.Facts(p.Origin.Context); facts != nil {
		c.pods(1, facts, p.Origin)
		if p.Origin.ManagedBy == delegation.MultiKueue || p.Origin.Queue() != "" {
			c.multiKueue(facts)
		}
	}
	for i := range p.Mirrors {
		c.mirror(1, i)
	}
	for _, j := range p.Namesakes {
		c.namesake(1, j)
	}
	return c.hops
}

// isDispatched says whether the command dispatch created the mirror.
func (c *chain) isDispatched() bool {
	return slices.ContainsFunc(c.pair.Mirrors, func(m Mirror) bool { return m.Is(ByDispatch) })
}

func (c *chain) add(depth int, h Hop) {
	h.Depth = depth
	c.hops = append(c.hops, h)
}

func originMessage(j *Job) string {
	owner := "managed by " + string(j.ManagedBy)
	switch {
	case j.Row().Template:
		owner = "the objects that it creates are " + owner
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
func withProgress(j *Job, between, message string) string {
	if !j.Row().IsJob() {
		return message
	}
	return fmt.Sprintf("%s completions%s%s", j.Progress(), between, message)
}

// orphan adds the chain of a mirror without a known origin.
func (c *chain) orphan() {
	j := c.pair.Mirrors[0].Job
	h := Hop{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, State: stateNotFound, Health: HealthBad, Message: "no origin on the contexts that were read"}
	if place := j.Marks.Origin; !place.IsZero() {
		h.Namespace, h.Name = place.Namespace, place.Name
	}
	switch unseen := c.inventory.Unseen(); {
	case len(unseen) > 0:
		h.State, h.Health, h.Message = stateUnknown, HealthUnknown, "its origin may be in an unread context: "+Some(unseen)
	case !c.inventory.knowsManagerOf(j):
		h.State, h.Health, h.Message = stateUnknown, HealthUnknown, "its origin is unknown: no manager was read"
	}
	c.add(0, h)
	if f := c.inventory.Facts(j.Context); f != nil {
		for _, copied := range c.inventory.WorkloadsOf(c.pair, f) {
			c.add(1, WorkloadHop(f, copied))
		}
	}
	c.mirror(1, 0)
}

// mirror adds a mirror and its Pods.
func (c *chain) mirror(depth, i int) {
	m := c.pair.Mirrors[i]
	if c.shown[m.Job] {
		return
	}
	c.shown[m.Job] = true
	h := jobHop(m.Job)
	switch {
	case c.pair.Origin == nil:
		h.Message = "mirror, by its " + marker(m.Relation)
	case m.Current && m.Job.Status == delegation.Unclaimed:
		h.Message = "mirror, which no controller on " + m.Job.Context + " has picked up"
	case !m.Current:
		h.Health, h.Message = HealthBad, "mirror of an older "+m.Job.Kind+" of this name"
	case c.chosen != "" && c.chosen != m.Job.Context:
		h.Health, h.Message = HealthBad, "mirror in the wrong place: MultiKueue gave the "+m.Job.Kind+" to "+c.chosen
	case m.Relation == ByWorkload:
		h.Health, h.Message = HealthBad, "mirror, without label "+delegation.MultiKueueOriginLabel
	case m.Relation == ByName:
		h.Message = "mirror, by its name"
	case c.trace.Mirrors[i].InStep && c.inventory.isBehind(c.pair.Origin, m):
		h.Message = "mirror; the origin does not show its state yet"
	case c.trace.Mirrors[i].InStep:
		h.Message = "mirror, in sync"
	default:
		h.Message = "mirror; the origin does not show its state"
	}
	h.Message = withProgress(m.Job, "; ", h.Message)
	c.add(depth, h)
	if f := c.inventory.Facts(m.Job.Context); f != nil {
		c.pods(depth+1, f, m.Job)
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
func (c *chain) namesake(depth int, j *Job) {
	if c.shown[j] {
		return
	}
	c.shown[j] = true
	h := jobHop(j)
	h.Message = fmt.Sprintf("not its mirror but another %s of this name: %s would have marked it", j.Kind, c.pair.Origin.ManagedBy)
	c.add(depth, h)
}

func (c *chain) pods(depth int, f *Facts, j *Job) {
	if err := f.Gaps[PartPods]; err != nil {
		c.add(depth, missing(Hop{Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context}, err, ""))
		return
	}
	pods := f.PodsOf(j)
	if len(pods) == 0 {
		// A suspended object has no Pods on purpose, and its last warning may be of its last run.
		if e := f.LastWarning(j); e != nil && j != c.pair.Origin && !j.Status.IsFinished() && j.Status != delegation.Suspended {
			c.add(depth, Hop{
				Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context, State: "none", Health: HealthBad,
				Message: e.Reason + ": " + e.Message,
			})
		}
		return
	}
	h := podsHop(f, j, pods)
	if j == c.pair.Origin && j.IsDelegated() {
		h.Health = HealthBad
		h.Message = strings.TrimPrefix(h.Message+"; ", "; ") + "a delegated " + j.Kind + " has no Pods of its own: another controller runs it here"
	}
	c.add(depth, h)
}

// multiKueue adds the hops from a Job's queue to the clusters that MultiKueue
// dispatches to.
func (c *chain) multiKueue(f *Facts) {
	if f.Kueue == nil && f.NoKueue && c.isDispatched() {
		// The command dispatch works without MultiKueue.
		return
	}
	if f.Kueue == nil {
		c.add(1, missing(Hop{Kind: "Kueue", Context: f.Context}, f.Gaps[PartKueue], "this cluster does not serve "+kueue.Group))
		return
	}
	queue := c.queues(f)
	workloads := c.inventory.WorkloadsOf(c.pair, f)
	for _, workload := range workloads {
		c.add(1, WorkloadHop(f, workload))
		if name := workload.ChosenCluster(); name != "" {
			c.chosen = c.inventory.ContextOf(f, name)
		}
	}
	if len(workloads) == 0 {
		c.add(1, missing(Hop{Kind: "Workload", Namespace: c.pair.Origin.Namespace, Context: f.Context}, f.Gaps[PartWorkloads],
			"Kueue created none for this "+c.pair.Origin.Kind))
	}
	for _, name := range c.checks(f, queue, workloads) {
		if config, ok := f.Kueue.configOf(name); ok {
			c.clusters(f, config, workloads)
		}
	}
}

// queues adds the LocalQueue and the ClusterQueue, and returns the ClusterQueue, nil if unknown.
func (c *chain) queues(f *Facts) *kueue.ClusterQueue {
	origin, gap := c.pair.Origin, f.Gaps[PartQueues]
	h := Hop{Kind: "LocalQueue", Namespace: origin.Namespace, Name: origin.Queue(), Context: f.Context}
	if h.Name == "" {
		c.add(1, missing(h, nil, fmt.Sprintf("the %s has no queue label (%s)", origin.Kind, delegation.QueueNameLabel)))
		return nil
	}
	local := f.Kueue.LocalQueueNamed(h.Namespace, h.Name)
	if local == nil {
		c.add(1, missing(h, gap, "there is no such queue in namespace "+h.Namespace))
		return nil
	}
	h.active(local.Status.Conditions)
	c.add(1, h)
	h = Hop{Kind: "ClusterQueue", Name: local.Spec.ClusterQueue, Context: f.Context}
	queue := f.Kueue.ClusterQueueNamed(h.Name)
	if queue == nil {
		c.add(1, missing(h, gap, "there is no such queue"))
		return nil
	}
	h.active(queue.Status.Conditions)
	c.add(1, h)
	return queue
}

// checks adds the AdmissionChecks of the queue and of the Workloads, and returns their names.
func (c *chain) checks(f *Facts, queue *kueue.ClusterQueue, workloads []*kueue.Workload) []string {
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
		c.add(1, h)
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
