package chain

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Trace traces a pair of the inventory, without its answer, which package answer adds. A pair
// without an origin is an orphan. A pair without mirrors may be any Job.
func Trace(v *inspect.Inventory, p inspect.Pair) *inspect.Trace {
	t := Follow(v, p)
	t.Timeline = timelineOf(v, p)
	t.Life = lifeOf(v, p, t.Hops)
	for _, f := range v.Clusters {
		if ahead, ok := inspect.NoticeableSkew(f.ReportedSkew()); ok {
			t.Clocks = append(t.Clocks, inspect.ClockSkew{Context: f.Context, AheadSeconds: ahead, AtLeast: f.SkewProof != ""})
		}
	}
	t.Errors = v.Errors()
	if t.Origin != nil && t.Origin.Mirrors == nil && len(t.Errors) == 0 {
		t.Origin.Mirrors = t.Origin.NoMirrors()
	}
	return t
}

// Follow returns the part of a trace that its answer depends on, without the timeline.
func Follow(v *inspect.Inventory, p inspect.Pair) *inspect.Trace {
	t := brief(v, p)
	t.Hops = hopsOf(v, p, t)
	for _, m := range p.Mirrors {
		t.Differences = append(t.Differences, v.Differences(p.Origin, m)...)
	}
	return t
}

// Traces returns all pairs and orphans as traces without hops.
func Traces(v *inspect.Inventory) *inspect.TraceList {
	list := inspect.NewTraceList()
	for _, p := range v.Pairs.Pairs {
		if selects(v, p) {
			list.Items = append(list.Items, *brief(v, p))
		}
	}
	for _, orphan := range v.Pairs.Orphans {
		if p := inspect.OrphanPair(orphan); selects(v, p) {
			list.Items = append(list.Items, *brief(v, p))
		}
	}
	list.Errors = v.Errors()
	list.Unchecked = append(inspect.UncheckedOf(list.Errors), v.UnknownOrigins(func(j *inspect.Job) bool { return selects(v, inspect.OrphanPair(j)) })...)
	return list
}

// selects reports whether a pair matches the query's label selector: its origin does, or one of its
// mirrors.
func selects(v *inspect.Inventory, p inspect.Pair) bool {
	isSelected := func(j *inspect.Job) bool {
		f := v.Facts(j.Context)
		return f == nil || f.Selects(j)
	}
	return p.Origin != nil && isSelected(p.Origin) || slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool { return isSelected(m.Job) })
}

// brief returns a trace with what the pair itself shows.
func brief(v *inspect.Inventory, p inspect.Pair) *inspect.Trace {
	t := inspect.NewTrace()
	if p.Origin != nil {
		t.Origin = p.Origin.DeepCopy()
		if refs := p.MirrorRefs(); len(refs) > 0 {
			t.Origin.Mirrors = refs
		}
	}
	for _, m := range p.Mirrors {
		mirror := inspect.TraceMirror{Job: *m.Job.DeepCopy(), Relation: m.Relation, Current: m.Current, InStep: p.Origin != nil && m.Current}
		mirror.Mirrors = []inspect.Ref{}
		for _, d := range v.Differences(p.Origin, m) {
			if d.IsStatus() {
				mirror.InStep, mirror.Lag = d.Lag, d.Lag
			}
		}
		t.Mirrors = append(t.Mirrors, mirror)
	}
	return t
}

// KeepOrphans keeps only mirrors that certainly have no origin on the clusters that were read. It
// drops those whose origin is unknown because the cluster that may have it was not read.
func KeepOrphans(v *inspect.Inventory, l *inspect.TraceList) {
	lacksOrigin := map[string]bool{}
	for _, j := range v.Pairs.Orphans {
		lacksOrigin[j.UID] = v.LacksOrigin(j)
	}
	l.Items = slices.DeleteFunc(l.Items, func(t inspect.Trace) bool { return t.Origin != nil || !lacksOrigin[t.Mirrors[0].UID] })
}
