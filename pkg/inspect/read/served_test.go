package read_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// describe summarizes kinds as text, with their fields.
func describe(kinds []delegation.Kind) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.Resource.GroupVersion().String()+" "+k.Kind+" "+strings.Join(k.ManagedBy, "."))
	}
	return all
}

var (
	jobs    = servedResource{apiVersion: "batch/v1", plural: "jobs", kind: "Job", spec: field}
	jobSets = servedResource{apiVersion: "jobset.x-k8s.io/v1alpha2", plural: "jobsets", kind: "JobSet", spec: field}
	sets    = servedResource{apiVersion: "apps/v1", plural: "statefulsets", kind: "StatefulSet", spec: withoutField}
)

func mpiJobs(version string) servedResource {
	return servedResource{apiVersion: "kubeflow.org/" + version, plural: "mpijobs", kind: "MPIJob", spec: runPolicy}
}

func pipelineRuns(version, spec string) servedResource {
	return servedResource{apiVersion: "tekton.dev/" + version, plural: "pipelineruns", kind: "PipelineRun", spec: spec}
}

func rayJobs(version, spec string) servedResource {
	return servedResource{apiVersion: "ray.io/" + version, plural: "rayjobs", kind: "RayJob", spec: spec}
}

func widgets(apiVersion, spec string) servedResource {
	return servedResource{apiVersion: apiVersion, plural: "widgets", kind: "Widget", spec: spec, shortNames: []string{"wd"}}
}

func TestServed(t *testing.T) {
	all := []string{read.AllKinds}
	for _, tt := range []struct {
		name   string
		names  []string
		serves []servedResource
		want   []string
		// documents are the schemas that must be requested.
		documents []string
	}{
		{
			name: "those that are named", names: []string{"jobset", "job"}, serves: []servedResource{jobs, jobSets, mpiJobs("v1")},
			want: []string{"batch/v1 Job spec.managedBy", "jobset.x-k8s.io/v1alpha2 JobSet spec.managedBy"},
		},
		{name: "one that is not served", names: []string{"jobset"}, serves: []servedResource{jobs, mpiJobs("v1")}},
		{
			name: "a group that is served, and not the kind", names: []string{"raycronjob", "rayjob"}, serves: []servedResource{rayJobs("v1", field)},
			want: []string{"ray.io/v1 RayJob spec.managedBy"},
		},
		{
			name: "every kind of the table that has the field", names: all, serves: []servedResource{jobs, jobSets, sets, mpiJobs("v2beta1")},
			want: []string{"batch/v1 Job spec.managedBy", "jobset.x-k8s.io/v1alpha2 JobSet spec.managedBy", "kubeflow.org/v2beta1 MPIJob spec.runPolicy.managedBy"},
		},
		{name: "a kind without the field, by its name", names: []string{"sts"}, serves: []servedResource{sets}, want: []string{"apps/v1 StatefulSet "}},

		{name: "the row of the version", names: []string{"mpijob"}, serves: []servedResource{mpiJobs("v1")}, want: []string{"kubeflow.org/v1 MPIJob spec.runPolicy.managedBy"}},
		{
			name: "the first row, where several are served", names: []string{"mpijob"}, serves: []servedResource{mpiJobs("v1"), mpiJobs("v2beta1")},
			want: []string{"kubeflow.org/v2beta1 MPIJob spec.runPolicy.managedBy"},
		},
		{
			name: "the row's version, whatever the server prefers", names: []string{"pipelinerun"},
			serves: []servedResource{pipelineRuns("v1beta1", field), pipelineRuns("v1", field)},
			want:   []string{"tekton.dev/v1 PipelineRun spec.managedBy"},
		},
		{
			name: "another version that has the field", names: []string{"pr"}, serves: []servedResource{pipelineRuns("v1beta1", field)},
			want: []string{"tekton.dev/v1beta1 PipelineRun spec.managedBy"}, documents: []string{"tekton.dev/v1beta1"},
		},
		{
			name: "another version that may have it", names: []string{"pr"},
			serves: []servedResource{pipelineRuns("v1beta1", `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`)},
			want:   []string{"tekton.dev/v1beta1 PipelineRun spec.managedBy"}, documents: []string{"tekton.dev/v1beta1"},
		},
		{
			name: "another version that has it not", names: []string{"pr"}, serves: []servedResource{pipelineRuns("v1beta1", withoutField)},
			documents: []string{"tekton.dev/v1beta1"},
		},
		{
			name: "the first of other versions that has it", names: []string{"pr"},
			serves: []servedResource{pipelineRuns("v3", withoutField), pipelineRuns("v2", field), pipelineRuns("v1beta1", field)},
			want:   []string{"tekton.dev/v2 PipelineRun spec.managedBy"}, documents: []string{"tekton.dev/v2", "tekton.dev/v3"},
		},
		{name: "a version that is known not to have it", names: []string{"rayjob"}, serves: []servedResource{rayJobs("v1alpha1", field)}},

		{
			name: "a kind of no table", names: all, serves: []servedResource{jobs, widgets("example.com/v1", field)},
			want: []string{"batch/v1 Job spec.managedBy", "example.com/v1 Widget spec.managedBy"}, documents: []string{"example.com/v1"},
		},
		{
			name: "several, of several groups", names: all,
			serves: []servedResource{widgets("example.com/v1", field), widgets("example.org/v1", runPolicy), widgets("example.net/v1", withoutField)},
			want:   []string{"example.com/v1 Widget spec.managedBy", "example.org/v1 Widget spec.runPolicy.managedBy"}, documents: []string{"example.com/v1", "example.net/v1", "example.org/v1"},
		},
		{
			name: "in the version that is preferred", names: all, serves: []servedResource{widgets("example.com/v2", field), widgets("example.com/v1", field)},
			want: []string{"example.com/v2 Widget spec.managedBy"}, documents: []string{"example.com/v2"},
		},
		{
			name: "in one that has the field", names: all, serves: []servedResource{widgets("example.com/v2", withoutField), widgets("example.com/v1", field)},
			want: []string{"example.com/v1 Widget spec.managedBy"}, documents: []string{"example.com/v1", "example.com/v2"},
		},
		{
			name: "beside kinds of the table in the same group", names: all, serves: []servedResource{mpiJobs("v1"), {apiVersion: "kubeflow.org/v1", plural: "widgets", kind: "Widget", spec: field}},
			want: []string{"kubeflow.org/v1 MPIJob spec.runPolicy.managedBy", "kubeflow.org/v1 Widget spec.managedBy"}, documents: []string{"kubeflow.org/v1"},
		},
		{
			name: "by its plural", names: []string{"Widgets"}, serves: []servedResource{jobs, widgets("example.com/v1", field), {apiVersion: "example.org/v1", plural: "gadgets", kind: "Gadget", spec: field}},
			want: []string{"example.com/v1 Widget spec.managedBy"}, documents: []string{"example.com/v1"},
		},
		{
			name: "by its short name, in every group that has it", names: []string{"wd"}, serves: []servedResource{widgets("example.com/v1", field), widgets("example.org/v1", field)},
			want: []string{"example.com/v1 Widget spec.managedBy", "example.org/v1 Widget spec.managedBy"}, documents: []string{"example.com/v1", "example.org/v1"},
		},
		{
			name: "by its group", names: []string{"widget.example.org"}, serves: []servedResource{widgets("example.com/v1", field), widgets("example.org/v1", field)},
			want: []string{"example.org/v1 Widget spec.managedBy"}, documents: []string{"example.org/v1"},
		},
		{name: "one that cannot be delegated, by its name", names: []string{"widget"}, serves: []servedResource{widgets("example.com/v1", withoutField)}, documents: []string{"example.com/v1"}},
		{
			name: "another group's kind of a name of the table", names: []string{"jobs.batch.example.com"},
			serves: []servedResource{jobs, {apiVersion: "batch.example.com/v1", plural: "jobs", kind: "Job", spec: field}},
			want:   []string{"batch.example.com/v1 Job spec.managedBy"}, documents: []string{"batch.example.com/v1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := &servedAPI{resources: tt.serves}
			kinds, err := read.Served(t.Context(), api.cluster(t), tt.names)
			assert.NilError(t, err)
			assert.DeepEqual(t, describe(kinds), tt.want)
			assert.DeepEqual(t, api.documents(), tt.documents)
		})
	}
}

// TestServedLeavesOutWhatCannotBeDelegated checks that no schema is requested for a resource that
// cannot be delegated anyway.
func TestServedLeavesOutWhatCannotBeDelegated(t *testing.T) {
	change := func(change func(*metav1.APIResource)) servedResource {
		w := widgets("example.com/v1", field)
		w.more = change
		return w
	}
	noStatus, readOnlyStatus := widgets("example.com/v1", field), widgets("example.com/v1", field)
	noStatus.noStatus, readOnlyStatus.statusVerbs = true, []string{"get"}
	for name, w := range map[string]servedResource{
		"of the whole cluster": change(func(r *metav1.APIResource) { r.Namespaced = false }),
		"nobody can make it":   change(func(r *metav1.APIResource) { r.Verbs = metav1.Verbs{"get", "list"} }),
		"nobody can list it":   change(func(r *metav1.APIResource) { r.Verbs = metav1.Verbs{"get", "create"} }),
		"no status":            noStatus,
		"status is only read":  readOnlyStatus,
		"of Kubernetes itself": {apiVersion: "apps/v1", plural: "deployments", kind: "Deployment", spec: field},
	} {
		t.Run(name, func(t *testing.T) {
			api := &servedAPI{resources: []servedResource{jobs, w}}
			kinds, err := read.Served(t.Context(), api.cluster(t), []string{read.AllKinds})
			assert.NilError(t, err)
			assert.DeepEqual(t, describe(kinds), []string{"batch/v1 Job spec.managedBy"})
			assert.Equal(t, len(api.documents()), 0)
		})
	}
}

func TestServedAsksNobodyForJobs(t *testing.T) {
	api := &servedAPI{}
	cluster := api.cluster(t)
	for _, names := range [][]string{nil, {"job"}, {"Jobs"}, {"jobs.batch", "job"}} {
		kinds, err := read.Served(t.Context(), cluster, names)
		assert.NilError(t, err)
		assert.DeepEqual(t, kinds, []delegation.Kind{delegation.Job()})
	}
	assert.Equal(t, api.requests(), 0)
}

// TestServedWithGroupsThatFail checks that a failing part of the API does not hide the rest.
func TestServedWithGroupsThatFail(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		want  []string
		// err is a part of the error message, "" for no error.
		err string
	}{
		{"all", []string{read.AllKinds}, []string{"batch/v1 Job spec.managedBy", "example.com/v1 Widget spec.managedBy"}, "cannot find out which kinds it serves: down.example.com/v1: the server is currently unable to handle the request; kubeflow.org/v1: the server is currently unable"},
		{"another group's kind", []string{"widget"}, []string{"example.com/v1 Widget spec.managedBy"}, ""},
		{"another group's kind of the table", []string{"jobset", "job"}, []string{"batch/v1 Job spec.managedBy"}, ""},
		{"the group's kind of the table", []string{"job", "mpijob"}, []string{"batch/v1 Job spec.managedBy"}, "kubeflow.org/v1: the server is currently unable"},
		{"a kind that may be in any group", []string{"gadget"}, nil, "down.example.com/v1: the server is currently unable to handle the request; kubeflow.org/v1"},
		{"a kind of the group", []string{"gadgets.down.example.com"}, nil, "down.example.com/v1: the server is currently unable"},
		{"a kind of another group", []string{"gadgets.example.com"}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := &servedAPI{resources: []servedResource{jobs, widgets("example.com/v1", field)}, down: []string{"down.example.com", "kubeflow.org"}}
			kinds, err := read.Served(t.Context(), api.cluster(t), tt.names)
			assert.DeepEqual(t, describe(kinds), tt.want)
			if tt.err == "" {
				assert.NilError(t, err)
			} else {
				assertMessage(t, err, tt.err)
			}
		})
	}
}

func TestServedWithoutSchemas(t *testing.T) {
	all := []string{read.AllKinds}
	// A group without published schemas may have just been installed.
	unpublished := &servedAPI{resources: []servedResource{jobs, widgets("example.com/v1", ""), pipelineRuns("v1beta1", "")}}
	kinds, err := read.Served(t.Context(), unpublished.cluster(t), all)
	assert.DeepEqual(t, describe(kinds), []string{"batch/v1 Job spec.managedBy", "tekton.dev/v1beta1 PipelineRun spec.managedBy"})
	assertMessage(t, err, "example.com/v1: it publishes no OpenAPI schemas (yet)")

	forbidden := &servedAPI{resources: []servedResource{jobs, widgets("example.com/v1", field)}, forbidden: []string{"/openapi/*"}}
	kinds, err = read.Served(t.Context(), forbidden.cluster(t), all)
	assert.DeepEqual(t, describe(kinds), []string{"batch/v1 Job spec.managedBy"})
	assertMessage(t, err, "example.com/v1: read its OpenAPI schemas: ")
}

// TestServedWithoutDiscovery checks that a user without rights for discovery gets the kinds that
// every cluster has.
func TestServedWithoutDiscovery(t *testing.T) {
	api := &servedAPI{resources: []servedResource{jobs, jobSets, widgets("example.com/v1", field)}, forbidden: []string{"/apis"}}
	kinds, err := read.Served(t.Context(), api.cluster(t), []string{"job", "jobset", "widget"})
	assert.DeepEqual(t, describe(kinds), []string{"batch/v1 Job spec.managedBy"})
	assertMessage(t, err, "cannot find out which kinds it serves: forbidden: the user may not read /api and /apis")
}

func TestUnserved(t *testing.T) {
	apis := map[string]*servedAPI{
		"hub":   {resources: []servedResource{jobs, jobSets}},
		"west":  {resources: []servedResource{jobs, widgets("example.com/v1", field)}},
		"part":  {resources: []servedResource{jobs}, down: []string{"down.example.com"}},
		"blind": {resources: []servedResource{jobs, rayJobs("v1alpha1", withoutField)}},
		"none":  {forbidden: []string{"/*"}},
	}
	for _, tt := range []struct {
		contexts, names, want []string
		// errs are the contexts that are not completely known.
		errs []string
	}{
		{[]string{"hub", "west"}, []string{"jobset", "widget", "wd"}, nil, nil},
		{[]string{"hub", "west"}, []string{"gadget", "jobset", "mpijob"}, []string{"gadget", "mpijob"}, nil},
		{[]string{"hub", "west"}, []string{"job"}, nil, nil},
		{[]string{"hub", "west"}, []string{"gadget", read.AllKinds}, nil, nil},
		{[]string{"blind"}, []string{"rayjob"}, []string{"rayjob"}, nil},
		{[]string{"hub", "part"}, []string{"gadget"}, []string{"gadget"}, []string{"part"}},
		{[]string{"hub", "none"}, []string{"gadget"}, []string{"gadget"}, []string{"none"}},
		// No context answers.
		{[]string{"none"}, []string{"gadget"}, nil, []string{"none"}},
	} {
		t.Run(strings.Join(slices.Concat(tt.contexts, tt.names), " "), func(t *testing.T) {
			unserved, errs := read.Unserved(t.Context(), openServed(t, apis, tt.contexts...), tt.names)
			assert.DeepEqual(t, unserved, tt.want)
			var failed []string
			for _, e := range errs {
				failed = append(failed, e.Context)
			}
			assert.DeepEqual(t, failed, tt.errs)
		})
	}
}
