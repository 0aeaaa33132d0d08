package dispatch

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// printPlans prints the mirrors that would be created, and their problems. For several workers it
// prints the verdict of each worker, and the worker that would get the Job.
func (o *dispatchOptions) printPlans(candidates []*candidate) error {
	o.printProblems(candidates)
	if err := o.writePlans(candidates); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	_, errs := o.splitAccepted(candidates)
	return util.JoinErrors(errs)
}

func (o *dispatchOptions) writePlans(candidates []*candidate) error {
	if !o.hasSeveralWorkers() || o.format.Is("name") {
		var plans []*plan.Plan
		for _, c := range candidates {
			plans = append(plans, c.Plan)
		}
		return printers.Plans(o.Out, o.format, plans, o.table())
	}
	list := inspect.NewTraceList()
	for _, c := range candidates {
		list.Items = append(list.Items, *o.traceOf(c))
	}
	if o.format.IsTable() {
		return printers.DryRunPlacements(o.Out, list.Items, o.table())
	}
	return util.WriteBuffered(o.Out, func(w io.Writer) error {
		printed := runtime.Object(list)
		if len(list.Items) == 1 {
			printed = &list.Items[0]
		}
		return o.format.PrintObject(w, printed)
	})
}

// traceOf returns a Trace of a candidate with the verdicts of the workers as placements.
func (o *dispatchOptions) traceOf(c *candidate) *inspect.Trace {
	t := inspect.UnsubmittedTrace(c.Origin.GroupVersionKind(), c.Origin.GetNamespace(), c.Origin.GetName(), o.owner)
	t.Origin.Context, t.Origin.UID = o.origin.Name, string(c.Origin.GetUID())
	chosen := ""
	for _, v := range c.verdicts {
		p := placementOf(v)
		if p.Chosen = v.worker == c.worker; p.Chosen {
			chosen = v.worker.context
		}
		t.Placements = append(t.Placements, p)
	}
	name := object.KindAndName(c.Origin)
	switch {
	case chosen == "":
		t.Message = "No cluster would take " + name + "."
	case c.isBound:
		t.Message = fmt.Sprintf("%s has its mirror on %s and stays there.", name, chosen)
	default:
		t.Message = fmt.Sprintf("%s would run on %s.", name, chosen)
	}
	t.Summary = t.Message
	return t
}

// placementOf returns a verdict as a placement of a Trace.
func placementOf(v *verdict) inspect.Placement {
	p := inspect.NewPlacement(v.worker.context)
	if v.err != nil {
		p.Verdict, p.Message = inspect.Unknown, v.allProblems()[0].Message
		p.Conditions = append(p.Conditions, inspect.PlacementCondition{Name: inspect.ConditionReached, State: inspect.No, Text: "no"})
		return *p
	}
	p.Conditions = append(p.Conditions, inspect.PlacementCondition{Name: inspect.ConditionReached, State: inspect.Yes, Text: "yes"})
	var blocking, others []preflight.Problem
	isQuota := true
	for _, found := range v.problems {
		if !found.Blocking {
			others = append(others, found)
			continue
		}
		blocking = append(blocking, found)
		isQuota = isQuota && found.Object.Kind == "ResourceQuota"
		if found.Object.Kind == "Namespace" && found.Context == v.worker.context {
			p.Conditions = append(p.Conditions, inspect.PlacementCondition{Name: inspect.ConditionNamespace, State: inspect.No, Text: "no"})
		}
	}
	condition := inspect.PlacementCondition{Name: inspect.ConditionPreflight, State: inspect.Yes, Text: "passes"}
	switch {
	case len(blocking) > 0:
		condition.State, condition.Text = inspect.No, inspect.Count(len(blocking), "problem")
		// Quota that others use may become free.
		if p.Verdict = inspect.Never; isQuota {
			p.Verdict = inspect.Waits
		}
		// Problems of the worker itself distinguish it from other workers.
		slices.SortStableFunc(blocking, func(x, y preflight.Problem) int {
			return cmp.Compare(isElsewhere(x, v.worker.context), isElsewhere(y, v.worker.context))
		})
		p.Message = inOneLine(blocking[0], v.worker.context)
		if more := len(blocking) - 1; more > 0 {
			p.Message += fmt.Sprintf("; and %d more", more)
		}
	default:
		p.Verdict, p.Message = inspect.Fits, "all checks passed"
		if len(others) > 0 {
			condition.Text = inspect.Count(len(others), "warning")
			p.Message += "; " + inOneLine(others[0], v.worker.context)
		}
		if i := slices.IndexFunc(others, func(found preflight.Problem) bool { return found.NoNode }); i >= 0 {
			p.Verdict, p.Reason, p.Message = inspect.Unknown, inspect.NoNode, inOneLine(others[i], v.worker.context)
		}
	}
	p.Conditions = append(p.Conditions, condition)
	return *p
}

// isElsewhere returns 0 for a problem on a worker, 1 for one on another cluster: the origin's.
func isElsewhere(p preflight.Problem, worker string) int {
	if p.Context == worker {
		return 0
	}
	return 1
}

// inOneLine returns a problem without its remedy. If the problem is not on the worker, the result
// names its context.
func inOneLine(p preflight.Problem, worker string) string {
	text := p.Sentence()
	if isElsewhere(p, worker) == 1 {
		text = p.Context + ": " + text
	}
	return text
}
