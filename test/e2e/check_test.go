package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/multikueue"
)

// check runs the plugin and returns what it finds as things stand, by code.
func check(t *testing.T, args ...string) map[string]inspect.Finding {
	t.Helper()
	return checkWithGrace(t, "0s", args...)
}

func checkWithGrace(t *testing.T, grace string, args ...string) map[string]inspect.Finding {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby", "check", "--grace", grace, "-o", "json"}, args...)...)
	cmd.Stderr = nil
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		assert.NilError(t, err)
	}
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal(out, &list))
	found := map[string]inspect.Finding{}
	for _, f := range list.Items {
		found[f.Code] = f
	}
	return found
}

// eventuallyFinds waits until check finds just these codes.
func eventuallyFinds(t *testing.T, want []string, args ...string) map[string]inspect.Finding {
	t.Helper()
	var found map[string]inspect.Finding
	var codes []string
	_ = wait.PollUntilContextTimeout(t.Context(), 300*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		found = check(t, args...)
		codes = slices.Sorted(maps.Keys(found))
		return slices.Equal(codes, want), nil
	})
	if len(want)+len(codes) > 0 {
		assert.DeepEqual(t, codes, want)
	}
	return found
}

// healthyKubeconfig is a flag for a kubeconfig of nothing but the healthy
// contexts: where there are others that were not asked, an orphan's origin may be
// there.
func healthyKubeconfig(t *testing.T) string {
	t.Helper()
	return kubeconfigOf(t, management, worker1, worker2)
}

// kubeconfigOf is a flag for a kubeconfig of these contexts alone.
func kubeconfigOf(t *testing.T, contexts ...string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	for name := range config.Contexts {
		if !slices.Contains(contexts, name) {
			delete(config.Contexts, name)
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, path))
	return "--kubeconfig=" + path
}

// broken is a way to break a fleet, and what its remedy says to do.
type broken struct {
	code       string
	breakIt    func(*kueueFleet)
	carryItOut func(*kueueFleet)
}

// kueueFleet is a fleet on which Kueue is played, with a namespace for one test.
type kueueFleet struct {
	t    *testing.T
	args []string

	manager, paris, tokyo *multikueue.Cluster
	ns                    string
}

// TestRemedies breaks a healthy fleet in one way after the other, sees the code of
// each and nothing else, carries the remedy out, and sees it go away.
func TestRemedies(t *testing.T) {
	serving(t, alone, all...)
	f := &kueueFleet{ns: "remedies"}
	f.manager, f.paris, f.tokyo = playKueue(t, f.ns)
	createJobs(t, management, submitted(f.ns, "healthy"))
	_, err := f.manager.Dispatch(t.Context(), f.ns, "healthy", f.paris)
	assert.NilError(t, err)
	waitReady(t, worker1, f.ns, "healthy", 1)
	assert.NilError(t, f.manager.CopyStatus(t.Context(), f.ns, "healthy", f.paris))
	args := []string{"-n", f.ns, healthyKubeconfig(t)}
	f.args = args
	eventuallyFinds(t, nil, args...)
	for _, b := range breakages() {
		t.Run(b.code, func(t *testing.T) {
			f.t = t
			b.breakIt(f)
			finding := eventuallyFinds(t, []string{b.code}, args...)[b.code]
			assert.Assert(t, finding.Remedy != "" && len(finding.Evidence) > 0)
			b.carryItOut(f)
			eventuallyFinds(t, nil, args...)
		})
	}
}

func breakages() []broken {
	return []broken{
		{
			"JM004", func(f *kueueFleet) {
				assert.NilError(f.t, f.manager.Patch(f.t.Context(), "MultiKueueCluster", "", "tokyo", `{status: {conditions: [{type: Active, status: "False",
					reason: ClientConnectionFailed, message: "dial tcp 10.0.0.1:6443: connect: connection refused", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`))
			}, func(f *kueueFleet) {
				assert.NilError(f.t, f.manager.Patch(f.t.Context(), "MultiKueueCluster", "", "tokyo", `{status: {conditions: [{type: Active, status: "True",
					reason: Active, message: Connected, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`))
			},
		},
		{
			"JM012", func(f *kueueFleet) {
				createJobs(f.t, management, fixture.New(f.ns, "sick", fixture.Suspended(), fixture.Labels(delegation.QueueNameLabel, multikueue.Queue)))
				assert.NilError(f.t, f.manager.Hold(f.t.Context(), f.ns, "sick", "x"))
				assert.NilError(f.t, f.manager.Patch(f.t.Context(), "Workload", f.ns, workloadNamed(f.t, f.ns, "sick"), `{spec: {active: false}, status: {
					admissionChecks: [{name: multikueue, state: Rejected, lastTransitionTime: "2026-01-01T00:00:00Z",
						message: 'The owner is not managed by Kueue: Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "", Previously: "Pending"'}],
					conditions: [{type: QuotaReserved, status: "False", reason: Deactivated, message: The workload is deactivated, lastTransitionTime: "2026-01-01T00:00:00Z"},
						{type: Evicted, status: "True", reason: DeactivatedDueToAdmissionCheck, message: deactivated, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`))
			}, deleteSick(management),
		},
		{
			"JM013", func(f *kueueFleet) {
				createJobs(f.t, management, fixture.New(f.ns, "sick", fixture.ManagedBy(string(delegation.MultiKueue))))
			}, deleteSick(management),
		},
		{
			"JM014", func(f *kueueFleet) {
				createJobs(f.t, management, fixture.New(f.ns, "sick", fixture.ManagedBy("nobody.invalid/nothing")))
			}, deleteSick(management),
		},
		{
			"JM026", func(f *kueueFleet) {
				createJobs(f.t, management, submitted(f.ns, "sick", fixture.Suspended()))
				assert.NilError(f.t, f.manager.Hold(f.t.Context(), f.ns, "sick", "x", f.paris, f.tokyo))
				for _, c := range []*multikueue.Cluster{f.paris, f.tokyo} {
					assert.NilError(f.t, c.Delete(f.t.Context(), "LocalQueue", f.ns, multikueue.Queue))
					assert.NilError(f.t, c.Patch(f.t.Context(), "Workload", f.ns, workloadNamed(f.t, f.ns, "sick"), `{status: {conditions: [{type: QuotaReserved, status: "False",
						reason: Misconfigured, message: "LocalQueue gpu doesn't exist", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`))
				}
			}, func(f *kueueFleet) {
				workload := workloadNamed(f.t, f.ns, "sick")
				deleteSick(management)(f)
				for _, c := range []*multikueue.Cluster{f.paris, f.tokyo} {
					assert.NilError(f.t, c.Delete(f.t.Context(), "Workload", f.ns, workload))
					assert.NilError(f.t, c.Add(f.t.Context(), fmt.Sprintf(`{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: %s, namespace: %s},
						spec: {clusterQueue: cluster-queue}, status: {conditions: [{type: Active, status: "True", reason: Ready, message: ok, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`,
						multikueue.Queue, f.ns)))
				}
			},
		},
		{
			"JM029", func(f *kueueFleet) {
				createJobs(f.t, management, submitted(f.ns, "sick", fixture.Suspended()))
				assert.NilError(f.t, f.manager.Hold(f.t.Context(), f.ns, "sick", "insufficient quota for gpu", f.paris, f.tokyo))
			}, func(f *kueueFleet) {
				workload := workloadNamed(f.t, f.ns, "sick")
				deleteSick(management)(f)
				assert.NilError(f.t, f.paris.Delete(f.t.Context(), "Workload", f.ns, workload))
				assert.NilError(f.t, f.tokyo.Delete(f.t.Context(), "Workload", f.ns, workload))
			},
		},
		{
			"JM034", func(f *kueueFleet) {
				createJobs(f.t, worker1, fixture.New(f.ns, "sick", fixture.RunsFor("2h")))
				createJobs(f.t, management, submitted(f.ns, "sick", fixture.Suspended()))
				assert.NilError(f.t, f.manager.Hold(f.t.Context(), f.ns, "sick", "", f.paris))
				assert.NilError(f.t, f.manager.Patch(f.t.Context(), "Workload", f.ns, workloadNamed(f.t, f.ns, "sick"), `{status: {nominatedClusterNames: [paris, tokyo]}}`))
			}, func(f *kueueFleet) {
				// The stranger goes, and the Job runs after all.
				deleteSick(worker1)(f)
				workload := workloadNamed(f.t, f.ns, "sick")
				assert.NilError(f.t, f.manager.Delete(f.t.Context(), "Workload", f.ns, workload))
				assert.NilError(f.t, f.paris.Delete(f.t.Context(), "Workload", f.ns, workload))
				deleteSick(management)(f)
			},
		},
		{
			"JM053", func(f *kueueFleet) {
				origin := submitted(f.ns, "sick")
				assert.NilError(f.t, f.tokyo.Orphan(f.t.Context(), f.ns, "sick", origin))
			}, deleteSick(worker2),
		},
		{
			"JM063", func(f *kueueFleet) {
				createJobs(f.t, management, submitted(f.ns, "sick", fixture.Suspended()))
				_, err := f.manager.Dispatch(f.t.Context(), f.ns, "sick", f.paris)
				assert.NilError(f.t, err)
				deleteSick(management)(f)
				createJobs(f.t, management, submitted(f.ns, "sick"))
				_, err = f.manager.Dispatch(f.t.Context(), f.ns, "sick", f.tokyo)
				assert.NilError(f.t, err)
				waitReady(f.t, worker2, f.ns, "sick", 1)
				assert.NilError(f.t, f.manager.CopyStatus(f.t.Context(), f.ns, "sick", f.tokyo))
			}, func(f *kueueFleet) {
				deleteSick(worker1)(f)
				eventuallyFinds(f.t, nil, f.args...)
				deleteSick(worker2)(f)
				deleteSick(management)(f)
			},
		},
		{
			"JM103", func(f *kueueFleet) {
				sick := fixture.New(f.ns, "sick", fixture.ManagedBy(string(delegation.Dispatch)),
					fixture.Labels(delegation.OriginUIDLabel, "0f0f0f0f-0000-4000-8000-000000000000"))
				createJobs(f.t, worker2, sick)
			}, deleteSick(worker2),
		},
		{
			"JM111", func(f *kueueFleet) {
				sick := fixture.New(f.ns, "sick", fixture.ManagedBy("flows.example.com/runner"))
				sick.Finalizers = []string{"example.com/hold"}
				createJobs(f.t, management, sick)
				_, err := client(f.t, management).BatchV1().Jobs(f.ns).Patch(f.t.Context(), "sick", types.MergePatchType,
					[]byte(`{"status":{"startTime":"2026-01-01T00:00:00Z","active":1}}`), metav1.PatchOptions{}, "status")
				assert.NilError(f.t, err)
				assert.NilError(f.t, client(f.t, management).BatchV1().Jobs(f.ns).Delete(f.t.Context(), "sick", metav1.DeleteOptions{}))
			}, func(f *kueueFleet) {
				_, err := client(f.t, management).BatchV1().Jobs(f.ns).Patch(f.t.Context(), "sick", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				assert.NilError(f.t, err)
			},
		},
	}
}

// workloadNamed is the Workload of a Job on the management cluster.
func workloadNamed(t *testing.T, namespace, name string) string {
	t.Helper()
	j, err := client(t, management).BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	assert.NilError(t, err)
	return delegation.Job().WorkloadNames(j.Name, string(j.UID), "")[0]
}

// deleteSick deletes the Job called sick as kubectl delete does, and waits until
// it is gone; the garbage collector takes its Workload.
func deleteSick(cluster string) func(*kueueFleet) {
	return func(f *kueueFleet) {
		t := f.t
		jobs := client(t, cluster).BatchV1().Jobs(f.ns)
		policy := metav1.DeletePropagationBackground
		assert.NilError(t, jobs.Delete(t.Context(), "sick", metav1.DeleteOptions{PropagationPolicy: &policy}))
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := jobs.Get(ctx, "sick", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		assert.NilError(t, err)
	}
}
