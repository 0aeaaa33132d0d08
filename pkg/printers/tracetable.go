package printers

import (
	"io"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Traces writes a row for each mirror with its origin, and for each origin without a mirror, then
// what was not checked.
func Traces(w io.Writer, list *inspect.TraceList, o TableOptions) error {
	p := palette{o.Color}
	var rows []tracePair
	for i := range list.Items {
		rows = append(rows, pairsOf(&list.Items[i])...)
	}
	if o.Markdown {
		d := &document{}
		if err := addTable(d, pairColumns(o, rows), rows, o.forMarkdown()); err != nil {
			return err
		}
		d.addUnchecked(list.Unchecked)
		return d.write(w)
	}
	t := newTable(dimmed(pairColumns(o, rows), p), rows, o)
	lines, err := t.styledRows(o, p.bold)
	if err != nil {
		return err
	}
	if o.NoHeaders {
		return writeLines(w, lines...)
	}
	if len(rows) == 0 {
		lines = nil
	}
	lines = append(lines, t.notShown(o)...)
	unchecked := uncheckedLines(list.Unchecked, o)
	if len(unchecked) > 0 && len(rows) > 0 {
		lines = append(lines, "")
	}
	return writeLines(w, append(lines, unchecked...)...)
}

// tracePair is an origin with one of its mirrors; either may be missing.
type tracePair struct {
	origin *inspect.Job
	mirror *inspect.TraceMirror
	// known is the origin or, if that is unknown, a mirror.
	known *inspect.Job
}

// pairsOf returns the pairs of a trace, one if there is no mirror.
func pairsOf(t *inspect.Trace) []tracePair {
	if len(t.Mirrors) == 0 {
		return []tracePair{{origin: t.Origin, known: t.Origin}}
	}
	known := t.Origin
	if known == nil {
		known = &t.Mirrors[0].Job
	}
	pairs := make([]tracePair, len(t.Mirrors))
	for i := range t.Mirrors {
		pairs[i] = tracePair{t.Origin, &t.Mirrors[i], known}
	}
	return pairs
}

// ofOrigin returns the text for the origin, none without one.
func (r tracePair) ofOrigin(text func(*inspect.Job) string) string {
	if r.origin == nil {
		return none
	}
	return text(r.origin)
}

// ofMirror returns the text for the mirror. Without one, it is unknown unless the origin certainly has none.
func (r tracePair) ofMirror(text func(*inspect.TraceMirror) string) string {
	switch {
	case r.mirror != nil:
		return text(r.mirror)
	case mirror(r.origin) == none:
		return none
	}
	return unknown
}

// isOlder reports whether the mirror is that of an older origin of the same name.
func (r tracePair) isOlder() bool { return r.origin != nil && r.mirror != nil && !r.mirror.Current }

// pairColumns returns all columns of the table of pairs. CURRENT appears if a mirror is not that of the origin in
// its row.
func pairColumns(o TableOptions, rows []tracePair) []column[tracePair] {
	p := palette{o.Color}
	hasOlder := slices.ContainsFunc(rows, tracePair.isOlder)
	origin := func(text func(*inspect.Job) string) func(tracePair) string {
		return func(r tracePair) string { return r.ofOrigin(text) }
	}
	mirrored := func(text func(*inspect.TraceMirror) string) func(tracePair) string {
		return func(r tracePair) string { return r.ofMirror(text) }
	}
	return []column[tracePair]{
		{title: "CONTEXT", shrinks: true, cell: origin(func(j *inspect.Job) string { return Safe(j.Context) })},
		{title: "NAMESPACE", shrinks: true, cell: func(r tracePair) string { return Safe(r.known.Namespace) }},
		{title: "KIND", absent: !o.Kinds, shrinks: true, cell: func(r tracePair) string { return Safe(r.known.Kind) }},
		{title: "NAME", alwaysShown: true, shrinks: true, cell: func(r tracePair) string { return Safe(r.known.Name) }},
		{title: "STATUS", alwaysShown: true, cell: origin(func(j *inspect.Job) string { return p.status(j.Status) })},
		{title: "MIRROR", alwaysShown: true, shrinks: true, cell: func(r tracePair) string {
			if r.mirror == nil {
				return mirror(r.origin)
			}
			return Safe(r.mirror.Context)
		}},
		{title: "MIRROR-STATUS", dropRank: 3, cell: mirrored(func(m *inspect.TraceMirror) string { return p.status(m.Status) })},
		{title: "RELATION", dropRank: 1, cell: mirrored(func(m *inspect.TraceMirror) string { return string(m.Relation) })},
		{title: "IN-SYNC", cell: func(r tracePair) string {
			if r.origin == nil {
				return none
			}
			return r.ofMirror(inSync)
		}},
		{title: "AGE", dropRank: 2, cell: func(r tracePair) string { return o.since(r.known.Context, r.known.CreationTimestamp.Time) }},
		{title: "MANAGED-BY", wide: true, shrinks: true, cell: origin(func(j *inspect.Job) string { return Safe(string(j.ManagedBy)) })},
		{title: "CURRENT", unused: !hasOlder && !o.Wide, cell: mirrored(func(m *inspect.TraceMirror) string { return yesOrNo(m.Current) })},
		{title: "UID", wide: true, cell: origin(func(j *inspect.Job) string { return Safe(j.UID) })},
		{title: "MIRROR-UID", wide: true, cell: mirrored(func(m *inspect.TraceMirror) string { return Safe(m.UID) })},
	}
}

// inSync returns whether the origin shows the state of a mirror.
func inSync(m *inspect.TraceMirror) string {
	if m.Lag {
		return "lagging"
	}
	return yesOrNo(m.InStep)
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
