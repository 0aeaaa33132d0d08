package plan_test

import (
	"bytes"
	"fmt"
	"testing"
	"text/tabwriter"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// into are the options of most tests.
var into = plan.Options{Context: "management", Owner: delegation.Dispatch, OriginCluster: delegation.Cluster{UID: "cluster-1"}}

// originUID is the UID of originJob.
const originUID = "6f0c1f0e-0d5e-4e0c-9c57-2f6d7d7a2b11"

func originJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return edited(t, dispatchtest.OriginJob(t), edits...)
}

// neverDispatched are the edits of an originJob that is in no queue, and has no mirror.
func neverDispatched(edits ...edit) []edit {
	return append([]edit{{"metadata.labels[kueue.x-k8s.io/queue-name]", nil}, {"metadata.annotations[jobmanagedby.github.io/mirror]", nil}}, edits...)
}

func smallJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return edited(t, dispatchtest.SmallJob(t), edits...)
}

// edit sets a field; see dispatchtest.Set.
type edit struct {
	path  string
	value any
}

func edited(t *testing.T, job *unstructured.Unstructured, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	job = job.DeepCopy()
	for _, e := range edits {
		dispatchtest.Set(t, job, e.path, e.value)
	}
	return job
}

func at(job *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(job.Object, dispatchtest.Path(path)...)
	return value
}

func planFor(t *testing.T, origin *unstructured.Unstructured, o plan.Options) *plan.Plan {
	t.Helper()
	before := origin.DeepCopy()
	p, err := plan.New(origin, o)
	assert.NilError(t, err)
	assert.Assert(t, equality.Semantic.DeepEqual(origin, before))
	return p
}

// planText returns a plan in a readable form.
func planText(t *testing.T, p *plan.Plan) string {
	t.Helper()
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, c := range p.Changes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Action, c.Field, c.Value, c.Reason)
	}
	assert.NilError(t, w.Flush())
	for _, warning := range p.Warnings {
		fmt.Fprintln(&out, "warning:", warning)
	}
	mirror, err := yaml.Marshal(p.Mirror.Object)
	assert.NilError(t, err)
	return out.String() + "---\n" + string(mirror)
}

// TestPlan records the plans of a Job with all fields, and of a Job from a file.
func TestPlan(t *testing.T) {
	golden.Assert(t, planText(t, planFor(t, originJob(t), into)), "origin.golden")
	golden.Assert(t, planText(t, planFor(t, smallJob(t), into)), "file.golden")
}

// change returns the action and the value of a field in a plan.
func change(p *plan.Plan, field string) string {
	for _, c := range p.Changes {
		if c.Field == field {
			return string(c.Action) + " " + c.Value
		}
	}
	return ""
}

func TestPlanMarks(t *testing.T) {
	made := planFor(t, originJob(t), into)
	marks := delegation.MarksOf(made.Mirror.GetLabels(), made.Mirror.GetAnnotations())
	assert.DeepEqual(t, marks, &delegation.Marks{
		OriginUID: originUID, Origin: delegation.Place{ClusterUID: "cluster-1", Namespace: "ml", Name: "train-28391"},
	})
	// A mirror in another namespace names the origin's own.
	elsewhere := into
	elsewhere.Namespace = "other"
	made = planFor(t, originJob(t), elsewhere)
	assert.Equal(t, made.Mirror.GetNamespace(), "other")
	assert.Equal(t, made.Mirror.GetAnnotations()[delegation.OriginAnnotation], "cluster-1/ml/train-28391")
	assert.Equal(t, change(made, "metadata.namespace"), "set other")
	// An unknown cluster is not recorded.
	made = planFor(t, originJob(t), plan.Options{})
	_, there := made.Mirror.GetAnnotations()[delegation.OriginAnnotation]
	assert.Assert(t, !there)
	assert.DeepEqual(t, made.Warnings, []string{
		"The cluster of the origin has no readable identity, so the mirror names only the UID of its origin.",
	})
}
