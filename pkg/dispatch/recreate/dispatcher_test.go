package recreate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// TestRefusesServedJob checks that a Job which a dispatcher serves is not deleted: neither by a check, nor
// after a check that passed.
func TestRefusesServedJob(t *testing.T) {
	for name, tt := range map[string]struct {
		owner   string
		isEnded bool
		force   bool
		unread  error
		isFree  bool
		// remedy is the fix if cancelling does not help, and want how the fix begins.
		remedy command.Prose
		want   string
	}{
		"dispatched":         {owner: "jobmanagedby.github.io/dispatch", want: "end the dispatch first: `kubectl jobs-managedby cancel"},
		"for another owner":  {owner: "example.com/runner", want: "end the dispatch first: `kubectl jobs-managedby cancel"},
		"endless Lease":      {owner: "jobmanagedby.github.io/dispatch", remedy: "delete the Lease", want: "delete the Lease"},
		"with --force":       {owner: "jobmanagedby.github.io/dispatch", force: true, isFree: true},
		"ended":              {owner: "jobmanagedby.github.io/dispatch", isEnded: true, isFree: true},
		"built-in":           {owner: "kubernetes.io/job-controller", isFree: true},
		"Lease not readable": {owner: "jobmanagedby.github.io/dispatch", unread: errors.New("no"), isFree: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			edits := []edit{{"spec.managedBy", tt.owner}, {"spec.suspend", true}}
			if tt.isEnded {
				edits = append(edits, edit{"status.conditions", "yaml:[{type: Failed, status: 'True'}]"})
			}
			old := server.Create(t, delegation.Job().Resource, smallJob(t, edits...))
			p, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "here", ManagedBy: "example.com/other", Force: tt.force})
			assert.NilError(t, err)
			holder, remedy, unread := "", command.Prose(""), error(nil)
			runner := &recreate.Runner{Cluster: server.Cluster(t, "here"), DeletionTimeout: time.Second, ReadOnly: true}
			runner.DescribeHolder = func(context.Context, delegation.Kind, *unstructured.Unstructured) (string, command.Prose, error) {
				return holder, remedy, unread
			}
			assert.NilError(t, runner.Check(t.Context(), p), "no dispatcher serves it")

			holder, remedy, unread = "alice dispatches it (Lease ml/l)", tt.remedy, tt.unread
			checked := runner.Check(t.Context(), p)
			_, ran := runner.Run(t.Context(), p)
			if tt.isFree {
				assert.NilError(t, errors.Join(checked, ran))
				assert.Equal(t, strings.Contains(strings.Join(p.Warnings, "\n"), "Cannot read the Lease of job ml/small"), tt.unread != nil, "%q", p.Warnings)
				return
			}
			for _, err := range []error{checked, ran} {
				assert.ErrorContains(t, err, "job ml/small cannot be recreated now: alice dispatches it (Lease ml/l); "+tt.want)
				assert.Equal(t, strings.Contains(err.Error(), "jobs-managedby cancel"), tt.remedy == "", "two fixes: %v", err)
			}
			assert.Equal(t, server.Get(delegation.Job().Resource, "ml", "small").GetUID(), old.GetUID(), "the Job was deleted")
		})
	}
}
