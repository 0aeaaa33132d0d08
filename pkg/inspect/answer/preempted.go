package answer

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// addOwnPreemption adds how a Job lost the quota of its own cluster. The rules about quota concern
// MultiKueue only, so no finding says it for a plain Job.
func (q *Question) addOwnPreemption(a *Answer) {
	o := q.Pair.Origin
	if o == nil || a.State != inspect.StateWaiting || !isQuotaReason(a.Reason) {
		return
	}
	f := q.Inventory.Facts(o.Context)
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, f))
	if w == nil || !w.Is(kueue.Evicted) || inspect.Preemptor(w.Condition(kueue.Evicted).Message) == "" {
		return
	}
	facts := view.New(q.Inventory, &view.Shared{})
	if p, ok := quote.LastPreemption(facts, view.Submission{Pair: q.Pair, Manager: f, Workload: w}); ok {
		a.addPreemption(&p.Preemption)
	}
}

// addPreemption adds how a waiting Job lost its quota, which is since when it waits.
func (a *Answer) addPreemption(p *inspect.Preemption) {
	if a.State != inspect.StateWaiting || p == nil || strings.HasPrefix(a.Message, sentence(p.Text)) {
		return
	}
	a.Message = strings.TrimSpace(sentence(p.Text) + " " + a.Message)
	if !p.Since.IsZero() {
		a.Since = &metav1.Time{Time: p.Since}
	}
}
