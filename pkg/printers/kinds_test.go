package printers_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// servedKinds returns a kind for each form of a cell.
func servedKinds() *inspect.KindList {
	list := inspect.NewKindList()
	builtIn := inspect.KindOwner{ManagedBy: delegation.BuiltIn, BuiltIn: true, Count: 12}
	multiKueue := inspect.KindOwner{ManagedBy: delegation.MultiKueue, Count: 3}
	list.Items = []inspect.ServedKind{
		{
			Kind: "Job", APIVersion: "batch/v1", Resource: "jobs.batch", ManagedBy: "spec.managedBy", Reserved: "kubernetes.io/job-controller",
			Change: delegation.Never, Since: "Kubernetes v1.32", Owners: []inspect.KindOwner{multiKueue, builtIn},
		},
		{
			Kind: "CronJob", APIVersion: "batch/v1", Resource: "cronjobs.batch", ManagedBy: "spec.jobTemplate.spec.managedBy", Template: true,
			Reserved: "kubernetes.io/job-controller", Change: delegation.Always, Since: "Kubernetes v1.32", Owners: []inspect.KindOwner{},
		},
		{
			Kind: "TrainJob", APIVersion: "trainer.kubeflow.org/v1alpha1", Resource: "trainjobs.trainer.kubeflow.org", ManagedBy: "spec.managedBy",
			Allowed:  []delegation.Owner{"trainer.kubeflow.org/trainjob-controller", delegation.MultiKueue},
			Reserved: "trainer.kubeflow.org/trainjob-controller", Defaulted: true, Change: delegation.Never, Since: "Kubeflow Trainer v2.3.0",
		},
		{Kind: "RayJob", APIVersion: "ray.io/v1alpha1", Resource: "rayjobs.ray.io", Change: delegation.WhileSet, Since: "KubeRay v1.3.0"},
		{
			Kind: "Widget", APIVersion: "example.com/v1", Resource: "widgets.example.com", ManagedBy: "spec.runPolicy.managedBy",
			Change: delegation.Always, Discovered: true, Owners: []inspect.KindOwner{builtIn},
		},
	}
	for i := range list.Items {
		list.Items[i].Context = "hub"
	}
	return list
}

func hostileKinds() *inspect.KindList {
	list := inspect.NewKindList()
	list.Items = []inspect.ServedKind{{
		Context: "context-" + evil, Kind: "kind-" + evil, APIVersion: "version-" + evil, Resource: "resource-" + evil, ManagedBy: "field-" + evil,
		Allowed: []delegation.Owner{"allowed-" + evil}, Reserved: "reserved-" + evil, Change: "change-" + evil, Since: "since-" + evil,
		Owners: []inspect.KindOwner{{ManagedBy: "owner-" + evil, Count: 1}},
	}}
	return list
}

func printKinds(t *testing.T, list *inspect.KindList, o printers.TableOptions) string {
	t.Helper()
	return printed(t, func(out *bytes.Buffer) error { return printers.Kinds(out, list, o) })
}

func TestKinds(t *testing.T) {
	failed := servedKinds()
	failed.Errors = contextErrors()
	onlyFailed := inspect.NewKindList()
	onlyFailed.Errors = contextErrors()
	for _, tt := range []struct {
		name    string
		list    *inspect.KindList
		options printers.TableOptions
	}{
		{"table", servedKinds(), printers.TableOptions{}},
		{"wide", servedKinds(), printers.TableOptions{Wide: true}},
		{"contexts", failed, printers.TableOptions{Contexts: true}},
		{"no-headers", failed, printers.TableOptions{Contexts: true, NoHeaders: true, Width: 80}},
		{"color", failed, printers.TableOptions{Contexts: true, Color: true}},
		{"80", servedKinds(), printers.TableOptions{Width: 80}},
		{"80-wide", servedKinds(), printers.TableOptions{Width: 80, Wide: true}},
		{"80-contexts", failed, printers.TableOptions{Width: 80, Contexts: true}},
		{"80-color", servedKinds(), printers.TableOptions{Width: 80, Color: true}},
		{"errors", onlyFailed, printers.TableOptions{Contexts: true}},
		{"empty", inspect.NewKindList(), printers.TableOptions{}},
		{"hostile", hostileKinds(), printers.TableOptions{Contexts: true, Wide: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := printKinds(t, tt.list, tt.options)
			golden.Assert(t, visible(out), "kinds-"+tt.name+".txt")
			for line := range strings.Lines(out) {
				width := lipgloss.Width(strings.TrimSuffix(line, "\n"))
				assert.Assert(t, tt.options.Width == 0 || tt.options.NoHeaders || width <= tt.options.Width, "%d wide: %s", width, line)
			}
		})
	}
}

func TestKindsInColorAndHostile(t *testing.T) {
	for _, list := range []*inspect.KindList{servedKinds(), hostileKinds()} {
		for _, o := range []printers.TableOptions{{Contexts: true}, {Wide: true}, {Width: 80}, {Width: 80, Wide: true, Contexts: true}} {
			plain := printKinds(t, list, o)
			for _, r := range plain {
				assert.Assert(t, r == '\n' || unicode.IsPrint(r), "%q is printed", r)
			}
			o.Color = true
			assert.Equal(t, ansi.Strip(printKinds(t, list, o)), plain)
		}
	}
}

func TestPrintKinds(t *testing.T) {
	several := servedKinds().Items
	several = append(several, several[0])
	for name, output := range map[string]string{
		"name": "name", "custom-columns": "custom-columns=KIND:.kind,FIELD:.managedBy,OWNERS:.owners[*].managedBy",
	} {
		t.Run(name, func(t *testing.T) {
			format, err := printers.NewFormat(nil, output, false)
			assert.NilError(t, err)
			golden.Assert(t, printed(t, func(out *bytes.Buffer) error { return format.PrintKinds(out, several) }), "kinds-"+name+".txt")
		})
	}
	format, err := printers.NewFormat(nil, "json", false)
	assert.NilError(t, err)
	golden.Assert(t, printed(t, func(out *bytes.Buffer) error { return format.PrintObject(out, servedKinds()) }), "kinds.json")
}
