package printers

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// placementLines returns a row for each cluster that a waiting Job may be given to. Wide output
// has a column for each condition, and the flavors that were tried.
func placementLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	if len(t.Placements) == 0 {
		return nil, nil
	}
	candidates := candidatesOf(t)
	p := palette{o.Color}
	columns := verdictColumns(t, p)
	if o.Wide {
		columns = placementColumns(t, p)
	}
	table := newTable(columns, candidates, o)
	rows, err := table.styledRows(o, p.bold)
	if err != nil {
		return nil, err
	}
	lines := slices.Concat([]string{""}, rows, table.leftOut(o))
	for _, c := range candidates {
		lines = append(lines, placementNotes(c.Placement, c.name, o)...)
	}
	if o.Wide {
		more, err := flavorLines(t, o)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// verdictColumns returns the columns that show in numbers whether a Job could run on each
// cluster. A column without content is left out.
func verdictColumns(t *inspect.Trace, p palette) []column[candidate] {
	has := func(is func(*inspect.Placement) bool) bool {
		for i := range t.Placements {
			if is(&t.Placements[i]) {
				return true
			}
		}
		return false
	}
	resources := map[string]bool{}
	for i := range t.Placements {
		if r := t.Placements[i].Resource; r != "" {
			resources[r] = true
		}
	}
	return []column[candidate]{
		clusterColumn(t),
		contextColumn(),
		{title: "VERDICT", alwaysShown: true, cell: func(c candidate) string { return p.verdict(c.Verdict) }},
		{title: "RESOURCE", unused: !isAmbiguous(t, resources), cell: func(c candidate) string { return absentIfEmpty(c.Resource) }},
		{title: "NEEDS", unused: len(resources) == 0, cell: func(c candidate) string { return absentIfEmpty(c.Needs) }},
		{title: "FREE", unused: len(resources) == 0, cell: func(c candidate) string { return absentIfEmpty(c.Free) }},
		{title: "LIMIT", unused: len(resources) == 0, cell: func(c candidate) string { return absentIfEmpty(c.Limit) }},
		{title: "PODS", unused: !has(func(placement *inspect.Placement) bool {
			return placement.Condition(inspect.ConditionPods).State == inspect.No
		}), cell: func(c candidate) string {
			return conditionCell(c.Condition(inspect.ConditionPods), p)
		}},
		{title: "WHY", shrinks: true, minWidth: minProseWidth, cell: func(c candidate) string { return Safe(c.Why()) }},
	}
}

// clusterColumn returns the column with the names of MultiKueueClusters, if these are not those of the contexts.
func clusterColumn(t *inspect.Trace) column[candidate] {
	isNamed := slices.ContainsFunc(t.Placements, func(p inspect.Placement) bool { return p.Cluster != "" && p.Cluster != p.Context })
	return column[candidate]{title: "CLUSTER", shrinks: true, unused: !isNamed, cell: func(c candidate) string { return absentIfEmpty(c.Cluster) }}
}

// isAmbiguous reports whether a table of numbers must name their resource: the rows differ in it, or the reason of the
// trace does not name it, or names another one, too.
func isAmbiguous(t *inspect.Trace, resources map[string]bool) bool {
	if len(resources) != 1 {
		return len(resources) > 1
	}
	words := strings.FieldsFunc(t.Message, func(r rune) bool { return strings.ContainsRune(" ,;:()", r) })
	names := func(resource string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.TrimSuffix(word, ".") == resource })
	}
	for i := range t.Placements {
		for _, flavor := range t.Placements[i].Flavors {
			for _, r := range flavor.Resources {
				if !resources[r.Resource] && names(r.Resource) {
					return true
				}
			}
		}
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(resources)), names)
}

// contextColumn returns the column with the contexts, of which one may be that of the manager.
func contextColumn() column[candidate] {
	return column[candidate]{title: "CONTEXT", shrinks: true, alwaysShown: true, cell: func(c candidate) string {
		if c.Manager {
			return absentIfEmpty(c.Context + " (manager)")
		}
		return absentIfEmpty(c.Context)
	}}
}

// verdict colours a verdict by its health.
func (p palette) verdict(v inspect.Verdict) string {
	healths := map[inspect.Verdict]inspect.Health{
		inspect.Fits: inspect.HealthOK, inspect.Waits: inspect.HealthWaiting, inspect.Never: inspect.HealthBad, inspect.Unknown: inspect.HealthUnknown,
	}
	return p.health(healths[v], string(v))
}

// placementName returns the name of a candidate: its context, or the name that its manager gives
// it if there is no context; both if two candidates share a context.
func placementName(t *inspect.Trace, i int) string {
	p := &t.Placements[i]
	isShared := slices.ContainsFunc(t.Placements, func(o inspect.Placement) bool { return o.Context == p.Context && o.Cluster != p.Cluster })
	if p.Context != "" && p.Cluster != "" && isShared {
		return fmt.Sprintf("%s (%s)", p.Context, p.Cluster)
	}
	return cmp.Or(p.Context, p.Cluster)
}

// candidate is a cluster that a waiting Job may be given to, with its name.
type candidate struct {
	*inspect.Placement
	name string
}

func candidatesOf(t *inspect.Trace) []candidate {
	candidates := make([]candidate, len(t.Placements))
	for i := range t.Placements {
		candidates[i] = candidate{&t.Placements[i], placementName(t, i)}
	}
	return candidates
}

// DryRunPlacements writes the candidate clusters of each Job in a dry run, and the chosen one.
func DryRunPlacements(w io.Writer, traces []inspect.Trace, o TableOptions) error {
	for i := range traces {
		lines, err := placementLines(&traces[i], o)
		if err != nil {
			return err
		}
		lines = append(lines, wrap(Safe(traces[i].Summary), o.Width, "")...)
		if i > 0 {
			lines = slices.Insert(lines, 0, "")
		}
		if err := writeLines(w, lines...); err != nil {
			return err
		}
	}
	return nil
}

// hasConditionColumn reports whether a condition has a column: some have one only if they were
// checked.
func hasConditionColumn(t *inspect.Trace, name string) bool {
	isAlways := name != inspect.ConditionPreflight && name != inspect.ConditionPods
	return isAlways || slices.ContainsFunc(t.Placements, func(p inspect.Placement) bool {
		return p.Condition(name).State != inspect.NotAsked
	})
}

// placementColumns returns the columns with one for each condition.
func placementColumns(t *inspect.Trace, p palette) []column[candidate] {
	columns := []column[candidate]{clusterColumn(t), contextColumn()}
	for _, name := range inspect.PlacementConditions() {
		columns = append(columns, column[candidate]{title: strings.ToUpper(name), unused: !hasConditionColumn(t, name), shrinks: true, cell: func(c candidate) string {
			return conditionCell(c.Condition(name), p)
		}})
	}
	return append(columns,
		column[candidate]{title: "VERDICT", alwaysShown: true, cell: func(c candidate) string { return p.verdict(c.Verdict) }},
		column[candidate]{title: "WHY", shrinks: true, minWidth: minProseWidth, cell: func(c candidate) string { return Safe(c.Message) }})
}

func conditionCell(c inspect.PlacementCondition, p palette) string {
	health := inspect.HealthOK
	switch c.State {
	case inspect.No:
		health = inspect.HealthBad
	case inspect.NotKnown:
		health = inspect.HealthUnknown
	case inspect.NotAsked:
		return p.absent(none)
	default:
	}
	return p.health(health, Safe(c.Text))
}

// placementNotes returns the Job's place in the queue of a cluster, unless it is the first.
func placementNotes(p *inspect.Placement, name string, o TableOptions) []string {
	name = Safe(name)
	var lines []string
	if q := p.Position; q != nil && (q.Place > 1 && p.Verdict != inspect.Never || o.Wide) {
		of := ""
		if q.Of > 0 {
			of = fmt.Sprintf(" of %d", q.Of)
		}
		source := map[inspect.PositionSource]string{inspect.ByKueue: "by Kueue's visibility API", inspect.Computed: "estimated"}[q.Source]
		text := fmt.Sprintf("%s: place %d%s in ClusterQueue %s (%s)", name, q.Place, of, Safe(q.ClusterQueue), source)
		if len(q.Ahead) > 0 {
			text += ", behind " + Safe(strings.Join(q.Ahead, ", "))
		}
		if more := q.Place - 1 - len(q.Ahead); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, wrap(text, o.Width, "")...)
	}
	return lines
}

// flavorRow is a resource of a flavor that was tried.
type flavorRow struct {
	inspect.ResourceRoom
	flavor  *inspect.FlavorTried
	context string
}

// flavorLines returns all flavors that were tried.
func flavorLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	var rows []flavorRow
	for i := range t.Placements {
		p := &t.Placements[i]
		for n := range p.Flavors {
			for _, r := range p.Flavors[n].Resources {
				rows = append(rows, flavorRow{r, &p.Flavors[n], p.Context})
			}
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	columns := []column[flavorRow]{
		{title: "CONTEXT", shrinks: true, cell: func(r flavorRow) string { return absentIfEmpty(r.context) }},
		{title: "PODSET", shrinks: true, cell: func(r flavorRow) string { return absentIfEmpty(r.flavor.PodSet) }},
		{title: "FLAVOR", shrinks: true, cell: func(r flavorRow) string { return absentIfEmpty(r.flavor.Flavor) }},
		{title: "RESOURCE", shrinks: true, cell: func(r flavorRow) string { return absentIfEmpty(r.Resource) }},
		{title: "NEEDS", cell: func(r flavorRow) string { return r.Asked }},
		{title: "FREE", cell: func(r flavorRow) string { return r.Free }},
		{title: "LIMIT", cell: func(r flavorRow) string { return r.Most }},
		{title: "VERDICT", alwaysShown: true, cell: func(r flavorRow) string { return string(r.flavor.Verdict) }},
		{title: "WHY", shrinks: true, minWidth: minProseWidth, cell: func(r flavorRow) string { return Safe(r.flavor.Message) }},
	}
	return titled("Flavors tried", newTable(columns, rows, o), o)
}
