package printers_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

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
