package kueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// fixCase is a state that keeps a Job called train from running, and the findings whose fixes make
// it run, one after the other.
type fixCase struct {
	name string
	// breaks creates the state.
	breaks func(s scene)
	codes  []string
}

// scene is the namespace of a case, in a test.
type scene struct {
	t  *testing.T
	ns string
}

// fixCases returns states that administrators and users cause. Each has its own namespace and
// queues.
func fixCases() []fixCase {
	return []fixCase{
		{name: "no-queue-label", codes: []string{"JM013"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "1", `managedBy: kueue.x-k8s.io/multikueue`, ""))
		}},
		{name: "unknown-queue", codes: []string{"JM019"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "1", "", "bach"))
		}},
		{name: "unknown-owner", codes: []string{"JM102"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "1", `managedBy: kueue.x-k8s.io/multikeue`, queue))
		}},
		{name: "too-large", codes: []string{"JM029"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "9", "", queue))
		}},
		{name: "quota-in-use", codes: []string{"JM029"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "first", "8", "", queue)+job(s.ns, "second", "8", "", queue))
			running(s.t, s.ns, 2)
			create(s.t, management, job(s.ns, "train", "4", "", queue))
		}},
		{name: "deactivated", codes: []string{"JM124"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "1", "", queue))
			running(s.t, s.ns, 1)
			patch(s.t, workload(s.t, s.ns)+" -n "+s.ns, `{"spec":{"active":false}}`)
		}},
		{name: "queue-held", codes: []string{"JM019"}, breaks: func(s scene) {
			patch(s.t, "localqueues.kueue.x-k8s.io batch -n "+s.ns, `{"spec":{"stopPolicy":"Hold"}}`)
			create(s.t, management, job(s.ns, "train", "1", "managedBy: kueue.x-k8s.io/multikueue", queue))
		}},
		{name: "cluster-queue-held", codes: []string{"JM019"}, breaks: func(s scene) {
			patch(s.t, "clusterqueues.kueue.x-k8s.io "+s.ns, `{"spec":{"stopPolicy":"Hold"}}`)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "no-topology", codes: []string{"JM019"}, breaks: withoutTopology},
		{name: "worker-queue-missing", codes: []string{"JM026"}, breaks: func(s scene) {
			onWorkers(s.t, "-n", s.ns, "delete", "localqueues.kueue.x-k8s.io", queue)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "worker-queue-held", codes: []string{"JM027"}, breaks: func(s scene) {
			onWorkers(s.t, "patch", "clusterqueues.kueue.x-k8s.io", s.ns, "--type=merge", "-p", `{"spec":{"stopPolicy":"Hold"}}`)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "worker-namespace-excluded", codes: []string{"JM028"}, breaks: func(s scene) {
			onWorkers(s.t, "patch", "clusterqueues.kueue.x-k8s.io", s.ns, "--type=merge", "-p", `{"spec":{"namespaceSelector":{"matchLabels":{"team":"ml"}}}}`)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "worker-namespace-missing", codes: []string{"JM024", "JM024", "JM026"}, breaks: func(s scene) {
			onWorkers(s.t, "delete", "namespace", s.ns)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "managed-by-missing", codes: []string{"JM012"}, breaks: func(s scene) {
			// Kueue sets managedBy only if the queue exists already.
			kubectlOn(s.t, management, "-n", s.ns, "delete", "localqueues.kueue.x-k8s.io", queue)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
			create(s.t, management, fmt.Sprintf("---\napiVersion: kueue.x-k8s.io/%s\nkind: LocalQueue\nmetadata: {name: %s, namespace: %s}\nspec: {clusterQueue: %s}\n", multiKueue.API, queue, s.ns, s.ns))
		}},
		{name: "name-taken", codes: []string{"JM034"}, breaks: func(s scene) {
			create(s.t, worker1, strings.ReplaceAll(job(s.ns, "train", "1", "", ""), "suspend: true", "suspend: false"))
			// Only the first worker can admit the Job.
			kubectlOn(s.t, worker2, "patch", "clusterqueues.kueue.x-k8s.io", s.ns, "--type=merge", "-p", `{"spec":{"stopPolicy":"Hold"}}`)
			create(s.t, management, job(s.ns, "train", "1", "", queue))
		}},
		{name: "scaled-while-running", codes: []string{"JM125"}, breaks: func(s scene) {
			create(s.t, management, job(s.ns, "train", "1", "parallelism: 2, completions: 2", queue))
			running(s.t, s.ns, 1)
			kubectlOn(s.t, management, "-n", s.ns, "patch", "job", "train", "--type=merge", "-p", `{"spec":{"parallelism":1}}`)
		}},
	}
}

// withoutTopology submits a Job that requests a topology. The flavors of the workers have one, that
// of the manager has none. The manager has one Topology.
func withoutTopology(s scene) {
	for _, cluster := range multiKueue.Clusters() {
		topology := ", topologyName: " + s.ns
		if cluster == management {
			topology = ""
		}
		create(s.t, cluster, fmt.Sprintf(`---
apiVersion: kueue.x-k8s.io/%[1]s
kind: Topology
metadata: {name: %[2]s}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/%[1]s
kind: ResourceFlavor
metadata: {name: %[2]s}
spec: {nodeLabels: {kubernetes.io/os: linux}%[3]s}
`, multiKueue.API, s.ns, topology))
		kubectlOn(s.t, cluster, "patch", "clusterqueues.kueue.x-k8s.io", s.ns, "--type=merge", "-p",
			`{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"`+s.ns+`","resources":[{"name":"cpu","nominalQuota":"8"}]}]}]}}`)
	}
	create(s.t, management, strings.ReplaceAll(job(s.ns, "train", "1", "", queue), "delay: 1h", "delay: 1h, kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname"))
}

// fixNamespace is the namespace of a case.
func fixNamespace(name string) string { return "fix-" + name }

// TestFixes checks that check finds each state, and the first fix with a command ends it when it
// is run as printed.
func TestFixes(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 sets no managedBy, so its states differ")
	}
	for _, tt := range fixCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := fixNamespace(tt.name)
			assert.NilError(t, addQueues(t.Context(), ns))
			tt.breaks(scene{t, ns})
			t.Cleanup(func() { remove(t, ns) })
			var last *command.Fix
			for _, code := range tt.codes {
				last = awaitFix(t, ns, code, last)
				t.Logf("%s\n  %s", last.Text, last.Shell())
				runFix(t, last)
			}
			eventually(t, "", func() string { return runs(t, ns, "train") })
		})
	}
}

// createsAgain reports whether a user must create the object again to complete a fix.
func createsAgain(x command.Fix) bool {
	return slices.ContainsFunc(x.Then, func(s command.Step) bool {
		return len(s.Command) == 0 && strings.HasPrefix(s.Text, "create the ")
	})
}

// awaitFix waits for the first fix of a finding that its command completes, and that differs from
// the last one that was run.
func awaitFix(t *testing.T, ns, code string, last *command.Fix) (fix *command.Fix) {
	t.Helper()
	found := ""
	err := poll.Until(t.Context(), 10*time.Minute, func(context.Context) (bool, error) {
		list := read[inspect.FindingList](t, "check", "-n", ns, "--grace", "0s")
		found = ""
		for i := range list.Items {
			f := &list.Items[i]
			found += fmt.Sprintf("%s %s: %s: %s\n", f.Code, f.Name, f.Message, f.Remedy)
			k := slices.IndexFunc(f.Fixes, func(x command.Fix) bool { return changes(x.Command) && !createsAgain(x) })
			if f.Code == code && k >= 0 && (last == nil || f.Fixes[k].Shell() != last.Shell()) {
				fix = &f.Fixes[k]
				return true, nil
			}
		}
		return false, nil
	})
	assert.NilError(t, err, "no fix of %s with a command among:\n%s", code, found)
	return fix
}

// changes reports whether a command changes anything; others only show.
func changes(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"create", "patch", "delete", "recreate", "apply", "label", "annotate", "sh"}, word)
	})
}

// runFix runs the command of a fix by its words, like a program that reads them from JSON.
func runFix(t *testing.T, fix *command.Fix) {
	t.Helper()
	// recreate writes a backup.
	runFixIn(t, t.TempDir(), fix)
}

// runSteps runs the command of a fix, and those of its further steps.
func runSteps(t *testing.T, fix *command.Fix) {
	t.Helper()
	runFix(t, fix)
	for _, step := range fix.Then {
		runFix(t, &command.Fix{Command: step.Command})
	}
}

// awaitFinding waits for a finding of check.
func awaitFinding(t *testing.T, ns, code string) (found inspect.Finding) {
	t.Helper()
	var all []inspect.Finding
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		all = read[inspect.FindingList](t, "check", "-n", ns, "--grace", "0s").Items
		i := slices.IndexFunc(all, func(f inspect.Finding) bool { return f.Code == code })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0, nil
	})
	assert.NilError(t, err, "no %s: %+v", code, all)
	return found
}

// runFixIn is runFix in a directory, which may have files that the command names.
func runFixIn(t *testing.T, dir string, fix *command.Fix) {
	t.Helper()
	words := slices.Clone(fix.Command)
	if slices.Contains(words, "recreate") {
		words = append(words, "--yes")
	}
	programs, err := filepath.Abs(set.Programs)
	assert.NilError(t, err)
	if words[0] == "kubectl" {
		words[0] = filepath.Join(programs, "kubectl")
	}
	c := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // The plugin's own advice.
	c.Env = append(os.Environ(), "KUBECONFIG="+set.Kubeconfig, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	assert.NilError(t, c.Run(), "%s", &out)
}

// runs returns "" if a Job runs on a worker, otherwise its state.
func runs(t *testing.T, ns, name string) string {
	t.Helper()
	trace, err := traceOf(t, name, ns)
	if err != nil {
		return err.Error()
	}
	if trace.State == inspect.StateRunning {
		return ""
	}
	return fmt.Sprintf("%s: %s", trace.State, trace.Message)
}

// traceOf returns a trace, or an error while the Job is being recreated.
func traceOf(t *testing.T, name, ns string) (trace inspect.Trace, err error) {
	t.Helper()
	out, err := kubectl(t.Context(), "", "jobs-managedby", "trace", name, "-n", ns, "--all-contexts", "-o", "json")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 2 {
		err = nil
	}
	if err != nil {
		return trace, err
	}
	err = json.Unmarshal([]byte(out), &trace)
	return trace, err
}

// job returns the manifest of a Job of one container, with more of its spec; queue is "" for none.
func job(ns, name, cpu, spec, queue string) string {
	label := ""
	if queue != "" {
		label = ", labels: {" + delegation.QueueNameLabel + ": " + queue + "}"
	}
	more := ""
	for _, field := range strings.Split(spec, ", ") {
		if field != "" {
			more += "  " + field + "\n"
		}
	}
	return fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s%s}
spec:
%s  suspend: true
  template:
    metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 1h}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1, resources: {requests: {cpu: %q}}}]}
`, name, ns, label, more, cpu)
}

func create(t *testing.T, cluster, manifest string) {
	t.Helper()
	_, err := kubectl(t.Context(), manifest, "--context", cluster, "create", "--validate=false", "-f", "-")
	assert.NilError(t, err)
}

func kubectlOn(t *testing.T, cluster string, args ...string) {
	t.Helper()
	_, err := kubectl(t.Context(), "", append([]string{"--context", cluster}, args...)...)
	assert.NilError(t, err)
}

func onWorkers(t *testing.T, args ...string) {
	t.Helper()
	for _, w := range []string{worker1, worker2} {
		kubectlOn(t, w, args...)
	}
}

// workload returns the name of the only Workload of a namespace.
func workload(t *testing.T, ns string) string {
	t.Helper()
	name, err := kubectl(t.Context(), "", "--context", management, "-n", ns, "get", "workloads.kueue.x-k8s.io", "-o", "name")
	assert.NilError(t, err)
	return strings.TrimSpace(name)
}

// remove deletes the Jobs of a namespace on all clusters.
func remove(t *testing.T, ns string) {
	t.Helper()
	for _, cluster := range []string{management, worker1, worker2} {
		_, err := kubectl(context.Background(), "", "--context", cluster, "-n", ns, "delete", "jobs", "--all", "--wait=false", "--ignore-not-found")
		assert.Check(t, err)
	}
}

func addQueues(ctx context.Context, ns string) error {
	return multiKueue.AddQueues(ctx, kueue.Queues{
		ClusterQueue: ns, LocalQueue: queue, Namespaces: []string{ns},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{management: "40", worker1: "8", worker2: "8"},
	})
}
