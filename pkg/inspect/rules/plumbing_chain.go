package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// unusable are the clusters of a MultiKueueConfig to which nothing can be
// dispatched.
type unusable struct {
	config *kueue.MultiKueueConfig
	// missing are names without a MultiKueueCluster.
	missing []string
	// inactive are those that the manager cannot use.
	inactive []*kueue.MultiKueueCluster
}

// unusableOf finds them; ok is false where that is not known, or where the check
// names no MultiKueueConfig that exists.
func unusableOf(v *View, f *inspect.Facts, check *kueue.AdmissionCheck) (u unusable, ok bool) {
	u.config, ok = v.configOf(f, check)
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

// isLost is whether a cluster is merely out of reach. The manager takes it up
// again by itself, and JM004 tells of it.
func isLost(c *kueue.MultiKueueCluster) bool {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	return isFalse(active) && faultOf(active) == "JM004"
}

// areLost is whether all of them are merely out of reach.
func (u *unusable) areLost() bool {
	return len(u.missing) == 0 && !slices.ContainsFunc(u.inactive, func(c *kueue.MultiKueueCluster) bool { return !isLost(c) })
}

// since is when the first of them became unusable that is not merely out of reach.
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
		case !isLost(c):
			take(active.LastTransitionTime.Time)
		}
	}
	return first
}

// evidence quotes what makes them unusable.
func (u *unusable) evidence(f *inspect.Facts) []string {
	var lines []string
	for _, name := range u.missing {
		lines = append(lines, fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s has %s, and there is no such MultiKueueCluster", f.Context, u.config.Name, name))
	}
	for _, c := range u.inactive {
		o := OfKueue(f, "MultiKueueCluster", "", c.Name)
		if active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active); active != nil {
			lines = append(lines, conditionText(o, active))
		} else {
			lines = append(lines, fmt.Sprintf("%s: %s has no condition Active", f.Context, named(o)))
		}
	}
	return lines
}

// repair is what to do about them.
func (u *unusable) repair(f *inspect.Facts) command.Prose {
	var steps []command.Prose
	if len(u.missing) > 0 {
		steps = append(steps, command.Say("create MultiKueueCluster %s, or take it off the clusters: %s",
			strings.Join(u.missing, " and "), kubectlOn(OfKueue(f, "MultiKueueConfig", "", u.config.Name), "edit")))
	}
	for _, c := range u.inactive {
		steps = append(steps, command.Say("repair MultiKueueCluster %s, which tells what it lacks: %s", c.Name, kubectlOn(OfKueue(f, "MultiKueueCluster", "", c.Name), "describe")))
	}
	return command.Join(steps, "; ")
}

// names is whether a ClusterQueue names a check.
func names(check *kueue.AdmissionCheck) func(*kueue.ClusterQueue) bool {
	return func(q *kueue.ClusterQueue) bool { return slices.Contains(q.Checks(), check.Name) }
}

func fleetPartlyUnusable() Rule {
	return Rule{
		Code: "JM011", Title: "only some workers can be used", Severity: inspect.Warning,
		Holds: "all workers of a queue are usable",
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters},
		Why: `A MultiKueueConfig names several workers, and some of them are missing or misconfigured. Kueue goes on with
the others, so nothing looks wrong, but the fleet is smaller than it was meant to be until somebody repairs it. A worker
that is merely out of reach for a while is not told here: JM004 tells of it.`,
		Shows: `The AdmissionCheck's condition Active is True with reason SomeActiveClusters; the message lists missing and
inactive clusters.`,
		Remedy: `Repair the MultiKueueClusters, or take them off the MultiKueueConfig once nothing runs there any more.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				checks, _ := v.Checks(f)
				for _, c := range checks {
					reportPartly(v, f, c)
				}
			}
		},
	}
}

func reportPartly(v *View, f *inspect.Facts, c *kueue.AdmissionCheck) {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	if !c.IsMultiKueue() || active == nil || active.Reason != "SomeActiveClusters" {
		return
	}
	u, ok := unusableOf(v, f, c)
	if !ok || len(u.names()) == 0 || u.areLost() {
		return
	}
	o := OfKueue(f, "AdmissionCheck", "", c.Name)
	v.Report(Sighting{
		Object: o, Since: u.since(),
		Message: fmt.Sprintf("%d of the %d workers of AdmissionCheck %s cannot be used: %s",
			len(u.names()), len(u.config.Spec.Clusters), c.Name, strings.Join(u.names(), ", ")),
		Evidence: append([]string{conditionText(o, active)}, u.evidence(f)...), Remedy: u.repair(f),
	})
}
