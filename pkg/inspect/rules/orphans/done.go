package orphans

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func completedElsewhere() view.Rule {
	return view.Rule{
		Code: "JM141", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for _, x := range e.misplacedMirrors(func(j *inspect.Job) bool { return j.Status == delegation.Complete }) {
				is, _, known := e.isConfigured(x)
				isPlaced := x.chosen == "" || len(x.here) == 0 || slices.Contains(x.here, x.chosen)
				if !known || isPlaced || !x.Origin.IsOpen() || is && x.canResume() {
					// MultiKueue copies the end of a mirror on any cluster of the config (kueue:
					// pkg/controller/admissionchecks/multikueue/workload.go, reconcileGroup).
					continue
				}
				v.Report(describeCompleted(&x))
			}
		},
	}
}

// describeCompleted returns the sighting of a mirror that completed after MultiKueue gave the Job to another
// cluster.
func describeCompleted(x *misplacedMirror) view.Sighting {
	o, m := x.Origin, x.mirror
	again := ""
	if slices.ContainsFunc(x.Mirrors, func(other inspect.Mirror) bool { return other.Current && other.Job != m && view.IsLiveJob(other.Job) }) {
		again = ", which runs it again"
	}
	return view.Sighting{
		Object: view.Of(o), Since: view.TimeOf(m.FinishedTime), Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("its earlier mirror on %s completed%s, but MultiKueue gave the %s to %s%s", m.Context, counts(m), o.Kind, x.chosen, again),
		Evidence: []string{x.givenTo(), quote.State(m), quote.State(o)},
		Remedy: command.Say("save the output of the mirror on %[1]s; if it suffices, end the %[2]s: %[3]s; or to keep the run on %[4]s, delete the mirror on %[1]s: %[5]s",
			m.Context, o.Kind, advice.DeleteJob(o), x.chosen, deleteBoth(m, m.Prebuilt())),
	}
}

// counts returns how many Pods of a Job succeeded, in parentheses, "" if it does not count them.
func counts(j *inspect.Job) string {
	if j.Completions == nil {
		return ""
	}
	return fmt.Sprintf(" (%d/%d)", j.Succeeded, *j.Completions)
}
