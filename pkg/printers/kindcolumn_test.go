package printers_test

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// ofKind returns an object of a kind other than Job.
func ofKind(apiVersion, kind, name string, owner delegation.Owner, status delegation.Status) inspect.Job {
	return with(newJob(name, owner, status), func(j *inspect.Job) {
		j.APIVersion, j.Kind, j.Completions, j.Parallelism = apiVersion, kind, nil, nil
	})
}

func severalKinds() *inspect.OwnerList {
	return listOf(
		ofKind("jobset.x-k8s.io/v1alpha2", "JobSet", "train", delegation.MultiKueue, delegation.Running),
		ofKind("kubeflow.org/v1", "PyTorchJob", "train-with-a-name-that-is-long", delegation.MultiKueue, delegation.Terminating),
		newJob("train", delegation.BuiltIn, delegation.Complete),
	)
}

func severalFindings() *inspect.FindingList {
	list := inspect.NewFindingList()
	finding := inspect.Finding{Code: "JM101", Severity: inspect.Error, Context: "hub", Namespace: "batch", Message: "no controller picked it up", Evidence: []string{"seen"}, Remedy: "do"}
	for _, object := range []struct{ apiVersion, kind, namespace, name string }{
		{"batch/v1", "Job", "batch", "train"},
		{"jobset.x-k8s.io/v1alpha2", "JobSet", "batch", "train"},
		{"kueue.x-k8s.io/v1beta2", "MultiKueueCluster", "", "west"},
		{"kueue.x-k8s.io/v1beta2", "LocalQueue", "batch", "train"},
	} {
		f := finding
		f.APIVersion, f.Kind, f.Namespace, f.Name = object.apiVersion, object.kind, object.namespace, object.name
		f.Jobs = []inspect.Ref{{Context: "hub", Namespace: "batch", Name: "train"}}
		list.Items = append(list.Items, f)
	}
	return list
}

func severalTraces() *inspect.TraceList {
	list := inspect.NewTraceList()
	jobs := severalKinds().All()
	mirror := inspect.TraceMirror{Job: *jobs[0], Relation: inspect.ByMultiKueue, Current: true, InStep: true}
	mirror.Context = "a-context-with-a-name-that-is-long"
	list.Items = []inspect.Trace{
		{Origin: jobs[0], Mirrors: []inspect.TraceMirror{mirror}},
		{Origin: jobs[1]},
		{Mirrors: []inspect.TraceMirror{mirror}},
	}
	return list
}

func TestKindColumnForSeveralKinds(t *testing.T) {
	everywhere := printers.TableOptions{Kinds: true, Contexts: true, Namespaces: true, Now: now}
	narrow, wide := everywhere, everywhere
	narrow.Width, wide.Wide = 80, true
	for name, show := range map[string]func(*bytes.Buffer) error{
		"owners": func(out *bytes.Buffer) error {
			return printers.Owners(out, severalKinds(), printers.TableOptions{Kinds: true, Now: now})
		},
		"owners-80":   func(out *bytes.Buffer) error { return printers.Owners(out, severalKinds(), narrow) },
		"owners-wide": func(out *bytes.Buffer) error { return printers.Owners(out, severalKinds(), wide) },
		"summary":     func(out *bytes.Buffer) error { return printers.Summary(out, severalKinds(), everywhere) },
		"findings":    func(out *bytes.Buffer) error { return printers.Findings(out, severalFindings(), everywhere) },
		"findings-80": func(out *bytes.Buffer) error { return printers.Findings(out, severalFindings(), narrow) },
		"findings-of-jobs": func(out *bytes.Buffer) error {
			return printers.Findings(out, severalFindings(), printers.TableOptions{Now: now})
		},
		"traces":      func(out *bytes.Buffer) error { return printers.Traces(out, severalTraces(), everywhere) },
		"traces-80":   func(out *bytes.Buffer) error { return printers.Traces(out, severalTraces(), narrow) },
		"traces-wide": func(out *bytes.Buffer) error { return printers.Traces(out, severalTraces(), wide) },
		"traces-of-jobs": func(out *bytes.Buffer) error {
			return printers.Traces(out, severalTraces(), printers.TableOptions{Now: now})
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := printed(t, show)
			golden.Assert(t, out, "kindcolumn-"+name+".txt")
			for line := range strings.Lines(out) {
				width := lipgloss.Width(strings.TrimSuffix(line, "\n"))
				assert.Assert(t, !strings.HasSuffix(name, "-80") || width <= 80, "%d wide: %s", width, line)
			}
		})
	}
}

// TestOlderMirror checks that the table of pairs shows by itself that a mirror is not that of the origin in its row,
// and what is unknown of mirrors that were not read.
func TestOlderMirror(t *testing.T) {
	list := severalTraces()
	list.Items = append(list.Items, list.Items[0])
	list.Items[0].Mirrors = []inspect.TraceMirror{list.Items[0].Mirrors[0]}
	list.Items[0].Mirrors[0].Current, list.Items[0].Mirrors[0].InStep = false, false
	read, unread, none := *list.Items[1].Origin, *list.Items[1].Origin, *list.Items[1].Origin
	read.Mirrors, unread.Mirrors, none.Mirrors = []inspect.Ref{{Context: "w"}}, nil, []inspect.Ref{}
	list.Items = append(list.Items, inspect.Trace{Origin: &read}, inspect.Trace{Origin: &unread}, inspect.Trace{Origin: &none})
	out := &bytes.Buffer{}
	assert.NilError(t, printers.Traces(out, list, printers.TableOptions{Now: now}))
	golden.Assert(t, out.String(), "traces-older.txt")
}

// TestColumnsAreDroppedOnlyIfThatHelps: columns are left out only if that helps.
func TestColumnsAreDroppedOnlyIfThatHelps(t *testing.T) {
	o := printers.TableOptions{Kinds: true, Contexts: true, Namespaces: true}
	has := func(width int, title string) bool {
		o.Width = width
		titles, _, _ := strings.Cut(owners(t, severalKinds(), o), "\n")
		return strings.Contains(titles, title)
	}
	assert.Assert(t, has(0, "COMPLETIONS") && has(200, "COMPLETIONS") && has(95, "COMPLETIONS"))
	assert.Assert(t, !has(64, "COMPLETIONS") && has(64, "MIRROR"))
	assert.Assert(t, !has(20, "COMPLETIONS"))
}
