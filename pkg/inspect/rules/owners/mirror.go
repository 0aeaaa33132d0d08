package owners

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

func mirrorDelegated() view.Rule {
	return view.Rule{
		Code: "JM103", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartChecks},
		Covers: []string{"JM014", "JM101", "JM102", "JM305", "JM306"},
		Detect: func(v *view.View) {
			origins := &originFinder{view: v}
			for _, p := range v.Pairs() {
				j := p.Origin
				if j.IsMirror() && j.DeletedAt == nil && len(p.Mirrors) == 0 && isForgotten(v, j) {
					v.Report(mirrorIsOrigin(j, origins.of(j)))
				}
			}
		},
	}
}

// isForgotten reports whether a delegated Job has never run, and no
// controller on its cluster will run it. If MultiKueue dispatches from a
// worker, it may serve the mirror there.
func isForgotten(v *view.View, j *inspect.Job) bool {
	if view.HasStarted(j) {
		return false
	}
	if j.ManagedBy != delegation.MultiKueue {
		return j.Status == delegation.Unclaimed
	}
	f, ok := v.Facts(j.Context)
	_, known := v.Checks(f)
	return ok && known && !v.Dispatches(f)
}

func mirrorIsOrigin(j *inspect.Job, origins []*inspect.Job) view.Sighting {
	return view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: append([]*inspect.Job{j}, origins...),
		Message: fmt.Sprintf("it is a mirror, but is managed by %s: nothing on %s runs it", j.ManagedBy, j.Context),
		Evidence: []string{
			fmt.Sprintf("%s since %s", quote.Owner(j), quote.Time(j.CreationTimestamp)),
			quote.Mark(j),
		},
		Remedy: command.Say("find what sets %s: %s; exempt mirrors from it, and then %s",
			quote.OwnerFieldOf(j), command.Kubectl(j.Context, "", "get", "mutatingwebhookconfigurations"), advice.DeleteJob(j)),
	}
}

// originFinder finds the origins of Jobs that are marked as mirrors. It
// builds its index on first use.
type originFinder struct {
	view   *view.View
	byUID  map[string][]*inspect.Job
	byName map[inspect.ObjectName][]*inspect.Job
}

// of returns the origins on other clusters that a mirror may have.
func (x *originFinder) of(mirror *inspect.Job) []*inspect.Job {
	if x.byUID == nil {
		x.byUID, x.byName = map[string][]*inspect.Job{}, map[inspect.ObjectName][]*inspect.Job{}
		for _, p := range x.view.Pairs() {
			o := p.Origin
			x.byUID[o.UID] = append(x.byUID[o.UID], o)
			if o.ManagedBy == delegation.MultiKueue {
				name := inspect.NameOf(o)
				x.byName[name] = append(x.byName[name], o)
			}
		}
	}
	origins := x.byUID[mirror.Marks.OriginUID]
	if mirror.Marks.OriginUID == "" {
		origins = x.byName[inspect.NameOf(mirror)]
	}
	return slices.DeleteFunc(slices.Clone(origins), func(o *inspect.Job) bool { return o.Context == mirror.Context })
}
