package read_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// mirrorOf returns a mirror that dispatch created.
func mirrorOf(uid string) string {
	return fmt.Sprintf(`{"metadata": {"namespace": "ns", "name": %q, "uid": "its-mirror", "labels": {"jobmanagedby.github.io/origin-uid": %[1]q}}, "spec": {}}`, uid)
}

// TestMirrorsWithoutTheField checks that mirrors, which have no owner, are found on clusters that
// serve their kind without managedBy.
func TestMirrorsWithoutTheField(t *testing.T) {
	having := func(r servedResource, object string) servedResource {
		r.objects = []string{object}
		return r
	}
	origin, mirror := ownedBy("a", "jobmanagedby.github.io/dispatch"), mirrorOf("a")
	for _, tt := range []struct {
		name, kind       string
		origins, mirrors servedResource
	}{
		{"an unlisted kind", "widget", having(widgets("example.com/v1", field), origin), having(widgets("example.com/v1", withoutField), mirror)},
		{"of no table, in another version", "wd", having(widgets("example.com/v2", field), origin), having(widgets("example.com/v1", withoutField), mirror)},
		{"of no table, without a schema", "widget", having(widgets("example.com/v1", field), origin), having(widgets("example.com/v1", ""), mirror)},
		{"of the table", "jobset", having(jobSets, origin), having(servedResource{apiVersion: jobSets.apiVersion, plural: "jobsets", kind: "JobSet", spec: withoutField}, mirror)},
		{"of the table, in another version", "pipelinerun", having(pipelineRuns("v1", field), origin), having(pipelineRuns("v1beta1", withoutField), mirror)},
		{"a listed kind in a version without the field", "rayjob", having(rayJobs("v1", field), origin), having(rayJobs("v1alpha1", withoutField), mirror)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apis := map[string]*servedAPI{
				"hub":  {resources: []servedResource{jobs, tt.origins}},
				"west": {resources: []servedResource{jobs, tt.mirrors}},
				"gone": {forbidden: []string{"/*"}},
			}
			for _, name := range []string{tt.kind, read.AllKinds} {
				f := openServed(t, apis, "hub", "west", "gone")
				q := read.Query{Kinds: []string{name}}
				v := read.Read(t.Context(), f, read.Want{Jobs: &q, Now: time.Now})
				assert.Equal(t, len(v.Pairs.Pairs), 1, name)
				assert.Equal(t, len(v.Pairs.Pairs[0].Mirrors), 1, name)
				assert.Equal(t, v.Pairs.Pairs[0].Mirrors[0].Job.Context, "west")

				list, _ := (&read.Listing{Query: q}).Read(t.Context(), f)
				var listed []string
				for _, j := range list.All() {
					listed = append(listed, j.Context+" "+j.UID+" "+string(j.ManagedBy))
				}
				assert.DeepEqual(t, listed, []string{"hub a jobmanagedby.github.io/dispatch", "west its-mirror built-in"})
			}
			v := read.Read(t.Context(), openServed(t, apis, "hub", "west"), read.Want{Named: &read.Wanted{Kind: tt.kind, Name: "a"}, Now: time.Now, Addresses: []kubecontext.Address{}})
			assert.Equal(t, len(v.Pairs.Pairs), 1)
			assert.Equal(t, len(v.Pairs.Pairs[0].Mirrors), 1)
			if tt.kind != "rayjob" {
				return
			}
			// A user who wants to set an owner must know that the field is missing.
			kind := v.Facts("west").KindOf(v.Pairs.Pairs[0].Mirrors[0].Job)
			assert.Assert(t, kind.WithoutField && kind.Resource.Version == "v1alpha1", "%+v", kind)
		})
	}
}

// TestFieldless checks that queued objects without an owner are known to lack the field.
func TestFieldless(t *testing.T) {
	queued := `{"metadata": {"namespace": "ns", "name": "a", "uid": "a", "labels": {"kueue.x-k8s.io/queue-name": "train"}}, "spec": {}}`
	for object, want := range map[string]string{queued: "jobset.x-k8s.io/v1alpha2", mirrorOf("b"): "", ownedBy("c", "kueue.x-k8s.io/multikueue"): ""} {
		api := &servedAPI{resources: []servedResource{jobs, {apiVersion: jobSets.apiVersion, plural: "jobsets", kind: "JobSet", spec: withoutField, objects: []string{object}}}}
		q := read.Query{Kinds: []string{"jobset"}}
		f := openServed(t, map[string]*servedAPI{"hub": api}, "hub")
		v := read.Read(t.Context(), f, read.Want{Jobs: &q, Evidence: true, Now: time.Now})
		assert.Equal(t, len(v.Facts("hub").Jobs), 1)
		assert.Equal(t, v.Facts("hub").KindOf(v.Facts("hub").Jobs[0]).WithoutField, want != "")
		// Schemas that do not matter are not requested.
		assert.Equal(t, strings.Join(api.documents(), " "), want)
	}
}
