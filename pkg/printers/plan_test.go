package printers_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func somePlan(name string) *plan.Plan {
	return &plan.Plan{
		Mirror: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"name": name, "namespace": "ml", "labels": map[string]any{"jobmanagedby.github.io/origin-uid": "6f0c1f0e"}},
			"spec": map[string]any{
				"parallelism": int64(4), "future": map[string]any{"large": int64(9007199254740993), "none": nil, "octal": "0644", "yes": "on"},
			},
		}},
		Changes: []plan.Change{
			{Action: plan.Set, Field: "metadata.labels[jobmanagedby.github.io/origin-uid]", Value: "6f0c1f0e", Reason: "identifies the origin"},
			{Action: plan.Removed, Field: "metadata.uid"},
			{Action: plan.Removed, Field: "spec.managedBy", Value: "jobmanagedby.github.io/dispatch", Reason: "the worker's Job controller runs it"},
			{Action: plan.Kept, Field: "spec.suspend", Value: "true", Reason: "the mirror waits as long as the origin does"},
		},
		Warnings: []string{"the pods mount a PersistentVolumeClaim, whose data are not copied"},
	}
}

func nastyPlan() *plan.Plan {
	p := somePlan(evil)
	p.Mirror.SetNamespace(evil)
	p.Changes = []plan.Change{{Action: plan.Set, Field: evil, Value: "a\nkind: Secret", Reason: evil}}
	p.Warnings = []string{"b\n---\nkind: Secret"}
	return p
}

func objectFormat(t *testing.T, output string) *printers.Format {
	t.Helper()
	f, err := printers.NewObjectFormat(output, false)
	assert.NilError(t, err)
	return f
}

func TestPlans(t *testing.T) {
	one, two := []*plan.Plan{somePlan("train")}, []*plan.Plan{somePlan("train"), somePlan("test")}
	for _, tt := range []struct {
		name, output string
		plans        []*plan.Plan
		width        int
	}{
		{"one.yaml", "", one, 0},
		{"one-60.yaml", "wide", one, 60},
		{"several.yaml", "", two, 80},
		{"hostile.yaml", "", []*plan.Plan{nastyPlan(), somePlan("train")}, 80},
		{"one-yaml.yaml", "yaml", one, 0},
		{"several-yaml.yaml", "yaml", two, 0},
		{"one-json.json", "json", one, 0},
		{"several-json.json", "json", two, 0},
		{"name.txt", "name", append(two, nastyPlan()), 0},
		{"columns.txt", "custom-columns=NAME:.metadata.name,P:.spec.parallelism", append(two, nastyPlan()), 0},
		{"jsonpath.txt", "jsonpath={.metadata.name}{.spec.future.none}", one, 0},
		{"none.json", "json", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error {
				return printers.Plans(out, objectFormat(t, tt.output), tt.plans, printers.TableOptions{Width: tt.width, Color: true})
			})
			assert.Assert(t, !strings.ContainsAny(out, "\x1b\r\t"), "%q", out)
			golden.Assert(t, out, "plans-"+tt.name)
			for i, p := range tt.plans {
				assert.DeepEqual(t, p.Mirror.Object["spec"], somePlan("").Mirror.Object["spec"])
				assert.Assert(t, p.Mirror.GetName() != "", i)
			}
		})
	}
	assert.ErrorIs(t, printers.Plans(&full{}, objectFormat(t, ""), one, printers.TableOptions{}), errFull)
	assert.ErrorIs(t, printers.Plans(&full{}, objectFormat(t, "name"), one, printers.TableOptions{}), errFull)
}

// TestPlansAreManifests: the output for people can be given to kubectl again, and equals the
// plan.
func TestPlansAreManifests(t *testing.T) {
	nasty := nastyPlan()
	nasty.Mirror.SetName(strings.ToValidUTF8(evil, ""))
	nasty.Mirror.SetNamespace("ml")
	plans := []*plan.Plan{somePlan("train"), nasty, somePlan("test")}
	for _, output := range []string{"", "yaml", "kyaml", "json"} {
		out := printed(t, func(out *bytes.Buffer) error {
			return printers.Plans(out, objectFormat(t, output), plans, printers.TableOptions{Width: 80})
		})
		manifests, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(out))
		assert.NilError(t, err)
		assert.Equal(t, len(manifests), len(plans))
		for i, m := range manifests {
			want, err := json.Marshal(plans[i].Mirror)
			assert.NilError(t, err)
			got, err := json.Marshal(m.Object)
			assert.NilError(t, err)
			assert.Equal(t, string(got), string(want))
		}
	}
}

func TestReplacement(t *testing.T) {
	job := func(owner string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "train", "annotations": map[string]any{"evil": evil + "\n--- a\n+++ b"}},
			"spec": map[string]any{"managedBy": owner, "parallelism": int64(4)},
		}}
	}
	r := &recreate.Replacement{
		Old: job("example.com/a"), New: job("example.com/b"),
		Changes:  []plan.Change{{Action: plan.Kept, Field: "metadata.finalizers", Value: evil, Reason: "the user who set it may need it"}},
		Warnings: []string{"The Job is Complete: the new one runs its pods once more, from the start, whatever that may cost."},
	}
	for _, tt := range []struct {
		name    string
		options printers.TableOptions
	}{
		{"replacement.txt", printers.TableOptions{}},
		{"replacement-60.txt", printers.TableOptions{Width: 60}},
		{"replacement-color.txt", printers.TableOptions{Width: 60, Color: true}},
	} {
		var b bytes.Buffer
		assert.NilError(t, printers.Replacement(&b, r, "ml/train on "+evil+", now", "ml/train, recreated", tt.options))
		golden.Assert(t, b.String(), tt.name)
	}
}
