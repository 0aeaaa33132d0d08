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
	a.addPreemption(q.lastPreemption())
}

// lastPreemption returns how a Job last lost its quota, nil if nothing says that it did.
func (q *Question) lastPreemption() *inspect.Preemption {
	v, o := q.around(), q.Pair.Origin
	f := v.Facts(o.Context)
	w := inspect.CurrentWorkload(v.WorkloadsOf(q.Pair, f))
	if f == nil || w == nil {
		return nil
	}
	p, ok := quote.LastPreemption(view.New(v, &view.Shared{}), view.Submission{Pair: q.Pair, Manager: f, Workload: w})
	if !ok {
		return nil
	}
	return &p.Preemption
}

// preemptedOn returns how the mirror of an origin lost its quota on a worker, "" if it did not.
func (q *Question) preemptedOn(j *inspect.Job) string {
	if q.Pair.Origin == nil {
		return ""
	}
	for _, w := range q.Inventory.WorkloadsOf(q.Pair, q.Inventory.Facts(j.Context)) {
		if w.Is(kueue.Evicted) && inspect.Preemptor(w.Condition(kueue.Evicted).Message) != "" {
			if p := q.lastPreemption(); p != nil {
				return sentence(p.Text, j.Context)
			}
		}
	}
	return ""
}

// preemptionAt returns what the answer says first if the quotas of a cluster on which a Job was preempted were not read: no
// more than that.
func (q *Question) preemptionAt(p *inspect.Placement) string {
	if p.Wait == nil || p.Wait.Reason != kueue.ReasonPreempted || message(p) != p.Wait.Text() {
		return ""
	}
	return q.needs(p)
}

// addPreemption adds how a waiting Job lost its quota, which is since when it waits.
func (a *Answer) addPreemption(p *inspect.Preemption) {
	if a.State != inspect.StateWaiting || p == nil || strings.HasPrefix(a.Message, sentence(p.Text)) {
		return
	}
	a.Message = strings.TrimSpace(sentence(p.Text) + " " + strings.TrimPrefix(a.Message, a.preemption))
	if !p.Since.IsZero() {
		a.Since = &metav1.Time{Time: p.Since}
	}
}
