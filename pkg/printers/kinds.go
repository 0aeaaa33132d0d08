package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Kinds writes a row for each kind. On a narrow terminal, the allowed values of the field and the
// number of objects of each owner are below the row.
func Kinds(w io.Writer, list *inspect.KindList, o TableOptions) error {
	if o.Markdown {
		return tableMarkdown(w, slices.Concat(kindColumns(o), kindDetailColumns()), pointers(list.Items), list.Errors, o)
	}
	p, kinds := palette{o.Color}, pointers(list.Items)
	rows, err := newTable(dimmed(slices.Concat(kindColumns(o), kindDetailColumns()), p), kinds, o).layout(0)
	if err != nil {
		return err
	}
	isBelow := o.Width > 0 && widest(rows) > o.Width && !o.NoHeaders
	var below []string
	if isBelow {
		t := newTable(dimmed(kindColumns(o), p), kinds, o)
		if rows, err = t.layout(o.Width); err != nil {
			return err
		}
		below = t.notShown(o)
	}
	if err := writeRows(w, rows, nil, o, func(i int) string {
		if !isBelow {
			return ""
		}
		return kindDetails(&list.Items[i], o)
	}, p.dim); err != nil || o.NoHeaders {
		return err
	}
	if err := writeLines(w, below...); err != nil {
		return err
	}
	return writeErrors(w, list.Errors, len(kinds) > 0, o)
}

// kindColumns returns the columns that every row has.
func kindColumns(o TableOptions) []column[*inspect.ServedKind] {
	return []column[*inspect.ServedKind]{
		{title: "CONTEXT", shrinks: true, absent: !o.Contexts, cell: func(k *inspect.ServedKind) string { return Safe(k.Context) }},
		{title: "KIND", alwaysShown: true, shrinks: true, cell: func(k *inspect.ServedKind) string { return Safe(k.Kind) }},
		{title: "APIVERSION", shrinks: true, cell: func(k *inspect.ServedKind) string { return Safe(k.APIVersion) }},
		{title: "FIELD", shrinks: true, cell: func(k *inspect.ServedKind) string { return absentIfEmpty(k.ManagedBy) }},
	}
}

// kindDetailColumns returns the columns that become text below the row on a narrow terminal.
func kindDetailColumns() []column[*inspect.ServedKind] {
	return []column[*inspect.ServedKind]{
		{title: "ALLOWED", cell: func(k *inspect.ServedKind) string { return allowed(k, ",") }},
		{title: "OBJECTS", cell: func(k *inspect.ServedKind) string { return owned(k, "%[2]s=%[1]d", ",") }},
		{title: "RESERVED", wide: true, cell: func(k *inspect.ServedKind) string { return absentIfEmpty(k.Reserved) }},
		{title: "CHANGE", wide: true, cell: change},
		{title: "KNOWN-BY", wide: true, cell: knownBy},
		// Cells of this column have blanks, so the column comes last.
		{title: "SINCE", wide: true, cell: func(k *inspect.ServedKind) string { return absentIfEmpty(k.Since) }},
	}
}

// allowed returns the values that the field may have.
func allowed(k *inspect.ServedKind, separator string) string {
	switch {
	case k.ManagedBy == "":
		return none
	case len(k.Allowed) == 0:
		return "any"
	}
	values := make([]string, len(k.Allowed))
	for i, value := range k.Allowed {
		values[i] = Safe(string(value))
	}
	return strings.Join(values, separator)
}

// owned returns the number of objects of each owner. The arguments of the format are the number
// and the owner.
func owned(k *inspect.ServedKind, format, separator string) string {
	switch {
	case k.ManagedBy == "":
		return none
	case k.Owners == nil:
		return unknown
	case len(k.Owners) == 0:
		return "0"
	}
	counts := make([]string, len(k.Owners))
	for i, o := range k.Owners {
		counts[i] = fmt.Sprintf(format, o.Count, Safe(string(o.ManagedBy)))
	}
	return strings.Join(counts, separator)
}

// change returns whether the field can be changed.
func change(k *inspect.ServedKind) string {
	if k.ManagedBy == "" {
		return none
	}
	return absentIfEmpty(string(k.Change))
}

// knownBy returns the source from which the kind is known.
func knownBy(k *inspect.ServedKind) string {
	if k.Discovered {
		return "schema"
	}
	return "table"
}

// kindDetails returns in words what has no column.
func kindDetails(k *inspect.ServedKind, o TableOptions) string {
	var parts []string
	if k.ManagedBy == "" {
		parts = append(parts, "served without the field")
	} else {
		parts = append(parts, "objects: "+owned(k, "%d %s", ", "), "allowed: "+allowed(k, ", "))
	}
	if o.Wide {
		for _, c := range kindDetailColumns() {
			if cell := c.cell(k); c.wide && cell != none {
				parts = append(parts, strings.ToLower(c.title)+": "+cell)
			}
		}
	}
	return strings.Join(parts, "; ")
}

// PrintKinds writes kinds one after the other, in a format that IsPerJob: their names
// as --kinds takes them, or columns. These are types, not objects, so each name has one line.
func (f *Format) PrintKinds(w io.Writer, kinds []inspect.ServedKind) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(kinds))
	}
	var names []string
	for i := range kinds {
		if name := Safe(kinds[i].Resource); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return writeLines(w, names...)
}
