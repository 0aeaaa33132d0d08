package printers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// columnsOf returns, for each line with a word, the column of a terminal at which the word
// starts.
func columnsOf(out, word string) []int {
	var at []int
	for line := range strings.Lines(out) {
		if before, _, ok := strings.Cut(line, word); ok {
			at = append(at, lipgloss.Width(before))
		}
	}
	return at
}

func TestWideRunesStayAligned(t *testing.T) {
	list := listOf(
		newJob(wide, delegation.BuiltIn, delegation.Running),
		newJob("plain", delegation.BuiltIn, delegation.Running),
		newJob("combined-e\u0301", delegation.BuiltIn, delegation.Running),
		with(newJob("in-context", delegation.BuiltIn, delegation.Running), func(j *inspect.Job) { j.Context = wide }),
		newJob("job-"+evil, delegation.BuiltIn, delegation.Running),
	)
	for _, o := range []printers.TableOptions{
		{NoHeaders: true, Contexts: true},
		{NoHeaders: true, Contexts: true, Color: true},
		{NoHeaders: true, Contexts: true, Width: 64},
	} {
		out := owners(t, list, o)
		at := columnsOf(out, string(delegation.Running))
		assert.Equal(t, len(at), 5)
		for i := range at {
			assert.Equal(t, at[i], at[0], "line %d of\n%s", i, out)
		}
	}
}

func TestTitlesAreAlignedWithCells(t *testing.T) {
	out := owners(t, listOf(newJob(wide, delegation.BuiltIn, delegation.Running)), printers.TableOptions{Wide: true})
	for title, cell := range map[string]string{"STATUS": "Running ", "COMPLETIONS": "0/1", "KIND": "Job ", "UID": "uid-of-"} {
		assert.DeepEqual(t, columnsOf(out, title), columnsOf(out, cell))
	}
}

// TestWidth: lines fit into the terminal, and names are complete, if necessary on several lines.
func TestWidth(t *testing.T) {
	long := strings.Repeat("a-long-name-", 10)
	jobs := func(names ...string) *inspect.OwnerList {
		var all []inspect.Job
		for _, name := range names {
			all = append(all, with(newJob(name, delegation.BuiltIn, delegation.Unclaimed), func(j *inspect.Job) {
				j.Mirrors = []inspect.Ref{{Context: "west"}}
			}))
		}
		return listOf(all...)
	}
	for _, tt := range []struct {
		name    string
		list    *inspect.OwnerList
		options printers.TableOptions
	}{
		{"long names", jobs(long, "short"), printers.TableOptions{Width: 60}},
		{"long names in colour", jobs(long, "short"), printers.TableOptions{Width: 60, Color: true}},
		{"wide names", jobs(strings.Repeat(wide, 10), "short"), printers.TableOptions{Width: 60}},
		{"names that need escapes", jobs(strings.Repeat(evil, 5), "short"), printers.TableOptions{Width: 60}},
		{"several columns", jobs(long), printers.TableOptions{Width: 80, Contexts: true, Namespaces: true}},
		{"wide enough", jobs("short", "shorter"), printers.TableOptions{Width: 60}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := owners(t, tt.list, tt.options)
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				assert.Assert(t, lipgloss.Width(line) <= tt.options.Width, "%d wide: %s", lipgloss.Width(line), line)
			}
			assert.Assert(t, !strings.Contains(out, "…") && strings.Contains(out, string(delegation.Unclaimed)), out)
			if strings.Contains(tt.name, "long") {
				assert.Equal(t, strings.Count(out, "g"), 10, out)
			}
		})
	}
}

// TestWidthIsUsedCompletely: a table that just fits is the same as in a file; one that does not
// leaves out the optional columns first.
func TestWidthIsUsedCompletely(t *testing.T) {
	list := listOf(newJob(strings.Repeat("n", 40), delegation.BuiltIn, delegation.Running))
	whole := owners(t, list, printers.TableOptions{NoHeaders: true})
	width := lipgloss.Width(strings.TrimSuffix(whole, "\n"))
	assert.Equal(t, owners(t, list, printers.TableOptions{NoHeaders: true, Width: width}), whole)
	fields := strings.Fields(whole)
	assert.DeepEqual(t, strings.Fields(owners(t, list, printers.TableOptions{NoHeaders: true, Width: width - 1})), slices.Delete(fields, 4, 5))
}

// TestSameColumns: columns with the same value in every row are dropped first, except names,
// statuses and unknown values.
func TestSameColumns(t *testing.T) {
	list := listOf(newJob("first", delegation.MultiKueue, delegation.Running), newJob("second", delegation.MultiKueue, delegation.Running))
	titles := func(width int) []string {
		line, _, _ := strings.Cut(owners(t, list, printers.TableOptions{Contexts: true, Namespaces: true, Width: width}), "\n")
		return strings.Fields(line)
	}
	assert.DeepEqual(t, titles(200), []string{"CONTEXT", "NAMESPACE", "NAME", "STATUS", "COMPLETIONS", "DURATION", "MIRROR", "AGE"})
	whole, _, _ := strings.Cut(owners(t, list, printers.TableOptions{Contexts: true, Namespaces: true}), "\n")
	assert.DeepEqual(t, titles(len(whole)-1), []string{"NAMESPACE", "NAME", "STATUS", "COMPLETIONS", "DURATION", "MIRROR", "AGE"})
	assert.DeepEqual(t, titles(28), []string{"NAME", "STATUS", "MIRROR", "AGE"})
}

// TestReasonsWrap: a reason is complete at any width: behind its Job, in several lines, or below
// it.
func TestReasonsWrap(t *testing.T) {
	const why = "needs 8 nvidia.com/gpu, limit 4 (flavor a100), on each of the workers"
	list := listOf(with(newJob("sweep", delegation.MultiKueue, delegation.Suspended), func(j *inspect.Job) { j.Message = new(why) }))
	for _, width := range []int{40, 60, 80, 120, 200} {
		out := owners(t, list, printers.TableOptions{Reasons: true, Width: width})
		assert.Assert(t, !strings.Contains(out, "…"), out)
		words := strings.Join(strings.Fields(out), " ")
		for _, word := range strings.Fields(why) {
			assert.Assert(t, strings.Contains(words, word), "%s in %d: %s", word, width, out)
		}
	}
	narrow := owners(t, list, printers.TableOptions{Reasons: true, Width: 40})
	assert.Assert(t, strings.Contains(narrow, "\n    needs 8 nvidia.com/gpu, limit 4"), narrow)
}

// TestNoLineIsWider: no line is wider than the terminal, however many columns are asked for.
func TestNoLineIsWider(t *testing.T) {
	for _, o := range []printers.TableOptions{
		{Contexts: true, Namespaces: true, Kinds: true, Wide: true, Dispatchers: true},
		{Contexts: true, Namespaces: true, Owners: true, Color: true},
		{Contexts: true, Namespaces: true, Wide: true},
	} {
		for width := 20; width < 200; width++ {
			o.Width = width
			for line := range strings.Lines(owners(t, severalKinds(), o)) {
				line = strings.TrimSuffix(line, "\n")
				assert.Assert(t, lipgloss.Width(line) <= width, "%d wide in %d: %q", lipgloss.Width(line), width, line)
			}
		}
	}
}

func TestSummaryWidth(t *testing.T) {
	list := listOf(newJob("j", delegation.Owner("example.com/"+strings.Repeat("o", 60)), delegation.Running))
	out := summary(t, list, printers.TableOptions{Width: 40})
	for line := range strings.Lines(out) {
		assert.Assert(t, lipgloss.Width(strings.TrimSuffix(line, "\n")) <= 40, line)
	}
	assert.Assert(t, strings.Contains(out, "example.com/o") && strings.Count(out, "o") > 60, out)
}

// TestSummaryKeepsCounts checks that a number and its status are never on two lines.
func TestSummaryKeepsCounts(t *testing.T) {
	var jobs []inspect.Job
	for _, s := range delegation.Statuses() {
		jobs = append(jobs, newJob(string(s), delegation.MultiKueue, s))
	}
	for _, color := range []bool{false, true} {
		for width := 45; width < 110; width++ {
			o := printers.TableOptions{Width: width, Color: color}
			if !strings.Contains(summary(t, listOf(jobs...), o), "STATUS") {
				continue
			}
			out := ansi.Strip(summary(t, listOf(jobs...), o))
			for _, s := range delegation.Statuses() {
				assert.Assert(t, strings.Contains(out, "1 "+string(s)), "%s at width %d:\n%s", s, width, out)
			}
		}
		for width := 30; width < 110; width++ {
			out := ansi.Strip(owners(t, listOf(jobs...), printers.TableOptions{Width: width, Color: color}))
			for _, s := range delegation.Statuses() {
				assert.Assert(t, strings.Contains(out, "1 "+string(s)), "%s at width %d:\n%s", s, width, out)
			}
		}
	}
}

// TestAgesUseClusterClocks: ages are counted by the clock of the object's cluster, which dated it,
// and not by ours, which may be behind.
func TestAgesUseClusterClocks(t *testing.T) {
	list := listOf(with(newJob("young", delegation.BuiltIn, delegation.Running), func(j *inspect.Job) {
		j.CreationTimestamp, j.StartTime = *ago(-58 * time.Minute), ago(-59*time.Minute)
	}))
	ahead := func(context string) time.Time {
		assert.Equal(t, context, "hub")
		return now.Add(time.Hour)
	}
	row := strings.Fields(owners(t, list, printers.TableOptions{NoHeaders: true, NowOn: ahead}))
	assert.DeepEqual(t, row, []string{"young", "built-in", "Running", "0/1", "60s", "-", "2m"})
}

// TestNoAgeFromFuture checks that times in the future, by a clock that is hours ahead, have no age.
func TestNoAgeFromFuture(t *testing.T) {
	job := with(newJob("young", delegation.BuiltIn, delegation.Running), func(j *inspect.Job) {
		j.CreationTimestamp, j.StartTime = *ago(-3 * time.Hour), ago(-3*time.Hour)
	})
	row := strings.Fields(owners(t, listOf(job), printers.TableOptions{NoHeaders: true, Now: now}))
	assert.DeepEqual(t, row, []string{"young", "built-in", "Running", "0/1", "-", "-", "-"})
	var out strings.Builder
	trace := &inspect.Trace{Origin: &job, State: inspect.StateRunning, Since: ago(-3 * time.Hour)}
	trace.Findings = []inspect.Finding{{Code: "JM041", Kind: "Job", Namespace: "ml", Name: "young", Message: "it waits", Since: ago(-3 * time.Hour)}}
	assert.NilError(t, printers.Trace(&out, trace, printers.TableOptions{Now: now}))
	assert.Assert(t, !strings.Contains(out.String(), "invalid") && !strings.Contains(out.String(), "()"), out.String())
}
