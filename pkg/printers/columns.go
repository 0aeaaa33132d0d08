package printers

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// What stands in a cell that has nothing to tell, and in one of which it is not known.
const (
	none    = "-"
	unknown = "?"
)

// legible is how narrow a column of sentences may get.
const legible = 24

// TableOptions say how a table looks.
type TableOptions struct {
	// Contexts shows which context each Job comes from, Namespaces its namespace.
	Contexts, Namespaces bool
	// Kinds says that there may be objects of other kinds than Job, and shows of what
	// kind each is.
	Kinds bool
	// Owners shows the owner in a column; a grouped table has it in its header
	// rows instead.
	Owners bool
	// Labels are the labels that have columns of their own.
	Labels []string
	Wide   bool
	// Dispatchers shows who looks after each Job that is dispatched, in a wide table.
	Dispatchers bool
	// Evidence shows what each finding rests on, and Timeline all events of a trace.
	Evidence, Timeline bool
	// Compact shows findings without their fixes.
	Compact bool
	// Reasons shows where each Job is or what it waits for.
	Reasons bool

	NoHeaders bool
	Color     bool
	// Markdown writes GitHub Flavored Markdown, for tickets and pages.
	Markdown bool
	// Width is how wide the terminal is; 0 where the output is none.
	Width int
	// Height is how many lines are seen; what is behind these is not laid out, and there is
	// some line in place of each. 0 is all.
	Height int
	// Now is the time that ages are reckoned from, and NowOn what the clock of a context's
	// cluster shows then, by which it dates what it has; nil is for the same.
	Now   time.Time
	NowOn func(context string) time.Time
}

// since is how long ago something was that the cluster of a context has dated, for people.
// Where clocks are off by a second or two, it was just now.
func (o TableOptions) since(context string, t time.Time) string {
	return duration.HumanDuration(o.nowOn(context).Sub(t))
}

func (o TableOptions) nowOn(context string) time.Time {
	if o.NowOn == nil {
		return o.Now
	}
	return o.NowOn(context)
}

// column is a column of a table whose rows tell of values of one type. Every table of
// this package is a list of these.
type column[T any] struct {
	title string
	// cell makes the text of a row; it must be Safe, and may be styled.
	cell func(T) string
	// wide has it in the wide table alone, and absent in none: there is nothing to tell.
	wide, absent bool
	// shrinks says that its cells may take several lines where a terminal is too narrow.
	shrinks bool
	// least is how narrow it may get then, where that is more than usual.
	least int
	// keeps says that it stays on a narrow terminal even if every row says the same: names,
	// statuses, verdicts.
	keeps bool
	// marked says that its cells are Markdown, where that is written.
	marked bool
	// spare says that it may be left out where a terminal is too narrow even then, the
	// one with 1 first; 0 is never.
	spare int
}

// shown are those of the columns that a table has.
func shown[T any](columns []column[T], o TableOptions) []column[T] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[T]) bool { return c.absent || c.wide && !o.Wide })
}

// newTable makes a table with a row for each of some values.
func newTable[T any](columns []column[T], values []T, o TableOptions) *table {
	columns = shown(columns, o)
	t := &table{height: o.Height}
	for _, c := range columns {
		t.titles, t.shrinks = append(t.titles, c.title), append(t.shrinks, c.shrinks)
		t.least = append(t.least, max(shortest, len(c.title), c.least))
		t.keeps = append(t.keeps, c.keeps || c.title == "")
	}
	t.rows = func(yield func([]string) bool) {
		cells := make([]string, len(columns))
		for _, value := range values {
			for i, c := range columns {
				cells[i] = c.cell(value)
			}
			if !yield(cells) {
				return
			}
		}
	}
	bySpare := slices.SortedStableFunc(slices.Values(columns), func(a, b column[T]) int { return cmp.Compare(a.spare, b.spare) })
	for _, c := range bySpare {
		if c.spare > 0 {
			t.spare = append(t.spare, c.title)
		}
	}
	return t
}

// dimmed are columns whose cells are dim where they have nothing to tell.
func dimmed[T any](columns []column[T], p palette) []column[T] {
	dim := slices.Clone(columns)
	// There are few such texts, and tens of thousands of cells that have them.
	absent := map[string]string{none: p.absent(none), unknown: p.absent(unknown)}
	for i := range dim {
		cell := dim[i].cell
		dim[i].cell = func(value T) string {
			text := cell(value)
			if drawn, ok := absent[text]; ok {
				return drawn
			}
			return p.absent(text)
		}
	}
	return dim
}

// pointers are those to the elements of a list, which tables of large values have as rows.
func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
