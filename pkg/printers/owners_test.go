package printers_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func onlyErrors() *inspect.OwnerList {
	list := inspect.NewOwnerList()
	list.Errors = contextErrors()
	return list
}

func TestOwners(t *testing.T) {
	for _, tt := range []struct {
		name    string
		list    *inspect.OwnerList
		options printers.TableOptions
	}{
		{"grouped", everyStatus(), printers.TableOptions{}},
		{"wide", everyStatus(), printers.TableOptions{Wide: true}},
		{"dispatchers", everyDispatcher(), printers.TableOptions{Wide: true, Dispatchers: true}},
		{"dispatchers-narrow", everyDispatcher(), printers.TableOptions{Dispatchers: true}},
		{"color", everyStatus(), printers.TableOptions{Wide: true, Color: true}},
		{"no-headers", everyStatus(), printers.TableOptions{NoHeaders: true}},
		{"no-headers-owners", everyStatus(), printers.TableOptions{NoHeaders: true, Owners: true}},
		{"contexts", severalContexts(), printers.TableOptions{Contexts: true, Namespaces: true}},
		{"contexts-color", severalContexts(), printers.TableOptions{Contexts: true, Namespaces: true, Color: true}},
		{"contexts-no-headers", severalContexts(), printers.TableOptions{Contexts: true, Namespaces: true, NoHeaders: true}},
		{"errors", onlyErrors(), printers.TableOptions{}},
		{"errors-no-headers", onlyErrors(), printers.TableOptions{NoHeaders: true}},
		{"empty", inspect.NewOwnerList(), printers.TableOptions{}},
		{"hostile", hostile(), printers.TableOptions{Contexts: true, Namespaces: true, Wide: true, Owners: true, Dispatchers: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			golden.Assert(t, visible(owners(t, tt.list, tt.options)), "owners-"+tt.name+".txt")
		})
	}
}

func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		name    string
		list    *inspect.OwnerList
		options printers.TableOptions
	}{
		{"all", everyStatus(), printers.TableOptions{}},
		{"narrow", everyStatus(), printers.TableOptions{Width: 80}},
		{"color", everyStatus(), printers.TableOptions{Color: true}},
		{"no-headers", everyStatus(), printers.TableOptions{NoHeaders: true}},
		{"contexts", severalContexts(), printers.TableOptions{Contexts: true, Namespaces: true}},
		{"errors", onlyErrors(), printers.TableOptions{}},
		{"empty", inspect.NewOwnerList(), printers.TableOptions{}},
		{"hostile", hostile(), printers.TableOptions{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			golden.Assert(t, visible(summary(t, tt.list, tt.options)), "summary-"+tt.name+".txt")
		})
	}
}

// TestColorDoesNotChangeLayout: colour adds no meaning to the text, and changes no positions.
func TestColorDoesNotChangeLayout(t *testing.T) {
	for _, list := range []*inspect.OwnerList{everyStatus(), severalContexts(), onlyErrors(), hostile()} {
		for _, o := range []printers.TableOptions{
			{}, {Wide: true}, {NoHeaders: true}, {Contexts: true, Namespaces: true, Owners: true}, {Width: 60},
		} {
			inColor := o
			inColor.Color = true
			for _, p := range []func(*testing.T, *inspect.OwnerList, printers.TableOptions) string{owners, summary} {
				plain, colored := p(t, list, o), p(t, list, inColor)
				assert.Assert(t, !strings.Contains(plain, "\x1b"), "color codes without Color")
				assert.Equal(t, ansi.Strip(colored), plain)
			}
		}
	}
}

// TestHostileTextsStayInCells: whatever a cluster sends, a table has one line per row and
// no characters that a terminal interprets.
func TestHostileTextsStayInCells(t *testing.T) {
	list := hostile()
	for name, out := range map[string]string{
		"owners":  owners(t, list, printers.TableOptions{Contexts: true, Namespaces: true, Wide: true, Owners: true}),
		"summary": summary(t, list, printers.TableOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range out {
				assert.Assert(t, r == '\n' || unicode.IsPrint(r), "%q is printed", r)
			}
			// The titles, a group's blank and header (or row), two Jobs, a
			// blank, the errors' header and one error.
			lines := map[string]int{"owners": 8, "summary": 5}[name]
			assert.Equal(t, strings.Count(out, "\n"), lines)
		})
	}
}

// full is a disk without free space.
type full struct{ space int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.space -= len(p); f.space < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTablesReportWriteErrors(t *testing.T) {
	list := severalContexts()
	for name, p := range map[string]func(space int) error{
		"owners":  func(space int) error { return printers.Owners(&full{space}, list, printers.TableOptions{Now: now}) },
		"summary": func(space int) error { return printers.Summary(&full{space}, list, printers.TableOptions{Now: now}) },
	} {
		t.Run(name, func(t *testing.T) {
			size := len(map[string]string{
				"owners": owners(t, list, printers.TableOptions{}), "summary": summary(t, list, printers.TableOptions{}),
			}[name])
			for space := range size {
				assert.ErrorIs(t, p(space), errFull, "with space for %d bytes", space)
			}
			assert.NilError(t, p(size))
		})
	}
}

// TestTablesDoNotChangeList: a table leaves the list unchanged, because a watch draws it again.
func TestTablesDoNotChangeList(t *testing.T) {
	list, untouched := hostile(), hostile()
	var out bytes.Buffer
	o := printers.TableOptions{Contexts: true, Namespaces: true, Owners: true, Wide: true, Width: 60, Color: true, Now: now}
	assert.NilError(t, printers.Owners(&out, list, o))
	assert.NilError(t, printers.Summary(&out, list, o))
	assert.DeepEqual(t, list, untouched)
}

// TestOwnersJSONMatchesKubectl: the output written one Job at a time equals that of
// kubectl's printer, with only visible characters.
func TestOwnersJSONMatchesKubectl(t *testing.T) {
	counted := everyStatus()
	for i := range counted.Items {
		counted.Items[i].Jobs = []*inspect.Job{}
	}
	misleading := listOf(newJob(`"jobs": []`, delegation.Owner(`"jobs": []`), delegation.Running))
	misleading.Errors = []inspect.ContextError{{Context: `"jobs": []`, Message: `"jobs": []`}}
	for name, list := range map[string]*inspect.OwnerList{
		"all": everyStatus(), "none": inspect.NewOwnerList(), "counted": counted, "hostile": hostile(), "misleading": misleading,
	} {
		var want bytes.Buffer
		assert.NilError(t, (&cliprinters.JSONPrinter{}).PrintObj(list, escape.JSONWriter(&want)))
		got := printed(t, func(out *bytes.Buffer) error { return newFormat(t, "json").PrintObject(out, list) })
		assert.Equal(t, got, want.String(), name)
	}
}

func TestStream(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options printers.TableOptions
		events  bool
		jobs    []inspect.Job
	}{
		{"rows", printers.TableOptions{}, false, someJobs()[:2]},
		{"color-is-left-out", printers.TableOptions{Color: true}, false, someJobs()[:2]},
		{"events", printers.TableOptions{}, true, someJobs()[:2]},
		{"wide", printers.TableOptions{Wide: true, Contexts: true, Namespaces: true}, true, someJobs()[:2]},
		{"no-headers", printers.TableOptions{NoHeaders: true}, false, someJobs()[:2]},
		{"hostile", printers.TableOptions{Contexts: true}, true, []inspect.Job{*hostile().Items[0].Jobs[0], *hostile().Items[0].Jobs[1]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Now = now
			var out bytes.Buffer
			s := printers.NewStream(&out, tt.options, tt.events)
			for i := range tt.jobs {
				assert.NilError(t, s.Write(inspect.Modified, &tt.jobs[i], tt.options))
			}
			assert.Equal(t, out.String(), "", "rows are laid out before they are flushed")
			assert.NilError(t, s.Flush())
			first := out.Len()
			// Later rows have no titles, and ages of their own time.
			tt.options.Now = now.Add(time.Hour)
			assert.NilError(t, s.Write(inspect.Added, &tt.jobs[0], tt.options))
			assert.NilError(t, s.Flush())
			assert.Assert(t, out.Len() > first)
			assert.Assert(t, !strings.ContainsAny(out.String(), "\x1b\r\t"), "%q", out.String())
			golden.Assert(t, out.String(), "stream-"+tt.name+".txt")
		})
	}
}

// TestStreamHasColumnsOfTable: a watch has the columns of a table without titles, so that scripts read both alike.
func TestStreamHasColumnsOfTable(t *testing.T) {
	for _, wide := range []bool{false, true} {
		o, j := printers.TableOptions{Now: now, NoHeaders: true, Wide: wide, Contexts: true, Namespaces: true}, someJobs()[0]
		var streamed, listed bytes.Buffer
		s := printers.NewStream(&streamed, o, false)
		assert.NilError(t, s.Write(inspect.Added, &j, o))
		assert.NilError(t, s.Flush())
		list := &inspect.OwnerList{Items: []inspect.OwnerGroup{{ManagedBy: j.ManagedBy, Jobs: []*inspect.Job{&j}}}}
		assert.NilError(t, printers.Owners(&listed, list, o))
		assert.DeepEqual(t, strings.Fields(streamed.String()), strings.Fields(listed.String()))
	}
}

// TestStreamKeepsColumns: rows that come one by one stay under the titles as long as they fit.
func TestStreamKeepsColumns(t *testing.T) {
	o := printers.TableOptions{Now: now}
	var out bytes.Buffer
	s := printers.NewStream(&out, o, false)
	for _, name := range []string{"a-rather-long-name", "short", "x"} {
		j := newJob(name, delegation.BuiltIn, delegation.Running)
		assert.NilError(t, s.Write(inspect.Added, &j, o))
		assert.NilError(t, s.Flush())
	}
	at := columnsOf(out.String(), "built-in")
	assert.Equal(t, len(at), 3)
	assert.DeepEqual(t, at[1:], at[:2])
	assert.Equal(t, at[0], columnsOf(out.String(), "MANAGED-BY")[0])
	assert.Equal(t, strings.Count(out.String(), "NAME"), 1)
}

func TestStreamReportsWriteErrors(t *testing.T) {
	o := printers.TableOptions{Now: now}
	s := printers.NewStream(&full{}, o, false)
	j := newJob("train", delegation.BuiltIn, delegation.Running)
	err := s.Write(inspect.Added, &j, o)
	if err == nil {
		err = s.Flush()
	}
	assert.ErrorIs(t, err, errFull)
}
