package dispatch_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// planInto are the options of most tests.
var planInto = dispatch.PlanOptions{Owner: delegation.Dispatch, OriginCluster: "cluster-1"}

// originUID is the uid of originJob.
const originUID = "6f0c1f0e-0d5e-4e0c-9c57-2f6d7d7a2b11"

func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	assert.NilError(t, err)
	u := &unstructured.Unstructured{}
	assert.NilError(t, u.UnmarshalJSON(data))
	return u
}

// originJob is a Job of everything, as a server stores it.
func originJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "plan-origin.yaml"))
	assert.NilError(t, err)
	return edited(t, fromYAML(t, string(text)), edits...)
}

// smallJob is what a user writes into a file.
func smallJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return edited(t, fromYAML(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: small, namespace: ml}
spec:
  managedBy: jobmanagedby.github.io/dispatch
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "registry.example/batch:1"}
`), edits...)
}

// edit sets the field at a path with dots; nil removes it. A part that has dots
// itself stands in brackets.
type edit struct {
	path  string
	value any
}

func edited(t *testing.T, job *unstructured.Unstructured, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	job = job.DeepCopy()
	for _, e := range edits {
		path := pathOf(e.path)
		if e.value == nil {
			unstructured.RemoveNestedField(job.Object, path...)
			continue
		}
		value := e.value
		if text, ok := value.(string); ok && strings.HasPrefix(text, "yaml:") {
			value = nil
			assert.NilError(t, yaml.Unmarshal([]byte(strings.TrimPrefix(text, "yaml:")), &value))
			value = integers(value)
		}
		assert.NilError(t, unstructured.SetNestedField(job.Object, value, path...))
	}
	return job
}

// integers gives numbers the type that the Kubernetes decoders give them.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return value
}

func pathOf(text string) []string {
	var path []string
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "["); ok {
			key, after, _ := strings.Cut(rest, "]")
			path, text = append(path, key), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			return append(path, text)
		}
		path, text = append(path, text[:end]), strings.TrimPrefix(text[end:], ".")
	}
	return path
}

func at(job *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(job.Object, pathOf(path)...)
	return value
}

func planFor(t *testing.T, origin *unstructured.Unstructured, o dispatch.PlanOptions) *dispatch.Plan {
	t.Helper()
	before := origin.DeepCopy()
	plan, err := dispatch.NewPlan(origin, o)
	assert.NilError(t, err)
	assert.Assert(t, equality.Semantic.DeepEqual(origin, before))
	return plan
}

// planText is a plan in a form that reads well.
func planText(t *testing.T, plan *dispatch.Plan) string {
	t.Helper()
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, c := range plan.Changes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Action, c.Field, c.Value, c.Reason)
	}
	assert.NilError(t, w.Flush())
	for _, warning := range plan.Warnings {
		fmt.Fprintln(&out, "warning:", warning)
	}
	mirror, err := yaml.Marshal(plan.Mirror.Object)
	assert.NilError(t, err)
	return out.String() + "---\n" + string(mirror)
}

// TestPlan shows the plan of a Job that has everything, and of what is in its file.
func TestPlan(t *testing.T) {
	golden.Assert(t, planText(t, planFor(t, originJob(t), planInto)), "plan-origin.golden")
	golden.Assert(t, planText(t, planFor(t, smallJob(t), planInto)), "plan-file.golden")
}

// change finds what a plan tells of a field.
func change(plan *dispatch.Plan, field string) string {
	for _, c := range plan.Changes {
		if c.Field == field {
			return string(c.Action) + " " + c.Value
		}
	}
	return ""
}

func TestBind(t *testing.T) {
	const field = "metadata.labels[jobmanagedby.github.io/origin-uid]"
	plan := planFor(t, smallJob(t), planInto)
	assert.Equal(t, change(plan, field), "")
	plan.Bind("")
	assert.Equal(t, change(plan, field), "")
	for _, uid := range []string{"u1", "u2"} {
		plan.Bind(uid)
		assert.Equal(t, change(plan, field), "set "+uid)
		assert.DeepEqual(t, plan.Mirror.GetLabels(), map[string]string{delegation.OriginUIDLabel: uid})
	}
	assert.Equal(t, strings.Count(planText(t, plan), field), 1)
	// The plan that is made of the origin once it is stored is the same.
	stored := planFor(t, asStored(t, smallJob(t), "u2"), planInto)
	assert.DeepEqual(t, stored.Mirror.GetLabels(), plan.Mirror.GetLabels())
}

func TestPlanMarks(t *testing.T) {
	plan := planFor(t, originJob(t), planInto)
	marks := delegation.MarksOf(plan.Mirror.GetLabels(), plan.Mirror.GetAnnotations())
	assert.DeepEqual(t, marks, &delegation.Marks{
		OriginUID: originUID, Origin: delegation.Place{ClusterUID: "cluster-1", Namespace: "ml", Name: "train-28391"},
	})
	// In another namespace the origin is still where it is.
	elsewhere := planInto
	elsewhere.Namespace = "other"
	plan = planFor(t, originJob(t), elsewhere)
	assert.Equal(t, plan.Mirror.GetNamespace(), "other")
	assert.Equal(t, plan.Mirror.GetAnnotations()[delegation.OriginAnnotation], "cluster-1/ml/train-28391")
	assert.Equal(t, change(plan, "metadata.namespace"), "set other")
	// A cluster that is not known is not written down.
	plan = planFor(t, originJob(t), dispatch.PlanOptions{})
	_, there := plan.Mirror.GetAnnotations()[delegation.OriginAnnotation]
	assert.Assert(t, !there)
	assert.DeepEqual(t, plan.Warnings, []string{
		"The identity of the origin's cluster could not be read, so the mirror does not say where its origin is, only its uid.",
	})
}
