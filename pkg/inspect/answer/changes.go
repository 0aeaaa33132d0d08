package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// outOfSync is the code of a mirror that a worker changed, so that Kueue there ended its Workload.
const outOfSync = "JM036"

// nameChanges adds to findings about a changed mirror what was changed. Only a trace reads whole objects,
// so the rule does not know it.
func (q *Question) nameChanges() {
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		if f.Code != outOfSync || !q.isAboutPair(f) {
			continue
		}
		if what := q.changeOf(f); what != "" {
			f.Message = strings.NewReplacer("changed its mirror", "changed "+what, "edited its mirror", "edited "+what).Replace(f.Message)
		}
	}
}

// containerField matches the path of a field of a container.
var containerField = regexp.MustCompile(`^spec\.template\.spec\.(?:initC|c)ontainers\[([^\]]+)\]\.(.+)$`)

// changeOf describes the first difference of the spec of a mirror that a finding mentions: "the image of
// container main in its mirror (a:1 → a:2)", "" if nothing differs.
func (q *Question) changeOf(f *inspect.Finding) string {
	changes := slices.DeleteFunc(slices.Clone(q.Trace.Differences), func(d inspect.Difference) bool {
		return d.IsStatus() || d.Lag || d.Field == "spec.suspend" || !strings.Contains(f.Message, "("+d.Context+")")
	})
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

// orNone returns a value, "none" for an empty one.
func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
