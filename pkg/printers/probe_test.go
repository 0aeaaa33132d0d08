package printers_test

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// probeWithSteps returns a report whose first steps are done.
func probeWithSteps(done int) *inspect.ProbeReport {
	r := inspect.NewProbeReport()
	r.Context, r.Namespace, r.Queue, r.Name, r.UID = "management", "ml", "gpu", "jobs-managedby-probe-x7k2p", "1"
	messages := []string{
		"Job ml/jobs-managedby-probe-x7k2p on management", "Workload job-jobs-managedby-probe-x7k2p-93e09", "in ClusterQueue gpu", "to worker-1, worker-2",
		"by worker-1", "Job ml/jobs-managedby-probe-x7k2p on worker-1", "1 Pod ready", "1 Pod ready", "Job, mirror and Workloads are gone",
	}
	for i := range r.Steps[:done] {
		r.Steps[i] = inspect.ProbeStep{Name: r.Steps[i].Name, State: inspect.StepDone, Seconds: new(0.1 + float64(i)), Message: messages[i]}
		r.TotalSeconds += *r.Steps[i].Seconds
	}
	return r
}

// withCleanup marks the last step as done, too.
func withCleanup(r *inspect.ProbeReport) *inspect.ProbeReport {
	*r.Step(inspect.ProbeCleaned) = inspect.ProbeStep{Name: inspect.ProbeCleaned, State: inspect.StepDone, Seconds: new(0.3), Message: "Job, mirror and Workloads are gone"}
	return r
}

// probeWithoutQuota returns a probe that found no quota.
func probeWithoutQuota() *inspect.ProbeReport {
	r := withCleanup(probeWithSteps(2))
	r.Trace = &inspect.Trace{
		State: inspect.StateBlocked, Message: "Needs 10m cpu; the limit is 0 (management, flavor default).",
		Fixes: []command.Fix{{Text: "raise the quota on management by 10m", Command: []string{"kubectl", "--context", "management", "patch", "clusterqueues.kueue.x-k8s.io", "gpu", "--type", "json", "-p", "[]"}}},
	}
	r.Trace.Remedy = string(command.Alternatives(r.Trace.Fixes))
	r.Conclude(false, "blocked")
	return r
}

// lostProbe returns a probe whose worker stopped answering.
func lostProbe() *inspect.ProbeReport {
	r := probeWithSteps(4)
	*r.Step(inspect.ProbeCleaned) = inspect.ProbeStep{Name: inspect.ProbeCleaned, State: inspect.StepUnknown, Message: "not everything was removed"}
	r.Trace = &inspect.Trace{
		State: inspect.StateWaiting, Message: "Kueue on management reserved quota and offered it to worker-1. Cannot see why no worker admits it.", Fixes: []command.Fix{},
		Unchecked: []inspect.Unchecked{{What: "worker worker-1", Contexts: []string{"worker-1"}, Reason: "no answer within 15s"}},
	}
	r.Left = []inspect.ProbeLeft{{
		Context: "worker-1", Kind: "Job", Namespace: "ml", Name: r.Name, Reason: "no answer within 15s",
		Command: []string{"kubectl", "--context", "worker-1", "-n", "ml", "delete", "job", r.Name},
	}}
	r.Conclude(false, "not within 2m0s")
	return r
}

// probeWithWorkers returns a probe that passed, with a worker that refused its Pod.
func probeWithWorkers() *inspect.ProbeReport {
	r := probeWithSteps(9)
	r.Cluster = "worker-1"
	r.Workers = []inspect.ProbeWorker{
		{Cluster: "paris", Context: "worker-1", Verdict: inspect.Fits},
		{Cluster: "worker-2", Context: "worker-2", Verdict: inspect.Never, Message: "ResourceQuota ml/none is exhausted: requested pods=1, used pods=0, limited to pods=0", Remedy: "request less, or have the quota raised: `kubectl --context worker-2 -n ml describe resourcequota none`"},
		{Cluster: "worker-3", Verdict: inspect.Unknown, Message: "no known context reaches it"},
		{Cluster: "worker-4", Context: "worker-4", Verdict: inspect.Never, Message: "Namespace ml does not exist", Remedy: "`kubectl --context worker-4 create namespace ml`"},
	}
	r.Conclude(false, "")
	return r
}

// dryRunProbe returns a dry run.
func dryRunProbe() *inspect.ProbeReport {
	r := probeWithSteps(0)
	r.Result, r.DryRun, r.Manifest = inspect.ProbeNotRun, "client", map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": r.Name}}
	return r
}

func TestProbe(t *testing.T) {
	for name, r := range map[string]*inspect.ProbeReport{"passed": probeWithWorkers(), "failed": probeWithoutQuota(), "lost": lostProbe(), "dry-run": dryRunProbe()} {
		t.Run(name, func(t *testing.T) {
			var text, markdown, junit, sarif bytes.Buffer
			assert.NilError(t, printers.Probe(&text, r, printers.TableOptions{Width: 80}))
			golden.Assert(t, text.String(), "probe-"+name+".txt")
			assert.NilError(t, printers.Probe(&markdown, r, printers.TableOptions{Markdown: true}))
			golden.Assert(t, markdown.String(), "probe-"+name+".md")
			assert.NilError(t, printers.ProbeJUnit(&junit, r))
			golden.Assert(t, junit.String(), "probe-"+name+".xml")
			assert.NilError(t, printers.ProbeSARIF(&sarif, r, "v1"))
			golden.Assert(t, sarif.String(), "probe-"+name+".sarif")
		})
	}
}
