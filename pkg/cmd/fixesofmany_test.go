package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// findingsOf returns the findings of check with a code.
func findingsOf(t *testing.T, code, dir string) (found []inspect.Finding) {
	t.Helper()
	var list inspect.FindingList
	decode(t, &list, "check", "-A", "--grace", "0s", "--fail-on", "none", "-o", "json", "--from", dir)
	for _, f := range list.Items {
		if f.Code == code {
			found = append(found, f)
		}
	}
	return found
}

// TestFindingsOfManyJobs: a finding about several Jobs speaks for all of them: it counts their Pods, gives each answer
// of a check, and has a fix for all. A trace speaks for its Job.
func TestFindingsOfManyJobs(t *testing.T) {
	skipIfShort(t)
	checks := findingsOf(t, "JM020", recordings+"/jobsets")
	assert.Equal(t, len(checks), 1)
	assert.Equal(t, checks[0].Message, "MultiKueue waits for AdmissionCheck budget of kwok-mgr, which is pending again for default/d05b: its last answer was Retry (ask again); "+
		"for default/d05a: its last answer was Rejected (no money left)")

	nodes := findingsOf(t, "JM049", recordings+"/dispatch-origin-in-multikueue-queue")
	assert.Equal(t, len(nodes), 3)
	assert.Assert(t, strings.HasSuffix(nodes[1].Message, "the scheduler of kwok-w2 finds no node for 3 Pods of 3 Jobs: flavor od requires label pool=od"), nodes[1].Message)
	out, _, _ := run(t, "trace", nodes[1].Name, "-n", nodes[1].Namespace, "--from", recordings+"/dispatch-origin-in-multikueue-queue")
	assert.Assert(t, strings.Contains(out, "\n1 Pod on kwok-w2 finds no node: flavor od requires label pool=od.\n") && strings.Contains(out, "JM049  default/"+nodes[1].Name+"  the reason above"), out)
	listed, _, _ := run(t, "ls", "-A", "--reason", "--all-contexts", "--from", recordings+"/dispatch-origin-in-multikueue-queue")
	assert.Assert(t, strings.Contains(listed, "3 Pods on kwok-w1 find no node: flavor od requires label pool=od."), listed)

	flavors := findingsOf(t, "JM019", recordings+"/many-quota-faults")
	assert.Equal(t, len(flavors[0].Jobs), 4)
	assert.Equal(t, flavors[0].Fixes[0].Text, "remove annotation kueue.x-k8s.io/podset-*-topology from the Pod template, then delete default/d11-big, default/d11-fits, default/d11-pref and 1 more, and create them again")
}

// TestCheckCompletesFindings: check reads the Jobs of some findings by name, and says of them what trace says: what a
// worker changed, and whether any context can take a Job.
func TestCheckCompletesFindings(t *testing.T) {
	skipIfShort(t)
	changed := findingsOf(t, "JM036", recordings+"/mirror-mutated-on-worker")
	assert.Equal(t, len(changed), 1)
	assert.Assert(t, strings.Contains(changed[0].Message, "changed the image of container main in its mirror (registry.example.com/train:1 → mirror.example.com/train:1)"), changed[0].Message)
}

// TestWaitBehindUnread: ls names the workers that were not read in each reason that does not depend on them.
func TestWaitBehindUnread(t *testing.T) {
	skipIfShort(t)
	dir := withoutContext(t, "many-quota-faults", "kwok-w1")
	out, _, _ := run(t, "ls", "-A", "--reason", "--all-contexts", "--from", dir)
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "is stopped on kwok-w2.") {
			assert.Assert(t, strings.Contains(line, "Not read: worker1."), line)
		}
	}
	assert.Assert(t, strings.Contains(out, "is stopped on kwok-w2. Not read: worker1."), out)
}

// TestReasonSaysPlaceOnce: ls says once where a Job runs whose own status does not.
func TestReasonSaysPlaceOnce(t *testing.T) {
	skipIfShort(t)
	out, _, _ := run(t, "ls", "-A", "--reason", "--all-contexts", "--from", recordings+"/jobsets")
	assert.Assert(t, strings.Contains(out, "It runs on kwok-w1, but Kueue on kwok-mgr has not recorded that."), out)
	assert.Assert(t, !strings.Contains(out, "Running on kwok-w1. It runs on kwok-w1"), out)
}

// TestCronJobInQueue: Kueue gives the Jobs of a CronJob to MultiKueue if their queue uses it.
func TestCronJobInQueue(t *testing.T) {
	skipIfShort(t)
	out, _, _ := run(t, "trace", "cronjob/a15-cron", "-n", "default", "--from", recordings+"/many-edits-one-timed-out")
	assert.Assert(t, strings.Contains(out, "Objects created from it are delegated to kueue.x-k8s.io/multikueue, because LocalQueue default/user-queue uses MultiKueue."), out)
	assert.Assert(t, strings.Contains(out, "the objects that it creates are managed by kueue.x-k8s.io/multikueue"), out)
}

// TestDoctorNamesCohorts: doctor does not tick quotas of queues that it skips.
func TestDoctorNamesCohorts(t *testing.T) {
	skipIfShort(t)
	out, _, _ := run(t, "doctor", "--from", recordings+"/cohort-borrowing")
	assert.Assert(t, strings.Contains(out, "quotas (queues in cohorts)"), out)
	out, _, _ = run(t, "doctor", "--from", recordings+"/running")
	assert.Assert(t, strings.Contains(out, " quotas, ") && !strings.Contains(out, "in cohorts"), out)
}

// TestFileNamesMissingObjects: a Job that names a priority class that does not exist never runs. One that names such a
// Workload waits for it. Those in the same file count as existing on
// the cluster that the Job is submitted to.
func TestFileNamesMissingObjects(t *testing.T) {
	const recorded = "  recorded: [workloadpriorityclasses.kueue.x-k8s.io, priorityclasses.scheduling.k8s.io]\n  served: [batch/v1, kueue.x-k8s.io/v1beta2, v1, scheduling.k8s.io/v1]\n"
	dir := copyOf(t, "running", func(snapshot string) string { return strings.ReplaceAll(snapshot, "  file: ", recorded+"  file: ") })
	for name, tt := range map[string]struct {
		metadata, spec, want string
		code                 int
		object               string
	}{
		"PriorityClass":         {"", "priorityClassName: nosuch, ", "PriorityClass nosuch does not exist", util.ExitFindings, "scheduling.k8s.io/v1, kind: PriorityClass, value: 7"},
		"WorkloadPriorityClass": {"labels: {kueue.x-k8s.io/priority-class: nosuch}", "", "WorkloadPriorityClass nosuch does not exist", util.ExitFindings, "kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, value: 7"},
		"Workload": {
			"labels: {kueue.x-k8s.io/prebuilt-workload-name: nosuch}", "",
			"\nWould wait. The Job names Workload default/nosuch, which does not exist on kwok-mgr; Kueue keeps it suspended until that exists.", util.ExitPartial, "kueue.x-k8s.io/v1beta2, kind: Workload",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.yaml")
			manifest := "{apiVersion: batch/v1, kind: Job, metadata: {name: x, " + tt.metadata + "}, spec: {template: {spec: {" + tt.spec +
				"restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}"
			assert.NilError(t, os.WriteFile(path, []byte(manifest), 0o600))
			out, errOut, code := run(t, "trace", "-f", path, "-n", "default", "--queue", "user-queue", "--from", dir)
			assert.Equal(t, code, tt.code, out+errOut)
			assert.Assert(t, strings.Contains(out, tt.want), out)
			both := manifest + "\n---\n{apiVersion: " + tt.object + ", metadata: {name: nosuch}}\n"
			assert.NilError(t, os.WriteFile(path, []byte(both), 0o600))
			out, errOut, _ = run(t, "trace", "-f", path, "-n", "default", "--queue", "user-queue", "--from", dir)
			_, ofManager, _ := strings.Cut(out, " kwok-mgr (manager) ")
			ofManager, _, _ = strings.Cut(ofManager, "\n")
			assert.Assert(t, ofManager != "" && !strings.Contains(ofManager, "nosuch"), out+errOut)
			assert.Assert(t, !strings.Contains(errOut, "skipped"), errOut)
		})
	}
}

// TestFileNamesMissingWorkload: a Job has no place in a queue while its Workload does not exist.
func TestFileNamesMissingWorkload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: ml, labels: {kueue.x-k8s.io/queue-name: gpu, kueue.x-k8s.io/prebuilt-workload-name: w}}, spec: {
		managedBy: kueue.x-k8s.io/multikueue, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}`
	for _, tt := range []struct {
		file, want string
		isPlaced   bool
	}{
		{job, "Would wait. The Job names Workload ml/w, which does not exist on management; ", false},
		{job + "\n---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: ml}}", "Fits on worker-2 now.", true},
		{job + "\n---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: other}}", "Would wait. ", false},
	} {
		assert.NilError(t, os.WriteFile(path, []byte(tt.file), 0o600))
		out, errOut, code := run(t, "trace", "-f", path, "--from", exampleFleet)
		assert.Equal(t, code, 0, out+errOut)
		assert.Assert(t, strings.Contains(out, "\n"+tt.want), out)
		assert.Equal(t, strings.Contains(out, ": place "), tt.isPlaced, out)
	}
}

// TestFileNamesUnreadObjects: it is unknown whether a Job runs whose class or Workload the snapshot may lack. A Job
// that names none is judged.
func TestFileNamesUnreadObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		metadata, spec string
		code           int
		want           string
	}{
		"PriorityClass":         {"", "priorityClassName: nosuch, ", util.ExitPartial, "cannot tell whether PriorityClass nosuch exists: the snapshot lacks priorityclasses.scheduling.k8s.io"},
		"WorkloadPriorityClass": {"labels: {kueue.x-k8s.io/priority-class: nosuch}", "", util.ExitPartial, "cannot tell whether WorkloadPriorityClass nosuch exists: the snapshot lacks workloadpriorityclasses.kueue.x-k8s.io"},
		"RuntimeClass":          {"", "runtimeClassName: nosuch, ", util.ExitPartial, "cannot tell whether RuntimeClass nosuch exists: the snapshot lacks runtimeclasses.node.k8s.io"},
		"none":                  {"", "", 0, "Fits on "},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.yaml")
			manifest := "{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: ml, " + tt.metadata + "}, spec: {managedBy: kueue.x-k8s.io/multikueue, template: {spec: {" + tt.spec +
				"restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
			assert.NilError(t, os.WriteFile(path, []byte(manifest), 0o600))
			for _, format := range [][]string{nil, {"-o", "json"}} {
				out, errOut, code := run(t, append([]string{"trace", "-f", path, "--queue", "gpu", "--from", exampleFleet}, format...)...)
				assert.Equal(t, code, tt.code, out+errOut)
				assert.Assert(t, strings.Contains(out, tt.want), out)
				assert.Equal(t, strings.Contains(out, "Fits on "), tt.code == 0, out)
			}
		})
	}
}

// TestCheckOffersNoVainDispatch: check offers to dispatch a Job only if a context may take it, as trace does.
func TestCheckOffersNoVainDispatch(t *testing.T) {
	for name, tt := range map[string]struct {
		namespaces string
		want       string
	}{
		"no context can": {"", "create namespace ml on worker"},
		"one may":        {"- {apiVersion: v1, kind: Namespace, metadata: {name: ml, uid: w2}}\n", "dispatch it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"snapshot.yaml": "apiVersion: jobmanagedby.github.io/v1alpha1\nkind: Snapshot\ntakenAt: '2026-11-20T23:43:44Z'\ncontexts:\n" +
					"- {name: hub, server: 'https://hub', clusterUID: h, version: v1.36.3, file: hub.yaml, served: [batch/v1, v1]}\n" +
					"- {name: worker, server: 'https://worker', clusterUID: w, version: v1.36.3, file: worker.yaml, served: [batch/v1, v1]}\n",
				"hub.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: h}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: ml, uid: h2}}\n" +
					"- {apiVersion: batch/v1, kind: Job, metadata: {name: eval, namespace: ml, uid: e, creationTimestamp: '2026-11-20T23:33:44Z'}, spec: {managedBy: jobmanagedby.github.io/dispatch, template: {spec: {}}}}\n",
				"worker.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: w}}\n" + tt.namespaces,
			} {
				assert.NilError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			found := findingsOf(t, "JM101", dir)
			assert.Equal(t, len(found), 1)
			assert.Equal(t, found[0].Fixes[0].Text, tt.want)
			out, _, _ := run(t, "trace", "eval", "-n", "ml", "--from", dir)
			assert.Assert(t, strings.Contains(out, "\nFix: "+tt.want), out)
		})
	}
}
