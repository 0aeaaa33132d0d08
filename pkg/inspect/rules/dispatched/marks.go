package dispatched

import (
	"fmt"
	"unicode/utf8"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func invalidMark() view.Rule {
	return view.Rule{
		Code: "JM205", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
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

func badMirror(p inspect.Pair) view.Sighting {
	o := p.Origin
	s := view.Sighting{
		Object: view.Of(o), Since: o.CreationTimestamp.Time, Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("its annotation %s names no object: the place of its mirror is unknown", delegation.MirrorAnnotation),
		Evidence: []string{quoteAnnotation(o, delegation.MirrorAnnotation, o.Marks.BadMirror), quote.State(o)},
	}
	forget := advice.KubectlJob(o, "annotate").With(delegation.MirrorAnnotation + "-")
	if m := view.DispatchedMirror(p); m != nil {
		s.Evidence = append(s.Evidence, quote.Mark(m))
		s.Remedy = command.Say("remove the annotation: %[2]s, and resume with the mirror on %[1]s: %[3]s", m.Context, forget, advice.DispatchTo(o, m.Context, m.Namespace))
		return s
	}
	look := command.Kubectl("CONTEXT", "", "get", command.KindName(o.Row()), "-A", "-l", delegation.OriginUIDLabel+"="+o.UID)
	s.Remedy = command.Say("search for its mirror in each CONTEXT: %s; then remove the annotation: %s, and dispatch the %s to that context; or end the %s: %s",
		look, forget, o.Kind, o.Kind, advice.Cancel(o))
	return s
}

func badOrigin(j *inspect.Job) view.Sighting {
	return view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Severity: inspect.Info,
		Message:  fmt.Sprintf("its annotation %s names no object; no origin was found", delegation.OriginAnnotation),
		Evidence: []string{quoteAnnotation(j, delegation.OriginAnnotation, j.Marks.BadOrigin), quote.Mark(j), quote.State(j)},
		Remedy: command.Say("search each CONTEXT for the origin, whose UID is in its label: %s",
			command.Kubectl("CONTEXT", "", "get", command.KindName(j.Row()), "-A", "-o", "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid")),
	}
}

// quoteAnnotation quotes an invalid annotation, at most 200 characters of it.
func quoteAnnotation(j *inspect.Job, name, value string) string {
	const enough = 200
	if utf8.RuneCountInString(value) > enough {
		value = string([]rune(value)[:enough]) + "…"
	}
	return fmt.Sprintf("%s: annotation %s of %s is %q", j.Context, name, view.Of(j).String(), value)
}
