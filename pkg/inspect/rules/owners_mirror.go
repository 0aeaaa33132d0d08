package rules

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func mirrorDelegated() Rule {
	return Rule{
		Code: "JM103", Title: "a mirror that is itself delegated never runs", Severity: inspect.Error,
		Holds: "no mirror is itself delegated",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartChecks},
		Why: `A mirror is there to be run by the built-in controller of its cluster, and must not have managedBy.
Something on that cluster has set it as the mirror was created, such as an admission webhook that delegates every Job
of a queue, or the controller that made the mirror did not take it away. A Job's managedBy cannot be changed, nor can
that of most other kinds.`,
		Shows: `A Job has the marks of a mirror and a managedBy that is not the built-in controller's, it has never
started, and nothing on its cluster takes it up.`,
		Remedy: `Exempt mirrors from what sets managedBy on that cluster, and delete the mirror, so that it is made again.`,
		Link:   kepManagedBy,
		Covers: []string{"JM014", "JM101", "JM102", "JM305", "JM306"},
		Detect: func(v *View) {
			origins := &originFinder{view: v}
			for _, p := range v.Pairs() {
				j := p.Origin
				if j.IsMirror() && j.DeletedAt == nil && len(p.Mirrors) == 0 && isForgotten(v, j) {
					v.Report(delegatedAgain(j, origins.of(j)))
				}
			}
		},
	}
}

// isForgotten says whether a delegated Job has never run, and nobody on its
// cluster is going to change that. Where MultiKueue dispatches from a worker, it
// may serve the mirror there.
func isForgotten(v *View, j *inspect.Job) bool {
	if hasStarted(j) {
		return false
	}
	if j.ManagedBy != delegation.MultiKueue {
		return j.Status == delegation.Unclaimed
	}
	f, ok := v.Facts(j.Context)
	_, known := v.Checks(f)
	return ok && known && !v.Dispatches(f)
}

func delegatedAgain(j *inspect.Job, origins []*inspect.Job) Sighting {
	return Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: append([]*inspect.Job{j}, origins...),
		Message: fmt.Sprintf("it is a mirror, but is managed by %s: nothing on %s runs it", j.ManagedBy, j.Context),
		Evidence: []string{
			fmt.Sprintf("%s since %s", ownerOf(j), stamp(j.CreationTimestamp)),
			markOf(j),
		},
		Remedy: command.Say("find what sets %s: %s; exempt mirrors from it, and then %s",
			ownerField(j), command.Kubectl(j.Context, "", "get", "mutatingwebhookconfigurations"), deleteJob(j)),
	}
}

// originFinder finds the origins of what is marked as a mirror. It makes its index
// once it is asked.
type originFinder struct {
	view   *View
	byUID  map[string][]*inspect.Job
	byName map[inspect.ObjectName][]*inspect.Job
}

// of are the origins on other clusters that a mirror may have.
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

// markOf quotes what says that a Job is a mirror.
func markOf(j *inspect.Job) string {
	key, value := delegation.OriginUIDLabel, j.Marks.OriginUID
	if value == "" {
		key, value = delegation.MultiKueueOriginLabel, j.Marks.MultiKueueOrigin
	}
	return fmt.Sprintf("%s: label %s of %s is %s", j.Context, key, named(Of(j)), value)
}
