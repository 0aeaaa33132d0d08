package plumbing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// unusable are the clusters of a MultiKueueConfig that nothing can be
// dispatched to.
type unusable struct {
	config *kueue.MultiKueueConfig
	// missing are the names without a MultiKueueCluster.
	missing []string
	// inactive are the MultiKueueClusters that the manager cannot use.
	inactive []*kueue.MultiKueueCluster
}

// unusableOf returns the unusable clusters of an AdmissionCheck. ok is false
// if they are unknown, or if the check names no existing MultiKueueConfig.
func unusableOf(v *view.View, f *inspect.Facts, check *kueue.AdmissionCheck) (u unusable, ok bool) {
	u.config, ok = v.ConfigOf(f, check)
	if !ok || u.config == nil {
		return u, false
	}
	for _, name := range u.config.Spec.Clusters {
		c, known := v.MultiKueueCluster(f, name)
		switch {
		case !known:
			return u, false
		case c == nil:
			u.missing = append(u.missing, name)
		case !meta.IsStatusConditionTrue(c.Status.Conditions, kueue.Active):
			u.inactive = append(u.inactive, c)
		}
	}
	return u, true
}

func (u *unusable) names() []string {
	all := slices.Clone(u.missing)
	for _, c := range u.inactive {
		all = append(all, c.Name)
	}
	return all
}

func (u *unusable) has(name string) bool { return slices.Contains(u.names(), name) }

// isReported reports whether another rule reports an unusable cluster, with the cause: JM001 to JM010.
func isReported(c *kueue.MultiKueueCluster) bool {
	return c.DeletionTimestamp == nil && view.IsFalse(meta.FindStatusCondition(c.Status.Conditions, kueue.Active))
}

// areReported reports whether other rules report all of them.
func (u *unusable) areReported() bool {
	return len(u.missing) == 0 && !slices.ContainsFunc(u.inactive, func(c *kueue.MultiKueueCluster) bool { return !isReported(c) })
}

// since returns when the first cluster became unusable that no other rule reports.
func (u *unusable) since() time.Time {
	var first time.Time
	take := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	if len(u.missing) > 0 {
		take(u.config.CreationTimestamp.Time)
	}
	for _, c := range u.inactive {
		active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
		switch {
		case active == nil:
			take(c.CreationTimestamp.Time)
		case !isReported(c):
			take(active.LastTransitionTime.Time)
		}
	}
	return first
}

// lastUse returns when MultiKueue last did something for a Job on a worker, as far as that is known.
// The worker's MultiKueueCluster existed then.
func lastUse(v *view.View, manager *inspect.Facts, name string) time.Time {
	var last time.Time
	for _, s := range v.Submissions() {
		if s.Manager != manager || s.Chosen() != name {
			continue
		}
		last = view.Latest(last, view.TimeOf(s.Job().StatusWrittenAt))
		if s.HasState(kueue.CheckReady) {
			last = view.Latest(last, s.Check.LastTransitionTime.Time)
		}
	}
	return last
}

// evidence quotes what makes the clusters unusable.
func (u *unusable) evidence(f *inspect.Facts) []string {
	var lines []string
	for _, name := range u.missing {
		lines = append(lines, fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s has %s, and there is no such MultiKueueCluster", f.Context, u.config.Name, name))
	}
	for _, c := range u.inactive {
		o := view.OfKueue(f, "MultiKueueCluster", "", c.Name)
		if active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active); active != nil {
			lines = append(lines, quote.Condition(o, active))
		} else {
			lines = append(lines, fmt.Sprintf("%s: %s has no condition Active", f.Context, o.String()))
		}
	}
	return lines
}

// repair returns how to make the clusters usable: first the missing ones that run Jobs, which no other cluster replaces. If no
// cluster of the config is usable, one of the other steps is enough.
func (u *unusable) repair(v *view.View, f *inspect.Facts) command.Prose {
	var used, unused []string
	for _, name := range u.missing {
		if hasJobs(v, f, name) {
			used = append(used, name)
		} else {
			unused = append(unused, name)
		}
	}
	var steps []command.Prose
	if len(used) > 0 {
		// Removed from spec.clusters, their Jobs would run a second time elsewhere.
		steps = append(steps, createClusters(f, used, " again"))
	}
	inactive := u.repairInactive(f)
	isNone := len(u.names()) == len(u.config.Spec.Clusters)
	switch {
	case isNone && len(inactive) > 0 && len(unused) > 0:
		steps = append(steps, command.Join(append(inactive, createClusters(f, unused, "")), "; or "))
	case isNone && len(inactive) > 0:
		steps = append(steps, command.Join(inactive, "; or "))
	case len(unused) > 0:
		steps = append(append(steps, u.replace(f, unused)), inactive...)
	default:
		steps = append(steps, inactive...)
	}
	return command.Join(steps, "; ")
}

// createClusters returns how to create MultiKueueClusters.
func createClusters(f *inspect.Facts, names []string, again string) command.Prose {
	return command.Say("create MultiKueueCluster %s on %s%s, with the manifest in FILE: %s",
		inspect.And(names), f.Context, again, command.Kubectl(f.Context, "", "create", "-f", "FILE"))
}

// replace returns how to create missing clusters without Jobs, or to do without them.
func (u *unusable) replace(f *inspect.Facts, unused []string) command.Prose {
	missing := inspect.And(unused)
	if len(unused) == len(u.config.Spec.Clusters) {
		// spec.clusters must not become empty.
		missing += ", or name existing clusters instead"
	} else {
		missing += ", or remove it from spec.clusters"
	}
	return command.Say("create MultiKueueCluster %s: %s", missing, advice.KubectlObject(view.OfKueue(f, "MultiKueueConfig", "", u.config.Name), "edit"))
}

// repairInactive returns how to repair each of the inactive clusters.
func (u *unusable) repairInactive(f *inspect.Facts) (steps []command.Prose) {
	for _, c := range u.inactive {
		show := advice.KubectlObject(view.OfKueue(f, "MultiKueueCluster", "", c.Name), "describe")
		if active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active); isReported(c) {
			steps = append(steps, command.Say("repair MultiKueueCluster %s (%s: %s): %s", c.Name, view.ClusterFault(active), kueue.Fault(active), show))
		} else {
			steps = append(steps, command.Say("repair MultiKueueCluster %s; its conditions say what is missing: %s", c.Name, show))
		}
	}
	return steps
}

// hasJobs reports whether a worker was given Jobs that have not finished.
func hasJobs(v *view.View, manager *inspect.Facts, name string) bool {
	return slices.ContainsFunc(v.Submissions(), func(s view.Submission) bool {
		return s.Manager == manager && s.Chosen() == name && !s.IsFinished()
	})
}

// isMissed reports whether a Job waits that a worker might run.
func isMissed(v *view.View, manager *inspect.Facts, name string) bool {
	return slices.ContainsFunc(v.Submissions(), func(s view.Submission) bool {
		return s.Manager == manager && slices.Contains(v.Missed(s), name)
	})
}

// names returns a function that reports whether a ClusterQueue names a check.
func names(check *kueue.AdmissionCheck) func(*kueue.ClusterQueue) bool {
	return func(q *kueue.ClusterQueue) bool { return slices.Contains(q.Checks(), check.Name) }
}

func fleetPartlyUnusable() view.Rule {
	return view.Rule{
		Code: "JM011", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				checks, _ := v.Checks(f)
				for _, c := range checks {
					reportPartly(v, f, c)
				}
			}
		},
	}
}

func reportPartly(v *view.View, f *inspect.Facts, c *kueue.AdmissionCheck) {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	if !c.IsMultiKueue() || !view.IsTrue(active) {
		return
	}
	u, ok := unusableOf(v, f, c)
	isAwaited := func(name string) bool { return isMissed(v, f, name) }
	// Kueue may not have noticed yet that a MultiKueueCluster is missing.
	if !ok || active.Reason != "SomeActiveClusters" && !slices.ContainsFunc(u.missing, isAwaited) {
		return
	}
	if len(u.names()) == 0 || u.areReported() || u.areConnecting(v, f) {
		return
	}
	o := view.OfKueue(f, "AdmissionCheck", "", c.Name)
	since := u.since()
	var jobs []*inspect.Job
	for _, name := range u.names() {
		jobs = append(jobs, jobsDependingOn(v, f, name)...)
		if slices.Contains(u.missing, name) {
			since = view.Latest(since, lastUse(v, f, name))
		}
	}
	v.Report(view.Sighting{
		Object: o, Since: since, Jobs: jobs,
		Message: fmt.Sprintf("%d of the %d workers of AdmissionCheck %s cannot be used: %s",
			len(u.names()), len(u.config.Spec.Clusters), c.Name, strings.Join(u.names(), ", ")),
		Evidence: append([]string{quote.Condition(o, active)}, u.evidence(f)...), Remedy: u.repair(v, f),
	})
}
