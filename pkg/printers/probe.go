package printers

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Probe writes the result of a probe: the answer, its reason and fix, each step with its
// duration, and the answers of the workers.
func Probe(w io.Writer, r *inspect.ProbeReport, o TableOptions) error {
	if o.Markdown {
		return probeMarkdown(w, r, o)
	}
	p := palette{o.Color}
	lines := wrap(p.bold(Safe(ProbeHeadline(r))), o.Width, "")
	if r.Message != "" {
		lines = append(lines, wrap(Safe(r.Message), o.Width, "")...)
	}
	lines = append(lines, uncheckedLines(r.Unchecked, o)...)
	if r.Trace != nil {
		lines = append(lines, traceFixLines(r.Trace, o)...)
	}
	for _, l := range r.Left {
		lines = append(lines, fixLines(p.bold("Left behind: "), leftoverProse(&l), o)...)
	}
	if r.Manifest != nil {
		text, err := manifestText(r)
		if err != nil {
			return err
		}
		lines = append(lines, "", text)
	} else {
		lines = append(lines, "")
		lines = append(lines, probeStepLines(r, o)...)
	}
	for i := range r.Workers {
		if i == 0 {
			lines = append(lines, "", p.bold("Workers, by a server-side dry run:"))
		}
		lines = append(lines, probeWorkerLines(&r.Workers[i], o)...)
	}
	return writeLines(w, lines...)
}

// manifestText returns the Job of a dry run as YAML.
func manifestText(r *inspect.ProbeReport) (string, error) {
	text, err := yaml.Marshal(r.Manifest)
	return strings.TrimSuffix(SafeLines(string(text)), "\n"), err
}

// ProbeHeadline returns the result of a probe in one sentence.
func ProbeHeadline(r *inspect.ProbeReport) string {
	name := fmt.Sprintf("Probe of queue %s/%s", r.Namespace, r.Queue)
	refused := 0
	for i := range r.Workers {
		if r.Workers[i].Verdict == inspect.Never {
			refused++
		}
	}
	refusals := ""
	if refused > 0 {
		refusals = fmt.Sprintf("; %d of %s cannot run it", refused, inspect.Count(len(r.Workers), "worker"))
	}
	switch r.Result {
	case inspect.ProbePassed:
		return fmt.Sprintf("%s: passed in %s on %s%s", name, elapsedText(r.TotalSeconds), r.Cluster, refusals)
	case inspect.ProbeNotRun:
		return fmt.Sprintf("%s: nothing was created (%s dry run)%s", name, r.DryRun, refusals)
	case inspect.ProbeInterrupted:
		return name + ": interrupted" + stoppedAtText(r)
	case inspect.ProbeFailed, inspect.ProbeUnknown:
	}
	return fmt.Sprintf("%s: %s%s%s", name, r.Result, stoppedAtText(r), refusals)
}

// stoppedAtText returns the step at which the probe stopped.
func stoppedAtText(r *inspect.ProbeReport) string {
	s := r.Stopped()
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" at %q", ProbeStepText(s.Name))
}

func elapsedText(n float64) string {
	return (time.Duration(n*10) * time.Second / 10).String()
}

// ProbeStepText returns the name of a step for people.
func ProbeStepText(name inspect.ProbeStepName) string {
	return map[inspect.ProbeStepName]string{
		inspect.ProbeCreated: "created", inspect.ProbeQueued: "queued", inspect.ProbeReserved: "quota reserved",
		inspect.ProbeOffered: "offered", inspect.ProbeAdmitted: "admitted", inspect.ProbeMirrored: "mirror created",
		inspect.ProbeRunning: "Pod running", inspect.ProbeReported: "status back", inspect.ProbeCleaned: "cleaned up",
	}[name]
}

// probeStepLines returns a line for each step, with its mark and its duration.
func probeStepLines(r *inspect.ProbeReport, o TableOptions) []string {
	const wide = 14 // "quota reserved", "mirror created"
	p := palette{o.Color}
	var lines []string
	for i := range r.Steps {
		s := &r.Steps[i]
		mark := map[inspect.ProbeStepState]string{
			inspect.StepDone: markPassed, inspect.StepFailed: p.bad(markError), inspect.StepUnknown: p.bad(markUnknown), inspect.StepNotReached: "-",
		}[s.State]
		label := gap + mark + " " + pad(ProbeStepText(s.Name), wide) + gap + pad(stepSeconds(s), len("100.0s")) + gap
		if s.Message == "" {
			lines = append(lines, strings.TrimRight(label, " "))
			continue
		}
		lines = append(lines, wrapBelow(label, Safe(s.Message), o.Width)...)
	}
	return lines
}

func stepSeconds(s *inspect.ProbeStep) string {
	if s.Seconds == nil {
		return ""
	}
	return fmt.Sprintf("%.1fs", *s.Seconds)
}

// leftoverProse describes an object that the probe left behind, with the command that removes it.
func leftoverProse(l *inspect.ProbeLeft) command.Prose {
	about := command.Text(fmt.Sprintf("%s %s/%s on %s (%s)", l.Kind, l.Namespace, l.Name, l.Context, l.Reason))
	return command.Say("%s. Remove it: %s", about, command.Of(l.Command...))
}

// probeWorkerLines returns the lines of a worker.
func probeWorkerLines(w *inspect.ProbeWorker, o TableOptions) []string {
	p := palette{o.Color}
	mark := map[inspect.Verdict]string{
		inspect.Fits: markPassed, inspect.Waits: p.bad(markWarning), inspect.Never: p.bad(markError), inspect.Unknown: p.bad(markUnknown),
	}[w.Verdict]
	lines := wrapBelow(gap+mark+" "+Safe(workerName(w))+": ", Safe(cmp.Or(w.Message, "accepts the mirror and its Pod")), o.Width)
	if w.Remedy != "" {
		lines = append(lines, fixLines("      ", command.Prose(w.Remedy), o)...)
	}
	return lines
}

func workerName(w *inspect.ProbeWorker) string {
	if w.Context == "" || w.Context == w.Cluster {
		return w.Cluster
	}
	return w.Cluster + " (context " + w.Context + ")"
}

// probeMarkdown writes the answer, a table of the steps and one of the workers.
func probeMarkdown(w io.Writer, r *inspect.ProbeReport, o TableOptions) error {
	o = o.forMarkdown()
	d := &document{}
	d.paragraph("**" + literal(Safe(ProbeHeadline(r))) + "**")
	d.paragraph(literal(Safe(r.Message)))
	d.addUnchecked(r.Unchecked)
	if r.Trace != nil && r.Trace.Remedy != "" {
		d.paragraph("Fix: " + prose(command.Prose(r.Trace.Remedy)))
	}
	for _, l := range r.Left {
		d.paragraph("Left behind: " + prose(leftoverProse(&l)))
	}
	steps := []column[*inspect.ProbeStep]{
		{title: "STEP", cell: func(s *inspect.ProbeStep) string { return ProbeStepText(s.Name) }},
		{title: "STATE", cell: func(s *inspect.ProbeStep) string { return string(s.State) }},
		{title: "TOOK", cell: func(s *inspect.ProbeStep) string { return absentIfEmpty(stepSeconds(s)) }},
		{title: "MESSAGE", cell: func(s *inspect.ProbeStep) string { return absentIfEmpty(s.Message) }},
	}
	if r.Manifest != nil {
		text, err := manifestText(r)
		if err != nil {
			return err
		}
		d.paragraph("```yaml\n" + text + "\n```")
	} else if err := addTable(d, steps, pointers(r.Steps), o); err != nil {
		return err
	}
	workers := []column[*inspect.ProbeWorker]{
		{title: "WORKER", cell: func(w *inspect.ProbeWorker) string { return Safe(workerName(w)) }},
		{title: "VERDICT", cell: func(w *inspect.ProbeWorker) string { return string(w.Verdict) }},
		{title: "MESSAGE", cell: func(w *inspect.ProbeWorker) string { return absentIfEmpty(w.Message) }},
		markdownColumn("FIX", func(w *inspect.ProbeWorker) string { return cmp.Or(prose(command.Prose(w.Remedy)), none) }),
	}
	if err := addTable(d, workers, pointers(r.Workers), o); err != nil {
		return err
	}
	return d.write(w)
}
