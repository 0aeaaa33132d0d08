package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// breakage is a way to break a fleet, and what its remedy says to do.
type breakage struct {
	code          string
	breakIt, mend func(*kueueFleet)
}

// kueueFleet is a fleet with a MultiKueue of its own, and a namespace for one test. paris has
// eight GPUs, tokyo four.
type kueueFleet struct {
	t     *testing.T
	args  []string
	kueue *kueue.MultiKueue
	ns    string
}

// TestRemedies breaks a healthy fleet in one way after the other, sees the code of
// each and nothing else, carries the remedy out, and sees it go away.
func TestRemedies(t *testing.T) {
	serving(t, alone, all...)
	f := &kueueFleet{ns: "remedies"}
	f.kueue = ownsKueue(t, f.ns, map[string]string{management: "1000", worker1: "8", worker2: "4"})
	// It runs on paris, so that what breaks on tokyo does not touch it.
	assert.NilError(t, f.kueue.Offer(t.Context(), "paris"))
	createJobs(t, management, submitted(f.ns, "healthy"))
	waitReady(t, management, f.ns, "healthy", 1)
	assert.NilError(t, f.kueue.Offer(t.Context(), "paris", "tokyo"))
	f.args = []string{"-n", f.ns, healthyKubeconfig(t)}
	eventuallyFinds(t, nil, f.args...)
	for _, b := range breakages() {
		t.Run(b.code, func(t *testing.T) {
			f.t = t
			b.breakIt(f)
			finding := eventuallyFinds(t, []string{b.code}, f.args...)[b.code]
			assert.Assert(t, finding.Remedy != "" && len(finding.Evidence) > 0)
			b.mend(f)
			eventuallyFinds(t, nil, f.args...)
		})
	}
}

func breakages() []breakage {
	return []breakage{
		{"JM004", (*kueueFleet).misleadManager, (*kueueFleet).restoreKubeconfig},
		{"JM012", func(f *kueueFleet) {
			// Kueue's webhook would set managedBy.
			assert.NilError(f.t, f.kueue.StopProgram(f.t.Context(), management))
			f.create(management, func(j *batchv1.Job) { j.Spec.ManagedBy = nil }, fixture.Suspended())
			assert.NilError(f.t, f.kueue.StartProgram(f.t.Context(), management))
		}, deleteSick(management)},
		{"JM013", func(f *kueueFleet) {
			createJobs(f.t, management, fixture.New(f.ns, "sick", fixture.ManagedBy(string(delegation.MultiKueue))))
		}, deleteSick(management)},
		{"JM014", func(f *kueueFleet) {
			createJobs(f.t, management, fixture.New(f.ns, "sick", fixture.ManagedBy("nobody.invalid/nothing")))
		}, deleteSick(management)},
		{"JM026", func(f *kueueFleet) {
			f.addQueue(management)
			f.create(management, fixture.Labels(delegation.QueueNameLabel, "another"))
		}, func(f *kueueFleet) {
			f.addQueue(worker1)
			f.addQueue(worker2)
			waitReady(f.t, management, f.ns, "sick", 1)
			eventuallyFinds(f.t, nil, f.args...)
			deleteSick(management)(f)
		}},
		{"JM029", func(f *kueueFleet) {
			f.create(management, fixture.Pods(9))
		}, func(f *kueueFleet) {
			setQuota(f.t, worker1, f.ns, "10")
			waitReady(f.t, management, f.ns, "sick", 9)
			setQuota(f.t, worker1, f.ns, "8")
			deleteSick(management)(f)
		}},
		{"JM034", func(f *kueueFleet) {
			// tokyo is too small for the Job.
			createJobs(f.t, worker1, fixture.New(f.ns, "sick", fixture.RunsFor("2h")))
			f.create(management, fixture.Pods(5))
		}, func(f *kueueFleet) {
			deleteSick(worker1)(f)
			waitReady(f.t, management, f.ns, "sick", 5)
			deleteSick(management)(f)
		}},
		{"JM053", func(f *kueueFleet) {
			// The healthy Job has all that paris may give.
			setQuota(f.t, worker1, f.ns, "1")
			f.create(management)
			waitReady(f.t, management, f.ns, "sick", 1)
			setQuota(f.t, worker1, f.ns, "8")
			assert.NilError(f.t, f.kueue.Orphan(f.t.Context(), f.ns, "sick"))
		}, deleteSick(worker2)},
		{"JM103", func(f *kueueFleet) {
			createJobs(f.t, worker2, fixture.New(f.ns, "sick", fixture.ManagedBy(string(delegation.Dispatch)),
				fixture.Labels(delegation.OriginUIDLabel, "0f0f0f0f-0000-4000-8000-000000000000")))
		}, deleteSick(worker2)},
		{"JM111", func(f *kueueFleet) {
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
		}},
	}
}

// create submits the Job called sick.
func (f *kueueFleet) create(cluster string, options ...fixture.Option) *batchv1.Job {
	f.t.Helper()
	sick := submitted(f.ns, "sick", options...)
	createJobs(f.t, cluster, sick)
	return sick
}

// addQueue adds the LocalQueue called another to a cluster.
func (f *kueueFleet) addQueue(cluster string) {
	f.t.Helper()
	assert.NilError(f.t, f.kueue.Apply(f.t.Context(), cluster, fmt.Sprintf(
		`{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: another, namespace: %[1]s}, spec: {clusterQueue: %[1]s}}`, f.ns)))
}

// misleadManager has the manager's kubeconfig for tokyo point to where nothing listens. The old
// one stays in an annotation.
func (f *kueueFleet) misleadManager() {
	f.t.Helper()
	secrets := client(f.t, management).CoreV1().Secrets("kueue-system")
	secret, err := secrets.Get(f.t.Context(), "tokyo", metav1.GetOptions{})
	assert.NilError(f.t, err)
	was := secret.Data["kubeconfig"]
	secret.Annotations = map[string]string{"test/was": base64.StdEncoding.EncodeToString(was)}
	secret.Data["kubeconfig"] = regexp.MustCompile(`server: .*`).ReplaceAll(was, []byte("server: https://127.0.0.1:1"))
	_, err = secrets.Update(f.t.Context(), secret, metav1.UpdateOptions{})
	assert.NilError(f.t, err)
}

func (f *kueueFleet) restoreKubeconfig() {
	f.t.Helper()
	secrets := client(f.t, management).CoreV1().Secrets("kueue-system")
	secret, err := secrets.Get(f.t.Context(), "tokyo", metav1.GetOptions{})
	assert.NilError(f.t, err)
	secret.Data["kubeconfig"], err = base64.StdEncoding.DecodeString(strings.TrimSpace(secret.Annotations["test/was"]))
	assert.NilError(f.t, err)
	_, err = secrets.Update(f.t.Context(), secret, metav1.UpdateOptions{})
	assert.NilError(f.t, err)
}

// deleteSick deletes the Job called sick as kubectl delete does, and waits until it is gone; a
// mirror may have its name then. Kueue and the garbage collector do the rest.
func deleteSick(cluster string) func(*kueueFleet) {
	return func(f *kueueFleet) {
		t := f.t
		jobs := client(t, cluster).BatchV1().Jobs(f.ns)
		policy := metav1.DeletePropagationBackground
		sick, err := jobs.Get(t.Context(), "sick", metav1.GetOptions{})
		assert.NilError(t, err)
		assert.NilError(t, jobs.Delete(t.Context(), "sick", metav1.DeleteOptions{PropagationPolicy: &policy}))
		err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			j, err := jobs.Get(ctx, "sick", metav1.GetOptions{})
			return apierrors.IsNotFound(err) || err == nil && j.UID != sick.UID, nil
		})
		assert.NilError(t, err)
	}
}
