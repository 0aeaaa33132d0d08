package answer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// enough returns the first holders that together hold a missing quantity. If all of them hold less, it returns all
// and false.
func enough(holders []*inspect.Holder, missing resource.Quantity) (first []*inspect.Holder, isEnough bool) {
	held := quantity("0")
	for i, h := range holders {
		held.Add(quantity(h.Amount))
		if compare(held, missing) >= 0 {
			return holders[:i+1], true
		}
	}
	return holders, false
}

// release returns how the quota of holders that do not run gets free. For several holders it is one fix, whose steps
// are the first fix of each. missing is the quantity that is missing, if the holders have only a part of it.
func (q *Question) release(context string, holders []*inspect.Holder, missing string) (fixes []command.Fix) {
	for i, h := range holders {
		own := q.idleFixes(context, h, missing)
		switch {
		case len(own) == 0:
		case len(fixes) == 0 && i == len(holders)-1:
			return own
		case len(fixes) == 0:
			fixes = own[:1:1]
		default:
			first := &fixes[0]
			first.Then = append(append(first.Then, command.Step{Text: own[0].Text, Command: own[0].Command}), own[0].Then...)
		}
	}
	return fixes
}

// idleFixes returns how the quota of a holder that does not run gets free: by removing a Job that no worker
// takes, otherwise by what the trace of the Job says. missing is as in release.
func (q *Question) idleFixes(context string, h *inspect.Holder, missing string) []command.Fix {
	f := q.stuckFinding(context, h)
	if f != nil && neverRuns(f) {
		return q.removal(context, h, f, missing)
	}
	k, known := delegation.KindNamed(h.Kind)
	if !known {
		return nil
	}
	if f != nil {
		context = q.holderIn(f, context, h).Context
	}
	return []command.Fix{{
		Text:    fmt.Sprintf("find out why %s/%s holds %s %s without running", h.Namespace, h.Name, amountOf(h, missing), h.Resource),
		Command: q.words(command.PluginFor(k, "trace", context, h.Namespace, h.Name)),
	}}
}

// amountOf returns how much a holder has, such as "2" or "2 of the missing 4".
func amountOf(h *inspect.Holder, missing string) string {
	if missing == "" {
		return h.Amount
	}
	return fmt.Sprintf("%s of the missing %s", h.Amount, missing)
}
