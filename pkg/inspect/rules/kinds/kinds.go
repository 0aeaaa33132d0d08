// Package kinds has the rules about particular kinds.
package kinds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Rules returns JM301 to JM304 and JM307.
func Rules() []view.Rule {
	return []view.Rule{fieldIgnored(), ownControllerRuns(), takenFromMirror(), writtenWithoutField(), templateIgnored()}
}

func fieldIgnored() view.Rule {
	return view.Rule{
		Code: "JM301", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Covers: []string{"JM104", "JM110"},
		Detect: func(v *view.View) {
			eachOwnRun(v, func(r ownRun) {
				row := r.job.Row()
				if row.Ignored == "" {
					return
				}
				s := r.sighting()
				s.Message = fmt.Sprintf("%s ignores %s; the controller on %s %s", row.Ignored, quote.OwnerField(row), r.job.Context, r.what())
				s.Remedy = command.Say("upgrade it on %s to %s or later, then delete the objects that it created there: %s", r.job.Context, row.Since, r.delete())
				v.Report(s)
			})
		},
	}
}

func ownControllerRuns() view.Rule {
	return view.Rule{
		Code: "JM302", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Covers: []string{"JM104", "JM110"},
		Detect: func(v *view.View) {
			eachOwnRun(v, func(r ownRun) {
				row := r.job.Row()
				if row.Ignored != "" {
					return
				}
				s := r.sighting()
				s.Message = fmt.Sprintf("it is managed by %s, but its own controller on %s %s", r.job.ManagedBy, r.job.Context, r.what())
				s.Remedy = "delete the objects that it created there: " + r.delete()
				if row.Since != "" {
					s.Remedy += command.Say("; if they return, upgrade its controller on %s to %s or later", r.job.Context, row.Since)
				}
				v.Report(s)
			})
		},
	}
}

// ownRun is a delegated object that its own controller has begun to run.
type ownRun struct {
	inspect.Pair
	job *inspect.Job
	// parts are the objects that it controls on its own cluster. pods are its
	// Pods there.
	parts []*inspect.Job
	pods  []*inspect.Pod
}

// eachOwnRun visits the delegated objects, other than Jobs, that have parts
// or Pods on their own cluster. Owners other than MultiKueue and dispatch may
// run objects there.
func eachOwnRun(v *view.View, visit func(ownRun)) {
	for _, p := range v.Pairs() {
		j := p.Origin
		isElsewhere := j.ManagedBy == delegation.MultiKueue || j.ManagedBy == delegation.Dispatch
		if !isElsewhere || !j.IsOpen() || j.Row().IsJob() {
			continue
		}
		f, ok := v.Facts(j.Context)
		if !ok {
			continue
		}
		r := ownRun{Pair: p, job: j, pods: ownPods(v, f, j)}
		for _, part := range v.PartsOf(f, j) {
			if part.DeletedAt == nil {
				r.parts = append(r.parts, part)
			}
		}
		if len(r.parts)+len(r.pods) > 0 {
			visit(r)
		}
	}
}

// what describes what the object's own controller did.
func (r *ownRun) what() string {
	switch {
	case len(r.parts) == 0:
		return fmt.Sprintf("runs %s of it", inspect.Count(len(r.pods), "Pod"))
	case len(r.parts) > 1:
		return fmt.Sprintf("created %s and %s for it", view.Of(r.parts[0]).String(), inspect.Count(len(r.parts)-1, "other object"))
	}
	return fmt.Sprintf("created %s for it", view.Of(r.parts[0]).String())
}

func (r *ownRun) sighting() view.Sighting {
	j := r.job
	s := view.Sighting{Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Evidence: []string{quote.Owner(j)}}
	runs := len(r.pods) > 0
	var last time.Time
	for i, part := range r.parts {
		runs = runs || view.IsLiveJob(part)
		last = view.Latest(last, part.CreationTimestamp.Time)
		if i < quote.MostNames {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s controls %s, which is %s, created %s",
				j.Context, view.Of(j).String(), view.Of(part).String(), part.Status, quote.Time(part.CreationTimestamp)))
		}
	}
	if len(r.pods) > 0 {
		for _, pod := range r.pods {
			last = view.Latest(last, pod.CreationTimestamp.Time)
		}
		names := r.podNames()
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s of %s: %s", j.Context, inspect.Count(len(names), "Pod"), view.Of(j).String(), strings.Join(names[:min(quote.MostNames, len(names))], ", ")))
	}
	for _, m := range r.Mirrors {
		if m.Current {
			s.Evidence = append(s.Evidence, quote.State(m.Job))
		}
	}
	s.Since = view.Latest(s.Since, last)
	if !runs {
		s.Severity = inspect.Warning
	}
	return s
}

func (r *ownRun) podNames() []string {
	var names []string
	for _, pod := range r.pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// delete returns the commands that delete what the object's own controller
// created.
func (r *ownRun) delete() command.Prose {
	var commands []command.Command
	for _, part := range r.parts {
		commands = append(commands, advice.DeleteJob(part))
	}
	if len(commands) == 0 {
		commands = append(commands, command.Kubectl(r.job.Context, r.job.Namespace, "delete", "pods").With(r.podNames()...))
	}
	return command.JoinCommands(commands, "; ")
}
