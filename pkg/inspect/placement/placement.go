package placement

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Judge returns where the origin of a pair could run. For Kueue, these are
// its own cluster, unless that has given it quota, and each cluster that may
// get it from there. For dispatch by this plugin, these are all other
// clusters. For the built-in controller, it is a cluster on which Pods find
// no node. There are none if the origin does not wait, or if the rules of its
// owner are unknown.
// checked has what was checked about the origin on each cluster, by context: the ResourceQuotas of its namespace, and
// the effects of the classes that an origin without a Workload names. Kueue creates no Workload if one does not exist.
func (a *Surroundings) Judge(p inspect.Pair, checked map[string]*Checked) []inspect.Placement {
	if all := a.byOwner(p, checked); len(all) > 0 {
		return all
	}
	return a.onNodes(p)
}

// Activated returns where an origin could run if its Workload were active.
func Activated(v *inspect.Inventory, p inspect.Pair) []inspect.Placement {
	manager := v.Facts(p.Origin.Context)
	if manager == nil || !hasCapacity(manager) {
		return nil
	}
	r := requestOf(p.Origin, manager, inspect.CurrentWorkload(v.WorkloadsOf(p, manager)))
	return Around(v).through(manager, r, nil, false)
}

// byOwner returns where an origin without Pods could run, by the rules of its
// owner.
func (a *Surroundings) byOwner(p inspect.Pair, checked map[string]*Checked) []inspect.Placement {
	v, o := a.inventory, p.Origin
	if o == nil || !o.Waits() || o.Row().Template {
		return nil
	}
	if o.AwaitsDispatch() && len(p.Mirrors) == 0 {
		return a.forDispatch(o)
	}
	manager := v.Facts(o.Context)
	if manager == nil || !hasCapacity(manager) {
		return nil
	}
	submitted := inspect.CurrentWorkload(v.WorkloadsOf(p, manager))
	if submitted != nil && submitted.Is(kueue.Admitted) {
		// The Job has its place. Why its Pods do not start is another question.
		return nil
	}
	r := requestOf(o, manager, submitted)
	for context, c := range checked {
		known := r.Check(context)
		known.Quotas = c.Quotas
		if submitted == nil {
			known.Class = c.Class
		}
	}
	r.markTaken(p, submitted)
	return a.through(manager, r, submitted, false)
}

// hasCapacity reports whether the quota of a cluster was requested and read.
func hasCapacity(f *inspect.Facts) bool {
	return f.Err == nil && f.Kueue != nil && f.Kueue.Capacity != nil
}

// through judges a request on the cluster that it is submitted to, unless that
// has given it quota, and on the clusters that may get it from there.
func (a *Surroundings) through(manager *inspect.Facts, request *Request, submitted *kueue.Workload, isNew bool) []inspect.Placement {
	r := request.classed(manager.Context)
	names := candidatesOf(manager, r, submitted)
	isManager := len(names) > 0
	if !r.Owner.IsBuiltIn() && r.Owner != delegation.MultiKueue {
		// MultiKueue rejects it, so no worker ever gets a copy.
		names = nil
	}
	entry := role{isNew: isNew, isEntry: true, isGiven: isManager || r.Owner == delegation.MultiKueue, owners: ownersOn(manager)}
	own := a.onEntry(manager, r, entry, submitted)
	own.Manager = isManager
	var all []inspect.Placement
	isReserved := submitted != nil && submitted.Is(kueue.QuotaReserved)
	worker := role{isNew: isNew, owners: entry.owners}
	if q := queueOf(manager, r); q != nil {
		worker.clusterQueue = q.Name
		own.SumsWorkers = isManager && q.SumsWorkers()
	}
	if !isReserved || !own.Manager || own.Verdict != inspect.Fits {
		all = append(all, *own)
	}
	for _, name := range names {
		p := a.onWorker(manager, name, r, worker, submitted)
		if submitted != nil && submitted.Excludes(name) {
			exclude(p, manager, submitted)
		}
		all = append(all, *p)
	}
	if own.Manager && isUncovered(own) {
		a.coverOnWorker(&all[0], manager, r, entry, submitted, all[1:])
	}
	return all
}

// onEntry judges a request on the cluster that it is submitted to.
func (a *Surroundings) onEntry(f *inspect.Facts, r *Request, entry role, submitted *kueue.Workload) *inspect.Placement {
	p := newSite(f, r, a, entry, submitted).judge()
	refuseOwner(p, f, queueOf(f, r), r, entry.isNew)
	if entry.isNew {
		if p.Reason == inspect.QueueMissing && misses(r.lookup(f), r) {
			a.openQueue(p, f, r)
		}
		a.suggestQueue(p, f, r)
	}
	return p
}

// requestOf returns what an origin requests: according to its Workload or,
// for a Job without one, to its own template.
func requestOf(o *inspect.Job, manager *inspect.Facts, submitted *kueue.Workload) *Request {
	r := &Request{Namespace: o.Namespace, Queue: o.Queue(), Kind: o.Row(), Owner: o.ManagedBy, origin: o}
	job := jobOf(o)
	if job != nil {
		own := OfJob(job, "")
		r.PodSets, r.isPaused, r.selectsPods = own.PodSets, own.isPaused, own.selectsPods
	}
	if submitted != nil {
		if submitted.Spec.QueueName != "" {
			r.Queue = submitted.Spec.QueueName
		}
		r.Rank = kueue.Rank{Priority: submitted.Rank().Priority}
		if t := manager.Kueue.Capacity.Templates[submitted.UID]; t != nil && len(t.Spec.PodSets) > 0 {
			r.PodSets = t.Spec.PodSets
		}
	}
	return r
}

// candidatesOf returns the MultiKueueClusters that may get a request from a
// manager: those that the checks of its queue point to, as far as they could
// be read, and the nominated ones. MultiKueue keeps the copy on a cluster that was removed from the
// MultiKueueConfig, but runs no more Jobs there.
func candidatesOf(manager *inspect.Facts, r *Request, submitted *kueue.Workload) []string {
	k := manager.Kueue
	var checks, names []string
	if q := queueOf(manager, r); q != nil {
		checks = q.Checks()
	}
	if submitted != nil {
		for _, c := range submitted.Status.AdmissionChecks {
			checks = append(checks, c.Name)
		}
		names = append(names, submitted.Status.Nominated...)
	}
	behind := k.ClustersBehind(checks)
	if len(behind) > 0 && manager.Gaps[inspect.PartChecks] == nil && manager.Gaps[inspect.PartConfigs] == nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(behind, name) })
	}
	names = append(names, behind...)
	var unique []string
	for _, name := range names {
		if !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
}

// queueOf returns the ClusterQueue of the LocalQueue that a request names where it is submitted; nil
// if it does not exist, or was not read.
func queueOf(f *inspect.Facts, r *Request) *kueue.ClusterQueue {
	return r.lookup(f).Route(r.Namespace, r.Queue).Cluster.Object
}

// onWorker judges a request on a MultiKueueCluster of a manager.
func (a *Surroundings) onWorker(manager *inspect.Facts, name string, r *Request, worker role, submitted *kueue.Workload) *inspect.Placement {
	v := a.inventory
	context := v.ContextOf(manager, name)
	f := v.Facts(context)
	var own *kueue.Workload
	if submitted != nil {
		own = f.Workload(submitted.Namespace, submitted.Name)
	}
	site := newSite(f, r, a, worker, own)
	p := site.judge()
	p.Cluster = name
	if f == nil {
		p.Context, p.Message = context, v.UnreadWorker(manager, name).Reason
		if context != "" {
			p.Reason = inspect.Unreadable
		}
	}
	cluster, checked := manager.Kueue.ClusterNamed(name), r.on(context)
	if r.on(manager.Context).MissingWorkload != "" {
		p.Position = nil // It gets into a queue with its Workload.
	}
	switch {
	case f == manager:
		settle(p, inspect.Never, inspect.NotConnected, "is the management cluster itself")
	case checked.Refused != "":
		settle(p, inspect.Never, inspect.RefusedByServer, checked.Refused)
		if checked.RefusedFix != "" {
			p.Changes = append(p.Changes, site.again(inspect.PlacementChange{Message: checked.RefusedFix}))
		}
	case r.selectsPods:
		// MultiKueue removes spec.selector from the mirror, and leaves spec.manualSelector (kueue:
		// pkg/controller/jobs/job/job_multikueue_adapter.go).
		settle(p, inspect.Never, inspect.RefusedByServer, "rejects the mirror: spec.manualSelector is set",
			site.again(inspect.PlacementChange{Message: "remove spec.manualSelector and spec.selector"}))
	case checked.IsTaken:
		settle(p, inspect.Never, inspect.NameTaken, "has another object of this name", inspect.PlacementChange{Message: "submit it under another name"})
	case cluster == nil && manager.Gaps[inspect.PartClusters] == nil:
		connect(p, inspect.Never, fmt.Sprintf("MultiKueueCluster %s does not exist on %s", name, manager.Context), inspect.PlacementChange{
			Message: fmt.Sprintf("create MultiKueueCluster %s on %s, with its manifest in FILE", name, manager.Context),
			Command: command.Kubectl(manager.Context, "", "create", "-f", "FILE").Shell(),
		})
	default:
		if active := disconnection(cluster); active != nil {
			disconnect(p, manager, active)
		} else if checked.older != nil {
			a.keepOlder(p, manager, checked.older)
		}
	}
	return p
}

// settle decides the placement on a MultiKueueCluster for a reason before which its queue does not matter: no change of its
// quota, and no end of another Job there, helps.
func settle(p *inspect.Placement, verdict inspect.Verdict, reason inspect.PlacementReason, message string, changes ...inspect.PlacementChange) {
	p.Verdict, p.Reason, p.Message = verdict, reason, message
	p.Changes, p.Holders, p.Blockers = append([]inspect.PlacementChange{}, changes...), []inspect.Holder{}, nil
	p.HoldersUnread, p.StartsBy, p.Preempts = nil, nil, false
}

// disconnection returns the condition of a MultiKueueCluster that its manager cannot use, nil if it can.
func disconnection(cluster *kueue.MultiKueueCluster) *metav1.Condition {
	if cluster == nil || !meta.IsStatusConditionFalse(cluster.Status.Conditions, kueue.Active) {
		return nil
	}
	return meta.FindStatusCondition(cluster.Status.Conditions, kueue.Active)
}

// exclude adds to the placement on a MultiKueueCluster that an annotation of the Workload excludes it.
func exclude(p *inspect.Placement, manager *inspect.Facts, submitted *kueue.Workload) {
	mayRun := p.Verdict != inspect.Never
	settle(p, inspect.Never, inspect.NotRequested, fmt.Sprintf("not requested (%s: %s)", kueue.ClusterNames, submitted.Annotations[kueue.ClusterNames]))
	if mayRun {
		p.Changes = append(p.Changes, inspect.PlacementChange{
			Message: fmt.Sprintf("if it may run on %s, too, add %s to annotation %s", p.Cluster, p.Cluster, kueue.ClusterNames),
			Command: kueue.Allow(manager.Context, submitted, p.Cluster).Shell(),
		})
	}
}

// disconnect adds to the placement on a MultiKueueCluster that its manager cannot use it.
func disconnect(p *inspect.Placement, manager *inspect.Facts, active *metav1.Condition) {
	if p.Reason == inspect.NoNode {
		settle(p, p.Verdict, p.Reason, p.Message) // The connection would not help.
		return
	}
	connect(p, inspect.Waits, fmt.Sprintf("%s cannot use it: %s", manager.Context, kueue.Fault(active)), inspect.PlacementChange{
		Message: fmt.Sprintf("repair MultiKueueCluster %s; its conditions say what is missing", p.Cluster),
		Command: kueue.Kubectl(manager.Context, "describe", "MultiKueueCluster", "", p.Cluster).Shell(),
	})
}

// connect adds to the placement on a MultiKueueCluster that its manager cannot use it before a change. If the Job can
// never run there, the change would not help either.
func connect(p *inspect.Placement, verdict inspect.Verdict, message string, change inspect.PlacementChange) {
	if p.Verdict == inspect.Never {
		settle(p, p.Verdict, p.Reason, p.Message)
		return
	}
	settle(p, verdict, inspect.NotConnected, message, change)
}
