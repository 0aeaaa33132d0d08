package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// FixTarget has the objects that the fixes of a wait change or name.
type FixTarget struct {
	// Context is the context of the cluster on which the Workload waits.
	Context  string
	Workload *Workload
	// Version is the version of Kueue's API there, "" for v1beta2.
	Version string
	// LocalQueue and ClusterQueue are the queues of the Workload, nil if unknown.
	LocalQueue   *LocalQueue
	ClusterQueue *ClusterQueue
	// MayNotRead is whether the user may not read ClusterQueues.
	MayNotRead bool
	// CohortCycle are the cohorts above the ClusterQueue that form a cycle, each the child of the next one; nil if
	// none are known to.
	CohortCycle []string
	// IsStep is whether the fix is a step of a change that has others, so that it names no other way.
	IsStep bool
	// IsNew is whether the Job was not submitted yet: the user can change its manifest.
	IsNew bool
	// Next are the steps that follow each fix of a queue.
	Next []command.Step
	// Kind and Name are those of the Job, "" if the Workload's owner has them.
	Kind, Name string
	// NamespaceLabels returns the labels of a namespace of the cluster, nil if unknown.
	NamespaceLabels func(namespace string) map[string]string
	// Template is the field from which another object creates the Job, like "spec.jobTemplate of CronJob ml/train", ""
	// if none does.
	Template string
	// Topologies are those of the cluster.
	Topologies Topologies
	// Flavors are the ResourceFlavors of all clusters, as far as they were read. A missing one is
	// created like one of its name.
	Flavors []FlavorOn
}

// Fixes returns how to end a wait, best way first. It is the only mapping
// from reasons to fixes, for rules, traces and placements. A text is an
// imperative, with a command if one does what the text says. A fix deletes
// the Job only if it must be created again.
func (w *Wait) Fixes(target FixTarget) []command.Fix {
	switch {
	case w.Reason == ReasonQuotaInUse:
		raise := target.fixLacks(w.Lacks, ReasonQuotaInUse)
		if len(raise) == 0 {
			raise = []command.Fix{target.editQuota("raise the quota on %s", target.Context)}
		}
		return append([]command.Fix{fix("wait until other Workloads release quota")}, raise...)
	case w.Reason == ReasonOverLimit, w.Reason == ReasonNoTopologyDomain, w.IsForFlavor():
		if fixes := target.fixLacks(w.Lacks, slices.Concat(severities()[1:], []WaitReason{ReasonQuotaInUse})...); len(fixes) > 0 {
			return fixes
		}
		return target.fixUnexplained(w)
	case w.IsForQueue():
		return target.fixQueue(w)
	case w.IsDeactivation():
		return target.fixDeactivation(w)
	case w.isForCheck():
		return target.fixChecks(w)
	}
	return target.fixOther(w)
}

// ClusterWait is the wait of a Workload, or of one of its copies, on a cluster.
type ClusterWait struct {
	Wait   Wait
	Target FixTarget
}

// Fixes returns how to end the wait of a Job whose Workload waits on several clusters, each
// way once. For each reason it takes the cluster where the smallest change is enough, since
// one cluster has to take the Job.
func Fixes(all []ClusterWait) []command.Fix {
	all = slices.Clone(all)
	var lacks []Lack
	for i := range all {
		lacks = append(lacks, all[i].Wait.Lacks...)
	}
	compare := compareSizes(lacks)
	slices.SortStableFunc(all, func(a, b ClusterWait) int {
		return cmp.Or(cmp.Compare(a.Wait.rank(), b.Wait.rank()), compare(a.Wait.least(compare), b.Wait.least(compare)))
	})
	var fixes []command.Fix
	var reasons []WaitReason
	for i := range all {
		if slices.Contains(reasons, all[i].Wait.Reason) {
			continue
		}
		reasons = append(reasons, all[i].Wait.Reason)
		fixes = appendNew(fixes, all[i].Wait.Fixes(all[i].Target))
	}
	return fixes
}

// rank is lower for waits that end sooner.
func (w *Wait) rank() int {
	switch {
	case w.IsTransient():
		return 0
	case w.IsPermanent():
		return 2
	}
	return 1
}

// least returns the lack that the smallest change ends, the zero Lack without any.
func (w *Wait) least(compare func(a, b Lack) int) Lack {
	if len(w.Lacks) == 0 {
		return Lack{}
	}
	return slices.MinFunc(w.Lacks, compare)
}

// appendNew appends the fixes whose text is new.
func appendNew(fixes, more []command.Fix) []command.Fix {
	for _, f := range more {
		if !slices.ContainsFunc(fixes, func(o command.Fix) bool { return o.Text == f.Text }) {
			fixes = append(fixes, f)
		}
	}
	return fixes
}

func fix(format string, arguments ...any) command.Fix {
	return command.Fix{Text: fmt.Sprintf(format, arguments...), Command: []string{}}
}

func fixBy(c command.Command, format string, arguments ...any) command.Fix {
	return command.Fix{Text: fmt.Sprintf(format, arguments...), Command: c.Words()}
}

// describe returns the command that shows what Kueue says about the Workload.
func (s FixTarget) describe() command.Command {
	return Kubectl(s.Context, "describe", "Workload", s.Workload.Namespace, s.Workload.Name)
}

// fixUnexplained returns fixes for a lack that Kueue explains without amounts.
func (s FixTarget) fixUnexplained(w *Wait) []command.Fix {
	switch w.Reason {
	case ReasonOverLimit:
		return []command.Fix{s.requestLess("request less"), s.editQuota("raise the quota on %s", s.Context)}
	case ReasonNoTopologyDomain:
		return []command.Fix{fix("add nodes on %s", s.Context), s.widerTopology("")}
	default:
		return []command.Fix{fixBy(s.describe(), "check which flavors Kueue rejects on %s, and why", s.Context)}
	}
}

// fixLacks returns the fixes of the lacks with some reasons, each once, the smallest change
// to the quota first.
func (s FixTarget) fixLacks(lacks []Lack, reasons ...WaitReason) []command.Fix {
	lacks = slices.DeleteFunc(slices.Clone(lacks), func(l Lack) bool { return !slices.Contains(reasons, l.Reason) })
	slices.SortStableFunc(lacks, compareSizes(lacks))
	var fixes []command.Fix
	for i := range lacks {
		if lacks[i].Reason == ReasonResourceNotCovered {
			fixes = appendNew(fixes, s.fixUncovered(lacks))
			continue
		}
		fixes = appendNew(fixes, s.fixLack(&lacks[i]))
	}
	return fixes
}

// fixLack returns the fixes of one lack.
func (s FixTarget) fixLack(l *Lack) []command.Fix {
	flavor := func(verb string) command.Command { return Kubectl(s.Context, verb, "ResourceFlavor", "", l.Flavor) }
	switch l.Reason {
	case ReasonOverLimit:
		return s.fixLimit(l)
	case ReasonQuotaInUse:
		return []command.Fix{s.raiseQuota(l)}
	case ReasonTaint:
		return []command.Fix{s.fixTaint(l)}
	case ReasonFlavorLabels:
		return []command.Fix{s.again(fixBy(flavor("describe"), "set a node selector or affinity that matches the labels of flavor %s", l.Flavor))}
	case ReasonFlavorMissing:
		return s.provideFlavors(l.Flavor)
	case ReasonNoTopology:
		return []command.Fix{s.change("remove annotation %s from the Pod template", topologyRequest), s.setTopology(l.Flavor)}
	case ReasonNoTopologyLevel:
		return []command.Fix{s.again(fixBy(flavor("describe"), "request a level that the topology of flavor %s has", l.Flavor))}
	case ReasonTopologyRequired:
		return []command.Fix{s.change("request a topology for flavor %s in the Pod template (annotation %s)", l.Flavor, preferredTopology)}
	case ReasonNoTopologyDomain:
		return s.fixTopology(l)
	default:
		return nil
	}
}

// preferredTopology is the annotation by which Pods prefer a topology level (kueue:
// apis/kueue/v1beta2/topology_types.go).
const preferredTopology = "kueue.x-k8s.io/podset-preferred-topology"

// topologyRequest stands for the annotations by which Pods request a topology: podset-required-topology,
// podset-preferred-topology, podset-unconstrained-topology and podset-slice-required-topology (kueue:
// apis/kueue/v1beta2/topology_types.go). The Jobs of one fix may use different ones.
const topologyRequest = "kueue.x-k8s.io/podset-*-topology"

// widerTopology returns the fix that Pods request larger domains of a topology, "" if its name is unknown.
func (s FixTarget) widerTopology(topology string) command.Fix {
	of := "the topology"
	if topology != "" {
		of = "topology " + topology
	}
	return s.change("set annotation %s of the Pod template to a higher level of %s", topologyRequest, of)
}

func (s FixTarget) fixTopology(l *Lack) []command.Fix {
	wider := s.widerTopology(l.Topology)
	if l.Topology == "" {
		return []command.Fix{fix("label nodes on %s with topology level %s", s.Context, l.Level), wider}
	}
	nodes := fixBy(Kubectl(s.Context, "describe", "Topology", "", l.Topology), "add nodes to a domain of topology %s on %s; check its levels", l.Topology, s.Context)
	return []command.Fix{nodes, wider}
}

// fixLimit returns the fixes of a request above the limit.
func (s FixTarget) fixLimit(l *Lack) []command.Fix {
	if limit, err := resource.ParseQuantity(l.Limit); err != nil || limit.IsZero() {
		return []command.Fix{s.raiseQuota(l)}
	}
	least := fmt.Sprintf("request at most %s %s", l.Limit, l.Resource)
	return []command.Fix{s.requestLess(least), s.raiseQuota(l)}
}

// requestLess returns the fix that a Job requests less: what says how much. A user may change the number of
// Pods of a submitted batch Job, and what each Pod requests only in a new one.
func (s FixTarget) requestLess(what string) command.Fix {
	switch kind, _ := s.job(); {
	case s.hasOnePod():
		return s.change("%s", what)
	case s.IsNew, s.Template != "", kind != "" && kind != delegation.Job().Kind:
		return s.change("%s (fewer Pods at once, or less per Pod)", what)
	}
	return fix("%s (run fewer Pods at once, or delete %s and create it again with less per Pod)", what, s.jobName())
}

// hasOnePod reports whether the Workload is known to have a single Pod.
func (s FixTarget) hasOnePod() bool {
	sets := s.podSets()
	return len(sets) == 1 && sets[0].Count == 1
}

// podSets returns the podsets of the Workload, none if it is unknown.
func (s FixTarget) podSets() []PodSet {
	if s.Workload == nil {
		return nil
	}
	return s.Workload.Spec.PodSets
}

// fixTaint returns the fix of Pods that do not tolerate the taint of a flavor. Kueue compares its labels
// only after its taints.
func (s FixTarget) fixTaint(l *Lack) command.Fix {
	text := fmt.Sprintf("tolerate taint %s of flavor %s in the Pod template", l.Taint, l.Flavor)
	isRead := slices.ContainsFunc(s.Topologies.Flavors, func(f *ResourceFlavor) bool { return f.Name == l.Flavor })
	if isRead || !slices.ContainsFunc(s.podSets(), func(p PodSet) bool { return p.Template.Spec.NodeSelector != "" }) {
		return s.change("%s", text)
	}
	describe := Kubectl(s.Context, "describe", "ResourceFlavor", "", l.Flavor)
	return s.again(fixBy(describe, "%s; check that its labels match the node selector", text))
}

// raiseQuota returns how to give a ClusterQueue as much more quota as a lack is about.
func (s FixTarget) raiseQuota(l *Lack) command.Fix {
	by := l.Excess()
	more, err := resource.ParseQuantity(by)
	if nominal := s.ClusterQueue.nominal(l.Flavor, l.Resource); err == nil && nominal != nil {
		more.Add(nominal.NominalQuota)
		raise, _ := RaiseQuota(s.Context, s.ClusterQueue, Raise{Flavor: l.Flavor, Resource: l.Resource, By: by, From: nominal.NominalQuota.String(), To: more.String()})
		return raise
	}
	text := fmt.Sprintf("raise the quota of %s in flavor %s on %s", l.Resource, l.Flavor, s.Context)
	if by != "" {
		text += " by " + by
	}
	return s.editQuota("%s", text)
}

// Raise is a higher quota of a resource in a flavor, by the difference of two amounts. All are Kubernetes quantities.
type Raise struct {
	Flavor, Resource string
	By, From, To     string
}

// RaiseQuota returns how to raise quotas of a ClusterQueue, all with one command, and whether the command sets them. If
// Kueue or an orchestrator sets the quotas, their source has to change, not the spec.
func RaiseQuota(context string, q *ClusterQueue, raises ...Raise) (fix command.Fix, isSet bool) {
	s := FixTarget{Context: context, ClusterQueue: q}
	set := setQuotas(context, q, raises)
	isSet = !set.IsZero() && !s.isQuotaForeign()
	texts := make([]string, len(raises))
	for i, r := range raises {
		texts[i] = fmt.Sprintf("by %s %s", r.By, r.Resource)
		if isSet {
			texts[i] = fmt.Sprintf("from %s to %s %s", r.From, r.To, r.Resource)
		}
		if i+1 == len(raises) || raises[i+1].Flavor != r.Flavor {
			texts[i] += fmt.Sprintf(" (flavor %s)", r.Flavor)
		}
	}
	text := fmt.Sprintf("raise the quota of ClusterQueue %s on %s %s", q.Name, context, strings.Join(texts, " and "))
	if isSet {
		return fixBy(set, "%s", text), true
	}
	return s.editQuota("%s", text), false
}

// isQuotaForeign reports whether something other than a person sets the
// quota.
func (s FixTarget) isQuotaForeign() bool {
	q := s.ClusterQueue
	return q != nil && (q.Status.EffectiveQuotas != nil || q.SumsWorkers())
}

// SumsWorkers reports whether MultiKueue sets the quota of a ClusterQueue to the sum of its connected workers (kueue:
// pkg/controller/admissionchecks/multikueue/clusterqueue.go).
func (q *ClusterQueue) SumsWorkers() bool {
	return meta.IsStatusConditionTrue(q.Status.Conditions, quotaAutomation)
}

// quotaAutomation is the condition of a ClusterQueue whose quota MultiKueue writes (kueue:
// pkg/controller/admissionchecks/multikueue/clusterqueue.go, from 0.20 on).
const quotaAutomation = "MultiKueueManagerQuotaAutomation"

// editQuota returns a change of the ClusterQueue's quota, with the command that edits it.
func (s FixTarget) editQuota(format string, arguments ...any) command.Fix {
	text := fmt.Sprintf(format, arguments...)
	q, name := s.ClusterQueue, s.clusterQueueName()
	switch {
	case name == "":
		return fixBy(list(s.Context, "ClusterQueue"), "%s; find its ClusterQueue", text)
	case q == nil || !s.isQuotaForeign():
		return fixBy(Kubectl(s.Context, "edit", "ClusterQueue", "", name), "%s", text)
	case q.Status.EffectiveQuotas != nil:
		return fix("%s, in %s: it sets the quota of ClusterQueue %s", text, q.Status.EffectiveQuotas.orchestrator(), name)
	}
	return fixBy(list(s.Context, "MultiKueueCluster"),
		"list the workers, and raise the quota of one: MultiKueue sets that of ClusterQueue %s on %s to their sum", name, s.Context)
}

// clusterQueueName returns the name of the Workload's ClusterQueue, "" if unknown.
func (s FixTarget) clusterQueueName() string {
	switch {
	case s.ClusterQueue != nil:
		return s.ClusterQueue.Name
	case s.LocalQueue != nil:
		return s.LocalQueue.Spec.ClusterQueue
	}
	return ""
}

// list returns the command that lists the objects of a kind without namespaces.
func list(context, kind string) command.Command {
	return command.Kubectl(context, "", "get", Resource(kind))
}

// compareQuantities orders quantities, with invalid ones last.
func compareQuantities(a, b string) int {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	switch {
	case errX != nil && errY != nil:
		return 0
	case errX != nil:
		return 1
	case errY != nil:
		return -1
	}
	return x.Cmp(y)
}
