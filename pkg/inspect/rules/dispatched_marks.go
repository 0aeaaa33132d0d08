package rules

import (
	"fmt"
	"unicode/utf8"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func markNamesNothing() Rule {
	return Rule{
		Code: "JM205", Title: "a dispatch annotation names no object", Severity: inspect.Warning,
		Holds: "the marks of every dispatch name an existing object",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `dispatch writes on an origin where its mirror is, and on the mirror where its origin is: the cluster's uid,
namespace and name, and of the mirror its uid. Whoever may change the object may change that, and what is there now
cannot be the name of any object. It is not taken for one: dispatch does not go on, since it could make a second mirror,
and nothing here advises on what it may have meant.`,
		Shows: `The annotation jobmanagedby.github.io/mirror is not CLUSTER-UID/NAMESPACE/NAME/UID, or
jobmanagedby.github.io/origin is not CLUSTER-UID/NAMESPACE/NAME, with names that the API server would take.`,
		Remedy: `Find the mirror by its label jobmanagedby.github.io/origin-uid, which is the origin's uid, on every cluster
that it may be on. Then take the annotation off, and dispatch the Job to where its mirror is, which writes it anew; or end
it with cancel, which looks for the mirror everywhere.`,
		Link: docsJobs,
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				o := p.Origin
				if o.Marks != nil && o.Marks.BadMirror != "" && o.IsDispatched() && o.IsOpen() {
					v.Report(badMirror(p))
				}
			}
			for _, j := range v.Orphans() {
				if j.Marks.OriginUID != "" && j.Marks.BadOrigin != "" && j.IsOpen() {
					v.Report(badOrigin(j))
				}
			}
		},
	}
}

func badMirror(p inspect.Pair) Sighting {
	o := p.Origin
	s := Sighting{
		Object: Of(o), Since: o.CreationTimestamp.Time, Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("its annotation %s names no object: the place of its mirror is unknown", delegation.MirrorAnnotation),
		Evidence: []string{markAsItIs(o, delegation.MirrorAnnotation, o.Marks.BadMirror), stateOf(o)},
	}
	forget := kubectlFor(o, "annotate").With(delegation.MirrorAnnotation + "-")
	if m := dispatchedMirror(p); m != nil {
		s.Evidence = append(s.Evidence, markOf(m))
		s.Remedy = command.Say("take it off, and go on with the mirror on %s: %s, and then %s", m.Context, forget, dispatchTo(o, m.Context, m.Namespace))
		return s
	}
	look := command.Kubectl("CONTEXT", "", "get", typesOf(o), "-A", "-l", delegation.OriginUIDLabel+"="+o.UID)
	s.Remedy = command.Say("look for its mirror in each CONTEXT that it may have been dispatched to: %s; then take the annotation off, and dispatch it to there: %s; or end it: %s",
		look, forget, cancel(o))
	return s
}

func badOrigin(j *inspect.Job) Sighting {
	return Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Severity: inspect.Info,
		Message:  fmt.Sprintf("its annotation %s names no object; no origin was found", delegation.OriginAnnotation),
		Evidence: []string{markAsItIs(j, delegation.OriginAnnotation, j.Marks.BadOrigin), markOf(j), stateOf(j)},
		Remedy: command.Say("find out whose mirror it is, by the uid of its origin, in each CONTEXT that it may be of: %s",
			command.Kubectl("CONTEXT", "", "get", typesOf(j), "-A", "-o", "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid")),
	}
}

// markAsItIs quotes an annotation that makes no sense.
func markAsItIs(j *inspect.Job, name, value string) string {
	const enough = 200
	if utf8.RuneCountInString(value) > enough {
		value = string([]rune(value)[:enough]) + "…"
	}
	return fmt.Sprintf("%s: annotation %s of %s is %q", j.Context, name, named(Of(j)), value)
}
