package recreate_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// plain returns the name of the Workload of a Job that is not elastic, sized that of an elastic
// one in a generation.
func plain(name, uid string) string { return delegation.Job().WorkloadNames(name, uid, "")[0] }

func sized(generation string) func(name, uid string) string {
	return func(name, uid string) string { return delegation.Job().WorkloadNames(name, uid, generation)[0] }
}

// TestRefusesToDeleteOnWorkers checks that a Job which MultiKueue runs on a worker is not deleted,
// even if its status shows no start: neither by a check, nor after a check that passed.
func TestRefusesToDeleteOnWorkers(t *testing.T) {
	const (
		elastic = "yaml:{kueue.x-k8s.io/elastic-job: 'true'}"
		onPast  = `{conditions: [{type: Finished, status: "True"}], clusterName: worker1}`
	)
	because := func(reason string) string {
		return `{conditions: [{type: Finished, status: "True", reason: ` + reason + `}], clusterName: worker1}`
	}
	for name, tt := range map[string]struct {
		annotations any
		name        func(name, uid string) string
		status      string
		// earlier is the status of the Workload of an earlier size.
		earlier string
		isFree  bool
	}{
		"plain":          {name: plain, status: `{clusterName: worker1}`},
		"elastic":        {annotations: elastic, name: sized("3"), status: `{clusterName: worker1}`},
		"elastic, grows": {annotations: elastic, name: sized("3"), status: `{}`, earlier: `{clusterName: worker1}`},
		"elastic, evicted since": {
			annotations: elastic, name: sized("3"), status: `{}`, earlier: onPast, isFree: true,
		},
		"Kueue 0.12": {
			name: plain, status: `{admissionChecks: [{name: far, state: Ready, message: 'The workload got reservation on "worker1"'}]}`,
		},
		"prebuilt": {
			annotations: "yaml:{kueue.x-k8s.io/prebuilt-workload-name: mine}",
			name:        func(string, string) string { return "mine" }, status: `{clusterName: worker1}`,
		},
		"ended there":               {name: plain, status: onPast},
		"succeeded there":           {name: plain, status: because("Succeeded")},
		"failed there":              {name: plain, status: because("Failed")},
		"its mirror was deleted":    {name: plain, status: because("OwnerNotFound"), isFree: true},
		"its mirror was changed":    {name: plain, status: because("OutOfSync"), isFree: true},
		"Kueue could not start it":  {name: plain, status: because("FailedToStart"), isFree: true},
		"the last size was deleted": {annotations: elastic, name: sized("3"), status: because("OwnerNotFound"), earlier: because("WorkloadSliceReplaced"), isFree: true},
		"queued":                    {name: plain, status: `{}`, isFree: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			edits := []edit{{"spec.managedBy", "kueue.x-k8s.io/multikueue"}, {"spec.suspend", true}}
			if tt.annotations != nil {
				edits = append(edits, edit{"metadata.annotations", tt.annotations})
			}
			old := server.Create(t, delegation.Job().Resource, smallJob(t, edits...))
			p, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "here", ManagedBy: "example.com/runner"})
			assert.NilError(t, err)
			runner := &recreate.Runner{Cluster: server.Cluster(t, "here"), DeletionTimeout: time.Second, ReadOnly: true}
			assert.NilError(t, runner.Check(t.Context(), p), "it has no Workload")

			create := func(name, status string) {
				w := fromText(t, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {namespace: ml}, status: `+status+`}`)
				w.SetName(name)
				w.SetLabels(map[string]string{delegation.JobUIDLabel: string(old.GetUID())})
				server.Create(t, delegation.KueueResources("workloads")[0], w)
			}
			create(tt.name(old.GetName(), string(old.GetUID())), tt.status)
			if tt.earlier != "" {
				create(sized("2")(old.GetName(), string(old.GetUID())), tt.earlier)
			}
			checked := runner.Check(t.Context(), p)
			_, ran := runner.Run(t.Context(), p)
			if tt.isFree {
				assert.NilError(t, errors.Join(checked, ran))
				return
			}
			for _, err := range []error{checked, ran} {
				var refused *plan.RefusedError
				assert.Assert(t, errors.As(err, &refused), "%v", err)
				assert.ErrorContains(t, err, "runs on the worker cluster worker1 of MultiKueue")
			}
			assert.Assert(t, server.Get(delegation.Job().Resource, "ml", old.GetName()) != nil, "the Job was deleted")
		})
	}
}
