package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// usePlacements gives findings what the placements know better: which LimitRange or nodes refuse the Pods.
func (q *Question) usePlacements(findings []inspect.Finding) {
	q.nameLimits(findings)
	q.withoutDispatch(findings)
	q.refuteLimits(findings)
	q.nameResourceQuotas(findings)
	for i := range findings {
		f := &findings[i]
		if f.Code != podsMissing || !q.isAboutPair(f) {
			continue
		}
		unfit := slices.DeleteFunc(slices.Clone(q.Trace.Placements), func(p inspect.Placement) bool {
			return p.Reason != inspect.NoNode || !strings.Contains(f.Message, " of "+p.Context+withoutNode)
		})
		if fixes := q.changes(unfit); len(fixes) > 0 {
			f.Fixes, f.Remedy = fixes, string(command.Alternatives(fixes))
		}
	}
}

// refuteLimits gives findings that a Job exceeds the limits of the workers another fix, if it fits on one of them.
// Kueue's message is about all Pods, although it may start fewer (kueue: pkg/scheduler, partial admission).
func (q *Question) refuteLimits(findings []inspect.Finding) {
	fits := slices.IndexFunc(q.Trace.Placements, func(p inspect.Placement) bool { return !p.Manager && p.Verdict == inspect.Fits })
	if fits < 0 || placement.Gate(q.Trace.Placements) != nil {
		return
	}
	for i := range findings {
		f := &findings[i]
		if f.Code == view.NeverAdmitted && f.Severity != inspect.Info && len(f.Jobs) == 1 && q.isAboutPair(f) {
			remedy := advice.CheckKueue(view.New(q.Inventory, &view.Shared{}), q.Trace.Placements[fits].Context, nil).Reached(q.Reach)
			f.Fixes, f.Remedy = remedy.Fixes(), string(remedy)
		}
	}
}

// nameResourceQuotas gives findings that a worker has admitted a Job without a mirror the ResourceQuota that allows no
// mirror there, and its fixes. The steps of the rule that follow the look at ResourceQuotas remain.
func (q *Question) nameResourceQuotas(findings []inspect.Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Code != mirrorRefused || !q.isAboutPair(f) {
			continue
		}
		refusing := slices.DeleteFunc(slices.Clone(q.Trace.Placements), func(p inspect.Placement) bool {
			return p.Manager || p.Reason != inspect.NamespaceQuota || !p.RefusesMirror || !strings.Contains(f.Message, fmt.Sprintf("%s (%s) admitted it", p.Cluster, p.Context))
		})
		if fixes := q.changes(refusing); len(fixes) > 0 {
			fixes[0].Then = slices.Concat(fixes[0].Then, afterQuotas(f.Fixes))
			if why := ": " + refusing[0].Message; !strings.Contains(f.Message, why) {
				f.Message += why
			}
			f.Fixes, f.Remedy = fixes, string(command.Alternatives(fixes))
		}
	}
}

// afterQuotas returns the steps of fixes that follow the look at ResourceQuotas.
func afterQuotas(fixes []command.Fix) []command.Step {
	for i := range fixes {
		steps := fixes[i].Then
		if look := slices.IndexFunc(steps, func(s command.Step) bool { return strings.HasPrefix(s.Text, advice.LookAtQuotas) }); look >= 0 {
			return steps[look+1:]
		}
	}
	return nil
}

// nameLimits gives findings about invalid requests the reason and the fixes of the placements that a
// LimitRange refuses. Kueue names no LimitRange, and calls its default limit the container's own.
func (q *Question) nameLimits(findings []inspect.Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Code != heldOtherwise || !q.isAboutPair(f) {
			continue
		}
		refusing := slices.DeleteFunc(slices.Clone(q.Trace.Placements), func(p inspect.Placement) bool {
			isRefused := p.Reason == inspect.OutsideLimits && p.Wait != nil && p.Wait.Reason == kueue.ReasonMisconfigured
			return !isRefused || !strings.Contains(f.Message, p.Wait.Text())
		})
		if len(refusing) == 0 {
			continue
		}
		name := func(text string) string {
			return strings.ReplaceAll(text, refusing[0].Wait.Text(), refusing[0].Message)
		}
		f.Message = name(f.Message)
		for r, clause := range f.Clauses {
			f.Clauses[r] = name(clause)
		}
		f.Fixes = q.changes(refusing)
		f.Remedy = string(command.Alternatives(f.Fixes))
	}
}

// addCost adds what a Job that no cluster can run holds, to findings about that Job alone.
func (q *Question) addCost(findings []inspect.Finding) {
	for i := range findings {
		if f := &findings[i]; q.Trace.Cost != nil && showsCost(f.Code) && len(f.Jobs) == 1 && q.isAboutPair(f) {
			f.Cost = q.Trace.Cost
		}
	}
}

// clusterNames returns the names of all MultiKueueClusters, with which the text of a finding may begin.
func (q *Question) clusterNames() (names []string) {
	for _, f := range q.Inventory.Clusters {
		if f.Kueue != nil {
			names = append(names, f.Kueue.ClusterNames()...)
		}
	}
	return names
}
