package kueue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// probeName is the namespace of these tests, and the name of their ClusterQueue.
const probeName = "probe"

// nothingLeft checks that no cluster has a Job or a Workload in the namespace.
func nothingLeft(t *testing.T) {
	t.Helper()
	for _, cluster := range []string{management, worker1, worker2} {
		out, err := kubectl(t.Context(), "", "--context", cluster, "-n", probeName, "get", "jobs.batch,workloads.kueue.x-k8s.io,pods", "-o", "name")
		assert.NilError(t, err)
		for name := range strings.FieldsSeq(out) {
			// The garbage collector deletes Pods of a deleted Job.
			assert.Check(t, strings.HasPrefix(name, "pod/"), "%s has %s", cluster, name)
		}
	}
}

// quota sets the quota of a cluster's ClusterQueue.
func quota(t *testing.T, cluster, cpu string) {
	t.Helper()
	kubectlOn(t, cluster, "patch", "clusterqueues.kueue.x-k8s.io", probeName, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":%q}]`, cpu))
}

// TestProbe checks that doctor --probe passes if Jobs run. Otherwise it says at which step a Job
// stops and why. It leaves nothing on any cluster. The test runs alone, because it stops Kueue and
// cuts connections.
func TestProbe(t *testing.T) {
	if multiKueue.API == "v1beta1" {
		t.Skip("managers before Kueue 0.15 and their conditions differ")
	}
	assert.NilError(t, addQueues(t.Context(), probeName))
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"passes", probePasses},
		{"dry run", probeDryRun},
		{"all workers", probeAllWorkers},
		{"no quota", probeNoQuota},
		{"no queue on workers", probeNoQueue},
		{"Kueue stopped", probeKueueStopped},
		{"connections cut", probeCut},
		{"interrupted", probeInterrupted},
		{"killed", probeKilled},
		{"few rights", probeFewRights},
		{"worker frozen", probeFrozen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			tt.test(t)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

func probePasses(t *testing.T) {
	t.Helper()
	r := probeOnce(t, 0)
	assert.Equal(t, r.Result, inspect.ProbePassed)
	for _, s := range r.Steps {
		assert.Check(t, s.State == inspect.StepDone && s.Seconds != nil, "%+v", s)
	}
	assert.Assert(t, strings.HasPrefix(r.Cluster, "worker-"), r.Cluster)
	assert.Assert(t, r.Step(inspect.ProbeCleaned).Seconds != nil && r.TotalSeconds > 0)
	nothingLeft(t)

	// Several queues use MultiKueue, so one has to be named.
	_, err := kubectl(t.Context(), "", "jobs-managedby", "doctor", "--probe")
	exit := (*exec.ExitError)(nil)
	assert.Assert(t, errors.As(err, &exit) && exit.ExitCode() == util.ExitUsage, "%v", err)
	assert.ErrorContains(t, err, "Choose one with -n and --queue")
	_, err = kubectl(t.Context(), "", "jobs-managedby", "doctor", "--probe", "-n", probeName, "--queue", "bach")
	assert.ErrorContains(t, err, "no LocalQueue bach in namespace probe uses MultiKueue")
}

func probeDryRun(t *testing.T) {
	t.Helper()
	for _, mode := range []string{"client", "server"} {
		r := probeOnce(t, 0, "--dry-run="+mode)
		assert.Equal(t, r.Result, inspect.ProbeNotRun)
		assert.Equal(t, r.Manifest["kind"], "Job")
		nothingLeft(t)
	}
}

func probeAllWorkers(t *testing.T) {
	t.Helper()
	// The Pod meets the strictest Pod security standard, and a ResourceQuota on worker 2 refuses
	// it.
	kubectlOn(t, worker1, "label", "namespace", probeName, "pod-security.kubernetes.io/enforce=restricted")
	kubectlOn(t, worker2, "-n", probeName, "create", "quota", "none", "--hard=pods=0")
	var r *inspect.ProbeReport
	// The quota counts once its controller has written its status.
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		p := startProbe(t, "-o", "json", "--all-workers", "--dry-run=client")
		code := p.end(t)
		r = &inspect.ProbeReport{}
		return code == util.ExitFindings, json.Unmarshal(p.out.Bytes(), r)
	})
	assert.NilError(t, err)
	assert.Equal(t, len(r.Workers), 2, "%+v", r.Workers)
	assert.Equal(t, fmt.Sprint(r.Workers[0].Context, r.Workers[0].Verdict, r.Workers[0].Message), worker1+"fits")
	assert.Equal(t, r.Workers[1].Verdict, inspect.Never)
	assert.Assert(t, strings.Contains(r.Workers[1].Message, "none is exhausted"), r.Workers[1].Message)
	kubectlOn(t, worker2, "-n", probeName, "delete", "quota", "none")

	// The quota of the ClusterQueue is checked as by trace -f.
	quota(t, worker2, "0")
	r = probeOnce(t, util.ExitFindings, "--all-workers")
	assert.Equal(t, r.Result, inspect.ProbePassed)
	assert.Equal(t, r.Workers[1].Verdict, inspect.Never, "%+v", r.Workers)
	assert.Assert(t, r.Workers[1].Message != "" && r.Workers[1].Remedy != "")
	quota(t, worker2, "8")
	nothingLeft(t)
}

func probeNoQuota(t *testing.T) {
	t.Helper()
	quota(t, management, "0")
	r := probeOnce(t, util.ExitFindings)
	stoppedAt(t, r, inspect.ProbeReserved, "cpu")
	assert.Assert(t, r.Trace != nil && len(r.Trace.Fixes) > 0)
	quota(t, management, "40")
}

func probeNoQueue(t *testing.T) {
	t.Helper()
	onWorkers(t, "-n", probeName, "delete", "localqueues.kueue.x-k8s.io", queue)
	r := probeOnce(t, util.ExitFindings)
	stoppedAt(t, r, inspect.ProbeAdmitted, "LocalQueue")
	assert.NilError(t, addQueues(t.Context(), probeName))
}

func probeKueueStopped(t *testing.T) {
	t.Helper()
	assert.NilError(t, multiKueue.StopProgram(t.Context(), management))
	r := probeOnce(t, util.ExitFindings, "--timeout", "8s")
	stoppedAt(t, r, inspect.ProbeQueued, "Workload")
	assert.NilError(t, multiKueue.StartProgram(t.Context(), management))
}

// probeCut checks the case that the manager reaches no worker.
func probeCut(t *testing.T) {
	t.Helper()
	var restore []func()
	for _, worker := range []string{worker1, worker2} {
		secret, err := kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker, "-o", "jsonpath={.data}")
		assert.NilError(t, err)
		text, err := kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker, "-o", "go-template={{.data.kubeconfig | base64decode}}")
		assert.NilError(t, err)
		astray := base64.StdEncoding.EncodeToString(regexp.MustCompile(`server: .*`).ReplaceAll([]byte(text), []byte("server: https://127.0.0.1:1")))
		patch(t, "secret "+worker+" -n kueue-system", `{"data":{"kubeconfig":"`+astray+`"}}`)
		restore = append(restore, func() { patch(t, "secret "+worker+" -n kueue-system", `{"data":`+secret+`}`) })
	}
	defer func() {
		for _, one := range restore {
			one()
		}
		awaitConnected(t)
	}()
	assert.NilError(t, multiKueue.Await(t.Context(), management, "multikueueclusters.kueue.x-k8s.io", "--all", "--for=condition=Active=False"))
	r := probeOnce(t, util.ExitFindings)
	stoppedAt(t, r, inspect.ProbeReserved, "cannot use worker")
}

// awaitConnected waits until the manager is connected to its workers, and the queue is active again.
func awaitConnected(t *testing.T) {
	t.Helper()
	assert.NilError(t, multiKueue.Await(t.Context(), management, "multikueueclusters.kueue.x-k8s.io", "--all", "--for=condition=Active"))
	assert.NilError(t, multiKueue.Await(t.Context(), management, "clusterqueues.kueue.x-k8s.io", probeName, "--for=condition=Active"))
}

// probeInterrupted checks that a signal while a Workload is on the workers leaves nothing.
func probeInterrupted(t *testing.T) {
	t.Helper()
	for _, worker := range []string{worker1, worker2} {
		quota(t, worker, "0")
	}
	for _, tt := range []struct {
		sig    syscall.Signal
		isLost bool
	}{{sig: syscall.SIGINT}, {sig: syscall.SIGTERM}, {sig: syscall.SIGINT, isLost: true}} {
		sig := tt.sig
		p := startProbe(t)
		p.await(t, `submitting Job probe/(\S+)`)
		awaitWorkload(t, worker1)
		thaw := func() {}
		if tt.isLost {
			// The manager does not answer, and is back when the Job must be removed.
			var err error
			thaw, err = set.Freeze(management)
			assert.NilError(t, err)
			t.Cleanup(thaw)
		}
		assert.NilError(t, p.cmd.Process.Signal(sig))
		p.await(t, `removing Job probe/`)
		thaw()
		assert.Equal(t, p.end(t), util.ExitSignal+int(sig), "%s", &p.log)
		assert.Assert(t, strings.Contains(p.out.String(), "interrupted"), p.out.String())
		nothingLeft(t)
	}
	for _, worker := range []string{worker1, worker2} {
		quota(t, worker, "8")
	}
}

// awaitWorkload waits until a cluster has a Workload in the namespace.
func awaitWorkload(t *testing.T, cluster string) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		out, err := kubectl(ctx, "", "--context", cluster, "-n", probeName, "get", "workloads.kueue.x-k8s.io", "-o", "name")
		return strings.TrimSpace(out) != "", err
	})
	assert.NilError(t, err)
}

// probeKilled checks that the next probe removes the leftovers of a killed one once its time is
// up.
func probeKilled(t *testing.T) {
	t.Helper()
	quota(t, management, "0")
	p := startProbe(t)
	name := p.await(t, `submitting Job probe/(\S+)`)
	awaitWorkload(t, management)
	assert.NilError(t, p.cmd.Process.Kill())
	p.end(t)
	quota(t, management, "40")
	kubectlOn(t, management, "-n", probeName, "get", "job", name)

	// Within its time the Job is left alone: its probe might still run.
	next := startProbe(t)
	next.await(t, name+` belongs to another probe`)
	assert.Equal(t, next.end(t), 0, "%s", &next.log)
	// Its time passes. Other Jobs are left alone.
	submit(t, probeName, "1", "1h", "jobs-managedby-probe-of-somebody")
	kubectlOn(t, management, "-n", probeName, "annotate", "--overwrite", "job", name, "jobmanagedby.github.io/probe-seconds=1")
	last := startProbe(t)
	last.await(t, `removed Job probe/`+name)
	assert.Equal(t, last.end(t), 0, "%s", &last.log)
	kubectlOn(t, management, "-n", probeName, "get", "job", "jobs-managedby-probe-of-somebody")
	remove(t, probeName)
	awaitNothing(t)
}

// awaitNothing waits until Kueue has removed its objects.
func awaitNothing(t *testing.T) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		left := ""
		for _, cluster := range []string{management, worker1, worker2} {
			out, err := kubectl(ctx, "", "--context", cluster, "-n", probeName, "get", "jobs.batch,workloads.kueue.x-k8s.io", "-o", "name")
			if err != nil {
				return false, err
			}
			left += out
		}
		return left == "", nil
	})
	assert.NilError(t, err)
}

// probeFewRights checks that without the right to create Jobs, nothing is created. The roles of
// rbac are enough.
func probeFewRights(t *testing.T) {
	t.Helper()
	kubectlOn(t, management, "apply", "--validate=false", "-f", "../../rbac/look-secrets.yaml")
	for _, cluster := range []string{management, worker1, worker2} {
		kubectlOn(t, cluster, "apply", "--validate=false", "-f", "../../rbac/look.yaml")
		for _, role := range []string{"jobs-managedby-look", "jobs-managedby-look-cluster"} {
			kubectlOn(t, cluster, "create", "clusterrolebinding", "prober-"+role, "--clusterrole="+role, "--user=prober")
		}
	}
	_, err := kubectl(t.Context(), "", "jobs-managedby", "doctor", "--probe", "-n", probeName, "--as", "prober")
	assert.ErrorContains(t, err, "you may not create, delete jobs in namespace probe")
	nothingLeft(t)
	kubectlOn(t, management, "apply", "--validate=false", "-f", "../../rbac/probe.yaml")
	kubectlOn(t, management, "-n", probeName, "create", "rolebinding", "prober", "--clusterrole=jobs-managedby-probe", "--user=prober")
	kubectlOn(t, management, "-n", "kueue-system", "create", "rolebinding", "prober", "--role=jobs-managedby-look-secrets", "--user=prober")
	p := startProbe(t, "-o", "json", "--as", "prober")
	assert.Equal(t, p.end(t), 0, "%s\n%s", &p.log, &p.out)
	nothingLeft(t)
}

// probeFrozen checks the case that no worker answers the manager or us. The report names possible
// leftovers, and there are none once the workers are back.
func probeFrozen(t *testing.T) {
	t.Helper()
	var thaws []func()
	for _, worker := range []string{worker1, worker2} {
		thaw, err := set.Freeze(worker)
		assert.NilError(t, err)
		t.Cleanup(thaw)
		thaws = append(thaws, thaw)
	}
	r := probeOnce(t, util.ExitFindings, "--timeout", "10s", "--context-timeout", "3s")
	for _, thaw := range thaws {
		thaw()
	}
	assert.Equal(t, r.Result, inspect.ProbeFailed)
	stopped := r.Stopped()
	assert.Assert(t, stopped.Name == inspect.ProbeReserved || stopped.Name == inspect.ProbeOffered || stopped.Name == inspect.ProbeAdmitted, "%+v", r.Steps)
	assert.Equal(t, r.Step(inspect.ProbeCleaned).State, inspect.StepUnknown)
	assert.Assert(t, len(r.Left) > 0 && strings.HasPrefix(strings.Join(r.Left[0].Command, " "), "kubectl --context worker-"), "%+v", r.Left)
	awaitConnected(t)
	awaitNothing(t)
}
