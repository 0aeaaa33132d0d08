package dispatch

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// printProblems prints the problems that preflight found.
func (o *dispatchOptions) printProblems(candidates []*candidate) {
	var jobs []printers.JobProblems
	for _, c := range candidates {
		jobs = append(jobs, printers.JobProblems{
			Kind: c.kind.Kind, Job: c.Origin.GetNamespace() + "/" + c.Origin.GetName(), Problems: c.problems(), PassedOver: c.passedOver(),
		})
	}
	_ = printers.Problems(o.ErrOut, jobs, o.table())
}

// recordProblems records them as events.
func (o *dispatchOptions) recordProblems(events *dispatch.Recorder, candidates []*candidate) {
	for _, c := range candidates {
		for _, p := range c.passedOver() {
			e := dispatch.ProblemEvent(o.origin.Name, c.Origin, p)
			e.Event = dispatch.PassedOver
			events.Record(e)
		}
		for _, p := range c.problems() {
			events.Record(dispatch.ProblemEvent(o.origin.Name, c.Origin, p))
		}
	}
}

// table returns the options of tables that are printed now.
func (o *dispatchOptions) table() printers.TableOptions {
	width, _ := o.Cursor()
	return printers.TableOptions{Now: o.Clock.Now(), Width: width, Color: o.WantsColor(o.flags.Color)}
}
