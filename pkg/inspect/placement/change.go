package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func (s *site) change(c inspect.PlacementChange) { s.Changes = append(s.Changes, c) }

func createNamespace(context, name string) inspect.PlacementChange {
	return inspect.PlacementChange{
		Message: fmt.Sprintf("create namespace %s on %s", name, context),
		Command: command.Kubectl(context, "", "create", "namespace", name).Shell(),
	}
}

// fix adds the fixes of a wait, the same as the rules print. queue is the ClusterQueue, nil if unknown.
func (s *site) fix(wait kueue.Wait, queue *kueue.ClusterQueue) {
	s.Changes = append(s.Changes, s.fixesOf(wait, queue)...)
}

// fixesOf returns the fixes of a wait as changes.
func (s *site) fixesOf(wait kueue.Wait, queue *kueue.ClusterQueue) []inspect.PlacementChange {
	if created := s.request.LocalQueue; created != nil && s.local == created && wait.Reason == kueue.ReasonLocalQueueStopped {
		return []inspect.PlacementChange{{Message: fmt.Sprintf("remove spec.stopPolicy from LocalQueue %s of the input", created.Name)}}
	}
	target := s.request.origin.FixTarget(s.facts.FixTarget(s.around.flavors))
	target.LocalQueue, target.ClusterQueue, target.Workload = s.local, queue, s.own
	if s.own == nil {
		target.Workload = &kueue.Workload{}
		target.Workload.Namespace, target.Workload.Spec.QueueName = s.request.Namespace, s.request.Queue
	}
	if s.queue != nil {
		target.CohortCycle = s.queue.Cycle()
	}
	target.IsStep = s.isStep
	if s.role.isNew && s.role.isEntry {
		target.Next = s.request.submitAfter(s.facts)
	}
	return changesBy(wait.Fixes(target))
}

// changesBy returns fixes as changes.
func changesBy(fixes []command.Fix) (changes []inspect.PlacementChange) {
	for _, f := range fixes {
		changes = append(changes, inspect.PlacementChange{Message: f.Text, Command: f.Shell(), Then: f.Then})
	}
	return changes
}

// suggest adds changes that would make a request fit: to request less, to
// raise the quota, or to tolerate a taint.
func (s *site) suggest(result *assignment) {
	if s.role.isChanged {
		return
	}
	for i := range result.tries {
		t := &result.tries[i]
		isOfWorst := result.worst != nil && t.demand == result.worst.demand && !t.suits
		if isOfWorst && (result.verdict == inspect.Never || t.hasFree()) {
			s.suit(t, result)
		}
	}
	short := result.shortages()
	if len(short) == 0 {
		if smaller := result.smaller(); len(smaller) > 0 {
			s.requestLess(result.worst.demand, smaller)
		}
		return
	}
	isOffered := result.verdict == inspect.Never && !slices.ContainsFunc(short, func(h shortage) bool { return h.most <= 0 })
	isRisky := s.mayWaitForEachOther(result.worst.demand)
	if isOffered && !isRisky {
		s.requestLess(result.worst.demand, short)
	}
	s.raise(short)
	if isOffered && isRisky {
		s.requestLess(result.worst.demand, short)
	}
}

// requestLess adds the change with which a podset requests no more than its flavors have: fewer Pods at once if a
// command can do that, otherwise another manifest.
func (s *site) requestLess(demand *podSetDemand, short []shortage) {
	var c inspect.PlacementChange
	if set := s.setParallelism(demand, short); set != "" {
		condition := ""
		if s.mayWaitForEachOther(demand) {
			condition = "if its Pods do not wait for each other, "
		}
		c = s.outlook(s.changeJob("%srun %s at once, not %d, to fit on ", condition, inspect.Count(int(mostPods(demand, short)), "Pod"), demand.count), demand, short, nil)
		c.Command = set
	} else {
		c = s.again(s.outlook(s.changeJob("request at most %s, for ", atMost(demand, short)), demand, short, nil))
	}
	c.Share = shareOf(short)
	s.change(c)
}

// mayWaitForEachOther reports whether the Pods of a submitted Job may do nothing until all of them run, as in
// distributed training: each has an index, and all start at once. With fewer at once, the first ones would then hold
// their quota and never end (kubernetes: pkg/controller/job/job_controller.go, manageJob).
func (s *site) mayWaitForEachOther(demand *podSetDemand) bool {
	o := s.request.origin
	return o != nil && o.Indexed && demand.count > 1 && o.Completions != nil && int64(*o.Completions) == demand.count
}

// changeJob returns a change of the Job for the cluster. The text ends before the name of the cluster.
func (s *site) changeJob(format string, arguments ...any) inspect.PlacementChange {
	stem := fmt.Sprintf(format, arguments...)
	return inspect.PlacementChange{Message: stem + s.Context, Stem: stem}
}

// suit adds the change of the Pods with which a flavor suits them. If they also exceed its limits, or
// those of another group of resources, they have to request less, too.
func (s *site) suit(t *try, result *assignment) {
	var parts []string
	short, ok := result.shortagesWith(t)
	if !ok || len(t.tolerate) == 0 && t.selects == "" {
		return
	}
	if len(short) > 0 {
		isClosed := slices.ContainsFunc(short, func(h shortage) bool { return h.most <= 0 })
		if isClosed || result.worst.suits && shareOf(short) >= shareOf(result.shortages()) {
			return
		}
		if smaller := result.smaller(); len(smaller) > 0 && mostPods(t.demand, short) <= mostPods(t.demand, smaller) {
			return
		}
		parts = append(parts, "request at most "+atMost(t.demand, short))
	}
	for i := range t.tolerate {
		parts = append(parts, "tolerate taint "+t.tolerate[i].ToString())
	}
	of := " of"
	if t.selects != "" {
		parts, of = append(parts, "set node selector "+t.selects), ", for"
	}
	c := s.again(s.outlook(s.changeJob("%s%s flavor %s on ", inspect.And(parts), of, t.flavor), t.demand, short, t))
	c.Share = shareOf(short)
	s.change(c)
}

// again adds to a change of the manifest how a submitted Job gets the change.
func (s *site) again(c inspect.PlacementChange) inspect.PlacementChange {
	if s.request.origin == nil {
		return c
	}
	template, _ := s.request.origin.Template()
	f := command.Fix{Text: c.Message, Command: command.Words(c.Command), Then: c.Then}.Again(s.submitted(), template)
	c.Tail = strings.TrimPrefix(f.Text, c.Message)
	c.Message, c.Command, c.Then = f.Text, f.Shell(), f.Then
	return c
}

// submitted names the submitted Job in a sentence.
func (s *site) submitted() string {
	o := s.request.origin
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// patchParallelism returns the command that sets spec.parallelism of a submitted Job, "" if none was
// submitted, or if it is made from a template: the next one would have the old value.
func (s *site) patchParallelism(n int64) string {
	o := s.request.origin
	if o == nil || !o.Row().IsJob() || isFromTemplate(o) {
		return ""
	}
	patch := command.Patch(n, "spec", "parallelism")
	return command.Kubectl(o.Context, o.Namespace, "patch", command.KindName(o.Row()), o.Name).With("--type", "merge", "-p", patch).Shell()
}

// isFromTemplate reports whether an object is created from a template, as by a CronJob.
func isFromTemplate(o *inspect.Job) bool {
	template, _ := o.Template()
	return template != ""
}

// hasFree reports whether a flavor has enough free quota.
func (t *try) hasFree() bool {
	return !slices.ContainsFunc(t.needs, func(r need) bool {
		now, _ := r.lacks()
		return now > 0
	})
}

// nodesHave returns how much of a resource the nodes of a flavor have together, 0 if the Pods do not
// run there, or if the nodes are unknown. More quota than that does not run more Pods.
func (s *site) nodesHave(fr capacity.FlavorResource) (total capacity.Amount) {
	flavor := s.capacity.Flavor(fr.Flavor)
	if s.role.isGiven || flavor == nil || s.facts.Environment == nil || s.facts.Environment.NodesErr != nil {
		return 0
	}
	for _, n := range s.facts.Environment.Nodes {
		isOfFlavor := true
		for key, value := range flavor.Spec.NodeLabels {
			isOfFlavor = isOfFlavor && n.Labels[key] == value
		}
		if isOfFlavor {
			total = total.Plus(capacity.AmountOf(fr.Resource, n.Allocatable[corev1.ResourceName(fr.Resource)]))
		}
	}
	return total
}

// quantityText returns an amount in the form of a field of an object.
func quantityText(name string, amount capacity.Amount) string {
	if amount == capacity.Unlimited {
		return resource.NewQuantity(int64(amount), resource.DecimalSI).String()
	}
	return amount.Text(name)
}

func amountOf(h inspect.Holder) capacity.Amount {
	q, err := resource.ParseQuantity(h.Amount)
	if err != nil {
		return 0
	}
	return capacity.AmountOf(h.Resource, q)
}
