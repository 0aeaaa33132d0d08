package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// placementLines are the clusters that what waits may be given to, a row each with a
// column for each condition, and below what each lacks and what would help.
func placementLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	if len(t.Placements) == 0 {
		return nil, nil
	}
	p := palette{o.Color}
	rows := &table{titles: []string{"CONTEXT"}, shrinks: []bool{true}}
	for _, name := range inspect.PlacementConditions() {
		rows.titles, rows.shrinks = append(rows.titles, strings.ToUpper(name)), append(rows.shrinks, true)
	}
	rows.titles, rows.shrinks = append(rows.titles, "VERDICT"), append(rows.shrinks, false)
	for i := range t.Placements {
		rows.rows = append(rows.rows, placementCells(&t.Placements[i], placementName(t, i), p))
	}
	lines, err := titled("Where it could run", rows, o)
	if err != nil {
		return nil, err
	}
	for i := range t.Placements {
		lines = append(lines, placementNotes(&t.Placements[i], placementName(t, i), o)...)
	}
	lines = append(lines, placement.Sum(t.Placements))
	if change, ok := placement.Smallest(t.Placements); ok {
		lines = append(lines, wrap("To let it run: "+Safe(change.Message), o.Width, "")...)
		if change.Command != "" {
			lines = append(lines, "  "+Safe(change.Command))
		}
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

// placementName is what a candidate is called: by its context, or, where no one else can
// tell it from others, by what its manager calls it.
func placementName(t *inspect.Trace, i int) string {
	one := &t.Placements[i]
	isTwice := slices.ContainsFunc(t.Placements, func(o inspect.Placement) bool { return o.Context == one.Context && o.Cluster != one.Cluster })
	if one.Context != "" && one.Cluster != "" && isTwice {
		return fmt.Sprintf("%s (%s)", one.Context, one.Cluster)
	}
	return cmp.Or(one.Context, one.Cluster)
}

func placementCells(one *inspect.Placement, name string, p palette) []string {
	if one.Manager {
		name += " (manager)"
	}
	cells := []string{absentIfEmpty(name)}
	for _, condition := range inspect.PlacementConditions() {
		c := one.Condition(condition)
		health := inspect.HealthOK
		switch c.State {
		case inspect.No:
			health = inspect.HealthBad
		case inspect.NotKnown:
			health = inspect.HealthUnknown
		case inspect.NotAsked:
			cells = append(cells, p.absent(none))
			continue
		default:
		}
		cells = append(cells, p.health(health, Safe(c.Text)))
	}
	health := map[inspect.Verdict]inspect.Health{
		inspect.Fits: inspect.HealthOK, inspect.Waits: inspect.HealthWaiting, inspect.Never: inspect.HealthBad, inspect.Unknown: inspect.HealthUnknown,
	}[one.Verdict]
	return append(cells, p.health(health, verdictText(one.Verdict)))
}

func verdictText(v inspect.Verdict) string {
	if v == inspect.Unknown {
		return "cannot know"
	}
	return string(v)
}

// placementNotes say why, and whose turn it is.
func placementNotes(one *inspect.Placement, name string, o TableOptions) []string {
	name = Safe(name)
	lines := wrap(fmt.Sprintf("%s: %s: %s", name, verdictText(one.Verdict), Safe(one.Message)), o.Width, "")
	if q := one.Position; q != nil && q.Of > 1 {
		text := fmt.Sprintf("%s: place %d of %d in ClusterQueue %s (%s)", name, q.Place, q.Of, Safe(q.ClusterQueue), q.Source)
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

// flavorLines are all flavors that were tried.
func flavorLines(t *inspect.Trace, o TableOptions) ([]string, error) {
	rows := &table{
		titles:  []string{"CONTEXT", "PODS", "FLAVOR", "RESOURCE", "ASKED", "FREE", "MOST", "VERDICT", ""},
		shrinks: []bool{true, true, true, true, false, false, false, false, false},
	}
	for i := range t.Placements {
		for _, f := range t.Placements[i].Flavors {
			for _, r := range f.Resources {
				rows.rows = append(rows.rows, []string{
					absentIfEmpty(t.Placements[i].Context), absentIfEmpty(f.PodSet), absentIfEmpty(f.Flavor), absentIfEmpty(r.Resource),
					r.Asked, r.Free, r.Most, verdictText(f.Verdict), Safe(f.Message),
				})
			}
		}
	}
	if len(rows.rows) == 0 {
		return nil, nil
	}
	return titled("Flavors tried", rows, o)
}
