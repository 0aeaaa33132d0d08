package answer

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// behind is the code of a controller that works, and has not reached all objects that wait for it.
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
	q.addBehind(&a)
	return a, true
}

// addBehind adds to the answer for a Job that waits for MultiKueue how many Jobs do, if MultiKueue is
// behind. A Job whose own step is only seconds old is none of them.
func (q *Question) addBehind(a *Answer) {
	for _, f := range slices.Concat(q.Trace.Findings, q.Findings) {
		isOfMultiKueue := f.Kind == "AdmissionCheck" || q.isAboutPair(&f)
		if f.Code != behind || f.Context != q.Pair.Origin.Context || !isOfMultiKueue {
			continue
		}
		n, verb := sets.New(f.Jobs...).Len(), "wait"
		if n == 1 {
			verb = "waits"
		}
		a.Message += fmt.Sprintf(" MultiKueue is behind: %s %s for it.", inspect.Count(n, "Job"), verb)
		a.Fixes = append(a.Fixes, slices.Clone(f.Fixes)...)
		return
	}
}
