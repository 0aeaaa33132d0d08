package owners

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func twoMirrors() view.Rule {
	return view.Rule{
		Code: "JM107", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				var live []*inspect.Job
				var last time.Time
				for _, m := range p.Mirrors {
					if m.Current && m.Relation != inspect.ByName && view.IsLiveJob(m.Job) {
						live = append(live, m.Job)
						last = view.Latest(last, v.On(p.Origin.Context, m.Job.Context, m.Job.CreationTimestamp.Time))
					}
				}
				if len(live) > 1 && p.Origin.DeletedAt == nil {
					v.Report(runsTwice(v, p, live, last))
				}
			}
		},
	}
}

func runsTwice(v *view.View, p inspect.Pair, live []*inspect.Job, since time.Time) view.Sighting {
	origin := p.Origin
	s := view.Sighting{
		Object: view.Of(origin), Since: since, Jobs: []*inspect.Job{origin},
		Evidence: []string{quote.State(origin)},
	}
	isKept := func(j *inspect.Job) bool {
		return origin.StartTime != nil && j.StartTime != nil && origin.StartTime.Equal(j.StartTime)
	}
	// The mirror that the origin names is the right one, even if others started
	// earlier.
	isNamed := func(j *inspect.Job) bool { return origin.Pinned().UID == j.UID }
	if slices.ContainsFunc(live, isNamed) {
		isKept = isNamed
		s.Evidence = append(s.Evidence, quote.MirrorAnnotation(origin))
	}
	if chosen, evidence := chosenContext(v, p); slices.ContainsFunc(live, func(j *inspect.Job) bool { return j.Context == chosen }) {
		isKept = func(j *inspect.Job) bool { return j.Context == chosen }
		s.Evidence = append(s.Evidence, evidence)
	}
	var places, kept []string
	var all []command.Prose
	var others []command.Command
	for _, j := range live {
		places = append(places, j.Context)
		s.Evidence = append(s.Evidence, quote.State(j), quote.Mark(j))
		all = append(all, command.Say("delete the mirror on %s (keep one): %s", j.Context, advice.DeleteJob(j)))
		if isKept(j) {
			kept = append(kept, j.Context)
		} else {
			others = append(others, advice.DeleteJob(j))
		}
	}
	s.Message = "it runs on " + inspect.And(places) + " at once"
	s.Remedy = command.Say("keep the mirror on %s, and delete the others: %s", inspect.And(kept), command.JoinCommands(others, "; "))
	if len(others) == 0 || len(others) == len(live) {
		// Nothing shows which of them is the right one.
		s.Remedy = command.Join(all, "; or ")
	}
	return s
}

// chosenContext returns the context of the cluster to which MultiKueue gave the origin of a pair, with
// a quote of that choice. The context is "" if it is unknown or a guess, because other mirrors are
// advised to be deleted.
func chosenContext(v *view.View, p inspect.Pair) (context, evidence string) {
	if !view.IsMultiKueues(p) {
		return "", ""
	}
	s := v.Submission(p)
	v.CanRead(s.Manager, inspect.PartClusters)
	if s.Workload == nil || s.Workload.Status.ClusterName == nil || !v.IsContextProven(s.Manager, *s.Workload.Status.ClusterName) {
		return "", ""
	}
	return v.ContextOf(s.Manager, *s.Workload.Status.ClusterName), quote.ChosenCluster(s.Manager.Context, s.Workload)
}

func olderMirror() view.Rule {
	return view.Rule{
		Code: "JM108", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					j := m.Job
					if m.Current || m.Relation != inspect.ByDispatch || j.DeletedAt != nil || p.Origin.DeletedAt != nil {
						continue
					}
					s := view.Sighting{
						Object: view.Of(j), Jobs: []*inspect.Job{j, p.Origin},
						Since:   view.Latest(v.On(j.Context, p.Origin.Context, p.Origin.CreationTimestamp.Time), view.TimeOf(j.FinishedTime)),
						Message: fmt.Sprintf("the mirror on %s belongs to an older %s of the same name as %s/%s on %s", j.Context, j.Kind, p.Origin.Namespace, p.Origin.Name, p.Origin.Context),
						Evidence: []string{
							quote.Mark(j), quote.State(j),
							fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", p.Origin.Context, view.Of(p.Origin).String(), p.Origin.UID, quote.Time(p.Origin.CreationTimestamp)),
						},
						Remedy: command.Say("delete the mirror: %s", advice.DeleteJob(j)),
					}
					if j.Status.IsFinished() {
						s.Severity = inspect.Info
					}
					v.Report(s)
				}
			}
		},
	}
}

func podsOfOrigin() view.Rule {
	return view.Rule{
		Code: "JM109", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				// JM301 and JM302 report other kinds.
				if p.Origin.Row().IsJob() {
					reportTwoWriters(v, p.Origin)
				}
			}
		},
	}
}

// reportTwoWriters reports a delegated Job that the built-in controller has
// touched. Other owners than MultiKueue and dispatch may run its Pods on its
// own cluster.
func reportTwoWriters(v *view.View, j *inspect.Job) {
	f, _ := v.Facts(j.Context)
	var evidence, names []string
	since := j.CreationTimestamp.Time
	if slices.Contains(j.StatusWriters, view.BuiltInManager) {
		evidence = append(evidence, fmt.Sprintf("%s: metadata.managedFields of %s has %s as a writer of status", j.Context, view.Of(j).String(), view.BuiltInManager))
	}
	if j.ManagedBy == delegation.MultiKueue || j.ManagedBy == delegation.Dispatch {
		pods, _ := v.Pods(f, j)
		for _, pod := range pods {
			names = append(names, pod.Name)
			since = view.Latest(since, pod.CreationTimestamp.Time)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		evidence = append(evidence, fmt.Sprintf("%s: %s controls %d Pods there: %s", j.Context, view.Of(j).String(), len(names), strings.Join(names[:min(quote.MostNames, len(names))], ", ")))
	}
	if len(evidence) == 0 || j.DeletedAt != nil {
		return
	}
	evidence = append(evidence, quote.Owner(j))
	v.Report(view.Sighting{
		Object: view.Of(j), Since: since, Jobs: []*inspect.Job{j}, Evidence: evidence,
		Message: fmt.Sprintf("it is managed by %s, but the built-in controller of %s also runs it", j.ManagedBy, j.Context),
		Remedy:  command.Say("%s; then %s", stopSecondWriter(f), advice.CreateAgain(j)),
	})
}

// stopSecondWriter returns how to keep the built-in controller from the delegated Jobs of a cluster. The feature gate
// JobManagedBy is locked on from Kubernetes 1.35, and to be removed in 1.38: a component that sets it may not start then
// (kubernetes: pkg/features/kube_features.go). Only this remedy depends on the version, so it notes no parts.
func stopSecondWriter(f *inspect.Facts) command.Prose {
	server, err := version.ParseGeneric(f.Version)
	switch {
	case err != nil:
		return command.Say("before Kubernetes 1.35, enable the feature gate JobManagedBy in kube-controller-manager of %s", f.Context)
	case server.LessThan(version.MustParseGeneric("1.35.0")):
		return command.Say("enable the feature gate JobManagedBy in kube-controller-manager of %s", f.Context)
	}
	return command.Say("find out which controller of %s does that: it may be a kube-controller-manager older than 1.32, or one older than 1.35 with the feature gate JobManagedBy off", f.Context)
}
