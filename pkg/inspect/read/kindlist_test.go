package read_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// ownedBy returns an object with this managedBy in its spec.
func ownedBy(name, owner string) string {
	return fmt.Sprintf(`{"metadata": {"namespace": "ns", "name": %q, "uid": %[1]q}, "spec": {"managedBy": %q}}`, name, owner)
}

func TestReadKinds(t *testing.T) {
	withObjects := func(r servedResource, objects ...string) servedResource {
		r.objects = objects
		return r
	}
	cronJobs := servedResource{apiVersion: "batch/v1", plural: "cronjobs", kind: "CronJob", spec: `{"type": "object", "properties": {"jobTemplate": {"type": "object", "properties": {"spec": ` + field + `}}}}`}
	// The schema is that of an old operator.
	tfJobs := servedResource{apiVersion: "kubeflow.org/v1", plural: "tfjobs", kind: "TFJob", spec: withoutField}
	widget := withObjects(widgets("example.com/v1", `{"type": "object", "properties": {"managedBy": {"type": "string", "enum": ["example.com/widgets", "kueue.x-k8s.io/multikueue"], "default": "example.com/widgets"}}}`),
		ownedBy("a", "example.com/widgets"), ownedBy("b", "kueue.x-k8s.io/multikueue"), ownedBy("c", ""), ownedBy("d", "example.com/other"), ownedBy("e", "kueue.x-k8s.io/multikueue"))
	apis := map[string]*servedAPI{
		"hub": {resources: []servedResource{
			withObjects(jobs, ownedBy("a", "kubernetes.io/job-controller")), cronJobs, tfJobs, rayJobs("v1alpha1", field), widget,
		}},
		"west": {resources: []servedResource{jobs, widget}, down: []string{"down.example.com"}, forbidden: []string{"/apis/example.com/v1/namespaces/*"}},
		"shut": {resources: []servedResource{withObjects(jobs, ownedBy("a", "")), cronJobs}, forbidden: []string{"/apis", "/apis/batch/v1/namespaces/ns/cronjobs"}},
		"gone": {forbidden: []string{"/*"}},
	}
	list := read.Kinds(t.Context(), openServed(t, apis, "hub", "west", "shut", "gone"), read.Query{})

	kind := func(context, apiVersion, kind, resource, managedBy string, owners ...inspect.KindOwner) inspect.ServedKind {
		k := inspect.ServedKind{Context: context, APIVersion: apiVersion, Kind: kind, Resource: resource, ManagedBy: managedBy, Change: delegation.Always, Owners: owners}
		if owners == nil && managedBy != "" {
			k.Owners = []inspect.KindOwner{}
		}
		return k
	}
	of := func(row string, k inspect.ServedKind) inspect.ServedKind {
		known, ok := delegation.KindNamed(row)
		assert.Assert(t, ok)
		k.Change, k.Reserved, k.Since, k.Template = known.Change, known.Reserved, known.Since, known.Template
		return k
	}
	discovered := func(k inspect.ServedKind) inspect.ServedKind {
		k.Discovered, k.Defaulted, k.Reserved = true, true, "example.com/widgets"
		k.Allowed = []delegation.Owner{"example.com/widgets", delegation.MultiKueue}
		return k
	}
	builtIn := func(n int) inspect.KindOwner {
		return inspect.KindOwner{ManagedBy: delegation.BuiltIn, BuiltIn: true, Count: n}
	}
	uncounted := discovered(kind("west", "example.com/v1", "Widget", "widgets.example.com", "spec.managedBy"))
	uncounted.Owners = nil
	assert.DeepEqual(t, list.Items, []inspect.ServedKind{
		of("job", kind("hub", "batch/v1", "Job", "jobs.batch", "spec.managedBy", builtIn(1))),
		of("cronjob", kind("hub", "batch/v1", "CronJob", "cronjobs.batch", "spec.jobTemplate.spec.managedBy")),
		of("tfjob", kind("hub", "kubeflow.org/v1", "TFJob", "tfjobs.kubeflow.org", "")),
		of("rayjob", kind("hub", "ray.io/v1alpha1", "RayJob", "rayjobs.ray.io", "")),
		discovered(kind("hub", "example.com/v1", "Widget", "widgets.example.com", "spec.managedBy",
			inspect.KindOwner{ManagedBy: "example.com/other", Count: 1}, inspect.KindOwner{ManagedBy: delegation.MultiKueue, Count: 2}, builtIn(2))),
		of("job", kind("west", "batch/v1", "Job", "jobs.batch", "spec.managedBy")),
		uncounted,
		of("job", kind("shut", "batch/v1", "Job", "jobs.batch", "spec.managedBy", builtIn(1))),
	})

	// Unreadable parts are reported for each context separately.
	var failed []string
	for _, e := range list.Errors {
		failed = append(failed, e.Context+" "+string(e.Code))
	}
	forbidden := string(kubecontext.CodeForbidden)
	assert.DeepEqual(t, failed, []string{"west " + string(kubecontext.CodeError), "west " + forbidden, "shut " + forbidden, "gone " + forbidden})
	copied, ok := list.DeepCopyObject().(*inspect.KindList)
	assert.Assert(t, ok)
	assert.DeepEqual(t, copied, list)
	copied.Items[4].Owners[0].Count, copied.Items[4].Allowed[0] = 7, "x"
	assert.Equal(t, list.Items[4].Owners[0].Count, 1)
	assert.Equal(t, list.Items[4].Allowed[0], delegation.Owner("example.com/widgets"))
}

func TestReadKindsOfNoOwner(t *testing.T) {
	list := read.Kinds(t.Context(), fleet.Open(t.Context(), nil, fleet.Options{}), read.Query{})
	assert.DeepEqual(t, list, inspect.NewKindList())
	assert.Assert(t, list.Items != nil && list.Errors != nil, "they are empty lists, not null")
}
