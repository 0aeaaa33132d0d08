package running

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// forgetting is how long a container must run until the kubelet forgets its failures, and restarts it
// without a delay again (kubernetes: pkg/kubelet, twice the maximum of the back-off).
const forgetting = 10 * time.Minute

func podsFail() view.Rule {
	return view.Rule{
		Code: "JM139", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				if !p.Origin.IsOpen() {
					continue
				}
				for _, m := range p.Mirrors {
					if m.Current && !m.Job.Suspended && m.Job.IsOpen() {
						reportFailures(v, p.Origin, m.Job)
					}
				}
			}
		},
	}
}

// reportFailures reports a mirror whose Pods have failed for half of its backoffLimit or more, and fail
// now, or a mirror of another kind that its controller has restarted so often.
func reportFailures(v *view.View, origin, mirror *inspect.Job) {
	reportRestarts(v, origin, mirror)
	f, ok := v.Facts(mirror.Context)
	if !ok || !v.CanRead(f, inspect.PartPods) {
		return
	}
	s := f.PodFailures(mirror)
	if s == nil || !s.IsLate() || s.Restarting == 0 && v.Age(mirror.Context, s.Last()) >= forgetting {
		return
	}
	seen := []string{quote.State(mirror)}
	for _, p := range s.Pods[:min(len(s.Pods), few)] {
		seen = append(seen, fmt.Sprintf("%s: Pod %s/%s is %s, with exit code %d and %s", mirror.Context, p.Namespace, p.Name, p.Reason, p.ExitCode, inspect.Count(int(p.Restarts), "restart")))
	}
	v.Report(view.Sighting{
		Object: view.Of(origin), Jobs: []*inspect.Job{origin}, Cause: "failures " + mirror.Context + " " + mirror.UID,
		Since:    v.On(origin.Context, mirror.Context, s.First()),
		Message:  fmt.Sprintf("the Pods of its mirror on %s fail: %s", mirror.Context, s),
		Evidence: seen,
		Remedy:   advice.EndFailures(origin, s),
	})
}

// reportRestarts reports a mirror that has used up half of its restarts, and does not run now.
func reportRestarts(v *view.View, origin, mirror *inspect.Job) {
	r := mirror.Restarts
	if r == nil || !r.IsLate() || !r.Now && mirror.Status != delegation.Pending {
		return
	}
	since, isUndated := mirror.CreationTimestamp.Time, true
	if !r.Now {
		// It starts again, which takes a while.
		since, isUndated = view.Proven([]time.Time{since}, mirror.StatusWrittenAt)
	}
	v.Report(view.Sighting{
		Object: view.Of(origin), Jobs: []*inspect.Job{origin}, Cause: "failures " + mirror.Context + " " + mirror.UID,
		Since: v.On(origin.Context, mirror.Context, since), IsUndated: isUndated,
		Message:  fmt.Sprintf("its mirror on %s %s", mirror.Context, r),
		Evidence: []string{quote.State(mirror)},
		Remedy:   advice.ReadLogs(origin, ""),
	})
}

// few is how many Pods evidence quotes.
const few = 3
