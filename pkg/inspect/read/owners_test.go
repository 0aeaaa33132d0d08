package read_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestOwnersAgree checks that a list read directly and one from an inventory have the same Jobs and
// errors, and leave out the same Jobs.
func TestOwnersAgree(t *testing.T) {
	const (
		claimed     = "- {apiVersion: batch/v1, kind: Job, metadata: {name: c, namespace: default, uid: c}, spec: {managedBy: kueue.x-k8s.io/multikueue}}\n"
		noWorkloads = "  served: [kueue.x-k8s.io/v1beta1]\n  unread: [{resource: workloads.kueue.x-k8s.io, status: {code: 403, reason: Forbidden, message: no}}]\n"
		noJobs      = "  unread: [{resource: jobs.batch, status: {code: 403, reason: Forbidden, message: no}}]\n"
	)
	for _, tt := range []struct {
		name, fields, items string
		errors              int
	}{
		{"all is read", "", plainJob + ourJob + otherJob, 0},
		{"who claims is not known", noWorkloads, plainJob + claimed, 1},
		{"Jobs may not be read", noJobs, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, filter := read.Query{AllNamespaces: true}, inspect.Filter{Delegated: true}
			r := recordedFleet(t, tt.fields, tt.items)
			list, others := (&read.Listing{Query: q, Filter: filter}).Read(t.Context(), r.Fleet)
			assert.Equal(t, len(list.Errors), tt.errors, "%v", list.Errors)

			r = recordedFleet(t, tt.fields, tt.items)
			inventory := read.Read(t.Context(), r.Fleet, read.Want{Jobs: &q, Now: r.clock})
			again, otherJobs := inventory.Owners(filter.Matches)
			assert.DeepEqual(t, again.Errors, list.Errors)
			assert.DeepEqual(t, names(again.All()), names(list.All()))
			assert.DeepEqual(t, names(otherJobs), names(others))

			counted, none := (&read.Listing{Query: q, Filter: filter, CountOnly: true}).Read(t.Context(), r.Fleet)
			assert.Equal(t, len(none), 0)
			assert.Equal(t, len(counted.All()), 0)
			assert.Equal(t, len(counted.Items), len(list.Items))
			for i := range counted.Items {
				assert.Equal(t, counted.Items[i].Total(), list.Items[i].Total())
			}
		})
	}
}

func names(jobs []*inspect.Job) []string {
	all := []string{}
	for _, j := range jobs {
		all = append(all, j.Namespace+"/"+j.Name+" "+string(j.Status))
	}
	return all
}
