package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// outOfSync is the code of a mirror that a worker changed, so that Kueue there ended its Workload.
const outOfSync = "JM036"

// NeedsJob reports whether Complete has more to say about a finding: what was changed, what refuses a mirror, or where a
// Job can be dispatched.
func NeedsJob(f *inspect.Finding) bool {
	return len(f.Jobs) > 0 && (f.Code == outOfSync || f.Code == mirrorRefused || f.Code == ignoredByOwner && slices.ContainsFunc(f.Fixes, isDispatch))
}

// Complete adds to a finding what a trace of its first Job shows. v was read by the name of that Job, so it has
// whole objects, and what the candidate clusters have. checked returns what else decides about a Job, by context. reach
// has the flags with which commands reach the clusters.
func Complete(v *inspect.Inventory, f *inspect.Finding, checked func(inspect.Pair) map[string]*placement.Checked, reach command.Reach) {
	p, isKnown := pairsByOrigin(v)[f.Jobs[0]]
	if !isKnown {
		return
	}
	t := chain.Trace(v, p)
	t.Findings = []inspect.Finding{*f}
	t.Placements = append(t.Placements, Reached(placement.Around(v).Judge(p, checked(p)), reach)...)
	q := Question{Inventory: v, Pair: p, Trace: t, Reach: reach}
	q.nameChanges()
	q.withoutDispatch(t.Findings)
	q.nameResourceQuotas(t.Findings)
	*f = t.Findings[0]
}

// PointToTrace makes a finding that needs its Job, and was not completed, say that trace shows the rest. Its first fix
// follows that.
func PointToTrace(f *inspect.Finding, reach command.Reach) {
	kind, isKnown := delegation.KindNamed(f.Kind)
	if !isKnown {
		return
	}
	what := "see which cluster can take it"
	switch f.Code {
	case outOfSync:
		what = "see what was changed"
	case mirrorRefused:
		what = "see whether a ResourceQuota refuses the mirror"
	}
	job := f.Jobs[0]
	looks := command.Say("%s: %s", what, command.PluginFor(kind, "trace", job.Context, job.Namespace, job.Name)).Reached(reach).Fixes()
	if len(f.Fixes) > 0 {
		first := f.Fixes[0]
		looks[0].Then = slices.Concat(looks[0].Then, []command.Step{{Text: first.Text, Command: first.Command}}, first.Then)
		f.Fixes = append(looks, f.Fixes[1:]...)
	} else {
		f.Fixes = looks
	}
	f.Remedy = string(command.Alternatives(f.Fixes))
}

// nameChanges adds to findings about a changed mirror what was changed. Rules do not know it, because they
// do not read whole objects.
func (q *Question) nameChanges() {
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		if f.Code != outOfSync || !q.isAboutPair(f) {
			continue
		}
		if what := q.changeOf(f); what != "" {
			f.Message = strings.NewReplacer("changed its mirror", "changed "+what, "edited its mirror", "edited "+what).Replace(f.Message)
		}
		q.addImage(f)
	}
}

// addImage adds to a finding about a policy that replaced the image of one container the fix for users who cannot
// change the policy: the Job uses that image itself. It may be the only one that the worker can pull.
func (q *Question) addImage(f *inspect.Finding) {
	changes := q.changesOf(f)
	if len(changes) != 1 || !strings.HasPrefix(f.Message, "something on ") {
		return
	}
	part, image := containerField.FindStringSubmatch(changes[0].Field), changes[0].Mirror
	if len(part) < 3 || part[2] != "image" || image == "" {
		return
	}
	o := q.Pair.Origin
	template, _ := o.Template()
	fix := command.Fix{Text: fmt.Sprintf("if the policies of %s keep image %s, use it in container %s", changes[0].Context, image, part[1]), Command: []string{}}
	f.Fixes = append(f.Fixes, fix.Again(o.Kind+" "+o.Namespace+"/"+o.Name, template))
	f.Remedy = string(command.Alternatives(f.Fixes))
}

// containerField matches the path of a field of a container.
var containerField = regexp.MustCompile(`^spec\.template\.spec\.(?:initC|c)ontainers\[([^\]]+)\]\.(.+)$`)

// changeOf describes the first difference of the spec of a mirror that a finding mentions: "the image of
// container main in its mirror (a:1 → a:2)", "" if nothing differs.
func (q *Question) changeOf(f *inspect.Finding) string {
	changes := q.changesOf(f)
	if len(changes) == 0 {
		return ""
	}
	d := changes[0]
	field := d.Field
	if part := containerField.FindStringSubmatch(field); part != nil {
		field = fmt.Sprintf("the %s of container %s", part[2], part[1])
	}
	text := field + " in its mirror"
	const longest = 60
	if from, to := orNone(d.Origin), orNone(d.Mirror); len(from)+len(to) <= 2*longest {
		text += fmt.Sprintf(" (%s → %s)", from, to)
	}
	if more := len(changes) - 1; more > 0 {
		text += fmt.Sprintf(" and %s", inspect.Count(more, "more field"))
	}
	return text
}

// changesOf returns the differences of the spec of a mirror that a finding mentions.
func (q *Question) changesOf(f *inspect.Finding) []inspect.Difference {
	return slices.DeleteFunc(slices.Clone(q.Trace.Differences), func(d inspect.Difference) bool {
		return d.IsStatus() || d.Lag || d.Field == "spec.suspend" || !strings.Contains(f.Message, "("+d.Context+")")
	})
}

// orNone returns a value, "none" for an empty one.
func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
