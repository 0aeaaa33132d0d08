package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// behind is the code of a controller that is active and has a backlog.
const behind = "JM114"

// admitted returns the answer if workers have admitted copies of the Workload, and MultiKueue has created
// no mirror yet. ok is false if none of the workers has. contexts are those of workers.
func (q *Question) admitted(contexts []string) (a Answer, ok bool) {
	var names []string
	var longest time.Duration
	for _, name := range contexts {
		f := q.Inventory.Facts(name)
		if f == nil || f.Err != nil {
			continue
		}
		w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, f))
		if w == nil || !w.Is(kueue.Admitted) {
			continue
		}
		names = append(names, name)
		since := w.Condition(kueue.Admitted).LastTransitionTime.Time
		longest = max(longest, q.Inventory.Age(name, since))
	}
	if len(names) == 0 {
		return a, false
	}
	a = Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNoMirror}
	a.Message = fmt.Sprintf("Admitted on %s for %s; MultiKueue has created no mirror yet.", list(names), duration.HumanDuration(longest))
	q.addBacklog(&a, "it")
	return a, true
}

// addBacklog adds to the answer for a Job that waits for MultiKueue how many Jobs do, if MultiKueue is
// behind. who names MultiKueue.
func (q *Question) addBacklog(a *Answer, who string) {
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		if f.Code != behind || f.Context != q.Pair.Origin.Context || !q.isAboutPair(f) {
			continue
		}
		jobs := sets.New(f.Jobs...)
		a.Message = fmt.Sprintf("%s: %s has a backlog of %s.", strings.TrimSuffix(a.Message, "."), who, inspect.Count(jobs.Len(), "Job"))
		a.Fixes = append(a.Fixes, slices.Clone(f.Fixes)...)
		return
	}
}
