package kueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// submitOne creates a Job of one Pod with labels and more of its spec.
func submitOne(t *testing.T, ns, name, cpu, lasts, labels, spec string) {
	t.Helper()
	_, err := kubectl(t.Context(), fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: batch%s}}
spec:
  suspend: true%s
  template:
    metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: %s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1, resources: {requests: {cpu: %q}}}]}
`, name, ns, labels, spec, lasts, cpu), "--context", management, "create", "--validate=false", "-f", "-")
	assert.NilError(t, err)
	t.Cleanup(func() {
		_, err := kubectl(context.Background(), "", "--context", management, "-n", ns, "delete", "job", name)
		assert.NilError(t, err)
	})
}

// historyOf returns the history of a namespace, by the names of the Jobs.
func historyOf(t *testing.T, ns string) map[string]inspect.PastJob {
	t.Helper()
	rows := map[string]inspect.PastJob{}
	list := read[inspect.HistoryList](t, "history", "-n", ns)
	for i := range list.Items {
		j := list.Items[i]
		_, isTwice := rows[j.Name]
		assert.Assert(t, !isTwice, "%s is there twice", j.Name)
		rows[j.Name] = j
	}
	assert.Equal(t, list.Total.Jobs, len(rows))
	return rows
}

// finish ends the Pods of some Jobs on some clusters with success. Pods that are being deleted
// belong to an evicted run.
func finish(t *testing.T, ns string, clusters, jobs []string) {
	t.Helper()
	for _, cluster := range clusters {
		for _, job := range jobs {
			out, err := kubectl(t.Context(), "", "--context", cluster, "-n", ns, "get", "pods", "-l", "job-name="+job, "--field-selector", "status.phase=Running",
				"-o", `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}`)
			assert.NilError(t, err)
			for _, pod := range strings.Fields(out) {
				// It may be gone by now.
				_, _ = kubectl(t.Context(), "", "--context", cluster, "-n", ns, "patch", "pod", pod, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Succeeded"}}`)
			}
		}
	}
}

// ended waits until this many Jobs of a namespace are in the history, and those that finished have
// their Workload's end there too. It ends the Pods of the named Jobs, on some clusters.
func ended(t *testing.T, ns string, n int, clusters []string, jobs ...string) map[string]inspect.PastJob {
	t.Helper()
	var rows map[string]inspect.PastJob
	eventually(t, fmt.Sprint(n), func() string {
		applyFixes(t, ns)
		finish(t, ns, clusters, jobs)
		rows = historyOf(t, ns)
		count := 0
		for _, j := range rows {
			if j.Reason != "" {
				count++
			}
		}
		return fmt.Sprint(count)
	})
	for _, j := range rows {
		checkPast(t, j)
	}
	return rows
}

// checkPast checks what holds for each Job that a worker ran: its life consists of its waits, its
// runs and its lost time.
func checkPast(t *testing.T, j inspect.PastJob) {
	t.Helper()
	assert.Equal(t, j.ManagedBy, delegation.MultiKueue)
	assert.Assert(t, j.Cluster != nil, j.Name)
	assert.Assert(t, *j.Cluster == worker1 || *j.Cluster == worker2, "%s ran on %q", j.Name, *j.Cluster)
	assert.Assert(t, j.WaitSeconds != nil && j.RunSeconds != nil && j.Evictions != nil && j.FinishedAt != nil, "%+v", j)
	life := int64(j.FinishedAt.Sub(j.CreatedAt.Time).Seconds())
	lost := int64(0)
	if j.LostSeconds != nil {
		lost = *j.LostSeconds
	}
	assert.Equal(t, *j.WaitSeconds+*j.RunSeconds+lost, life, "%+v", j)
	assert.Assert(t, j.Resources["cpu"] != "" && j.Flavors["cpu"] == "default", "%+v", j)
}

// TestHistoryOfEnds checks the history of Jobs that ran, failed, and ran again after a user
// deactivated them.
func TestHistoryOfEnds(t *testing.T) {
	t.Parallel()
	const ns = "ended"
	submit(t, ns, "2", "3s", "ran")
	submitOne(t, ns, "failed", "1", "1h", "", "\n  activeDeadlineSeconds: 2")
	submitOne(t, ns, "requeued", "1", "1h", "", "")
	var workload string
	eventually(t, "Running", func() string {
		out, err := kubectl(t.Context(), "", "--context", management, "-n", ns, "get", "workloads.kueue.x-k8s.io", "-o",
			`jsonpath={range .items[*]}{.metadata.ownerReferences[0].name} {.metadata.name} {.status.conditions[?(@.type=="Admitted")].status}{"\n"}{end}`)
		assert.NilError(t, err)
		for _, line := range strings.Split(out, "\n") {
			if words := strings.Fields(line); len(words) == 3 && words[0] == "requeued" && words[2] == "True" {
				workload = words[1]
				return "Running"
			}
		}
		return out
	})
	what := "workloads.kueue.x-k8s.io " + workload + " -n " + ns
	patch(t, what, `{"spec":{"active":false}}`)
	_, err := kubectl(t.Context(), "", "--context", management, "-n", ns, "wait", "workloads.kueue.x-k8s.io/"+workload, "--for=condition=QuotaReserved=false", "--timeout=5m")
	assert.NilError(t, err)
	// A mirror that still exists would end instead of running again.
	for _, cluster := range []string{worker1, worker2} {
		kubectlOn(t, cluster, "-n", ns, "wait", "jobs/requeued", "--for=delete", "--timeout=5m")
	}
	patch(t, what, `{"spec":{"active":true}}`)

	rows := ended(t, ns, 3, []string{worker1, worker2}, "requeued")
	assert.Equal(t, rows["ran"].Result, inspect.ResultComplete)
	assert.Equal(t, *rows["ran"].Evictions, int32(0))
	assert.Equal(t, *rows["ran"].LostSeconds, int64(0))
	assert.Equal(t, rows["ran"].Resources["cpu"], "2")
	assert.Equal(t, rows["failed"].Result, inspect.ResultFailed)
	assert.Equal(t, rows["requeued"].Result, inspect.ResultComplete)
	assert.Assert(t, *rows["requeued"].Evictions >= 1, "%+v", rows["requeued"])

	list := read[inspect.HistoryList](t, "history", "-n", ns, "--by", "queue", "--since", "1h")
	assert.Equal(t, len(list.Groups), 1)
	assert.Equal(t, list.Groups[0].Group, ns+"/"+queue)
	assert.Equal(t, list.Groups[0].Jobs, 3)
	assert.Equal(t, list.Groups[0].Failed, 1)
	hours := 0.0
	for _, j := range rows {
		hours += j.ResourceHours["cpu"]
	}
	assert.Assert(t, hours > 0 && list.Groups[0].ResourceHours["cpu"]-hours < 1e-9)
}

// TestHistoryOfMoves checks that a Job whose worker is drained ends on the other one, and its
// earlier run time is lost.
func TestHistoryOfMoves(t *testing.T) {
	t.Parallel()
	const ns = "moved"
	submit(t, ns, "1", "1h", "moved")
	running(t, ns, 1)
	from := ""
	eventually(t, "a worker has it", func() string {
		for _, group := range read[inspect.OwnerList](t, "ls", "-n", ns, "--managed-by", string(delegation.MultiKueue)).Items {
			for _, j := range group.Jobs {
				if len(j.Mirrors) == 1 {
					from = j.Mirrors[0].Context
					return "a worker has it"
				}
			}
		}
		return ""
	})
	_, err := kubectl(t.Context(), "", "--context", from, "patch", "clusterqueues.kueue.x-k8s.io", ns, "--type=merge", "-p", `{"spec":{"stopPolicy":"HoldAndDrain"}}`)
	assert.NilError(t, err)
	to := worker1
	if from == worker1 {
		to = worker2
	}
	row := ended(t, ns, 1, []string{to}, "moved")["moved"]
	assert.Assert(t, *row.Cluster != from, "it stayed on %s: %+v", from, row)
	assert.Assert(t, *row.Evictions >= 1, "%+v", row)
	assert.Equal(t, row.Result, inspect.ResultComplete)
}

// TestHistoryOfPreempted checks that a Job of higher priority preempts one of lower priority,
// which runs again later.
func TestHistoryOfPreempted(t *testing.T) {
	t.Parallel()
	const ns = "preempted"
	addUrgent(t, ns, management, worker1, worker2)
	submit(t, ns, "8", "1h", "low-1", "low-2")
	running(t, ns, 2)
	began := time.Now()
	submitOne(t, ns, "urgent", "8", "2s", ", kueue.x-k8s.io/priority-class: urgent", "")
	// It can end only after one of the others released its quota.
	kubectlOn(t, management, "-n", ns, "wait", "jobs/urgent", "--for=condition=Complete", "--timeout=10m")
	// The other one runs again once Kueue has recorded its worker. If a worker gives it quota
	// before the manager has seen that it lost its quota, Kueue 0.19.2 never does, or never copies
	// its status: that is JM022, JM041 or JM138, and the fix helps.
	noted := "3"
	if multiKueue.API == "v1beta1" { // It records none.
		noted = "0"
	}
	eventually(t, noted, func() string {
		applyFixes(t, ns)
		out, err := kubectl(t.Context(), "", "--context", management, "-n", ns, "get", "workloads.kueue.x-k8s.io", "-o",
			`go-template={{range .items}}{{if .status.clusterName}}{{range .status.conditions}}{{if and (eq .type "Admitted") (eq .status "True")}}admitted {{end}}{{end}}{{end}}{{end}}`)
		assert.NilError(t, err)
		return fmt.Sprint(len(strings.Fields(out)))
	})
	eventually(t, fmt.Sprint(map[delegation.Status]int{delegation.Running: 2, delegation.Complete: 1}), func() string {
		applyFixes(t, ns)
		return fmt.Sprint(statuses(t, ns))
	})
	rows := ended(t, ns, 3, []string{worker1, worker2}, "low-1", "low-2")
	evictions, low := int32(0), 0
	for _, name := range []string{"low-1", "low-2"} {
		evictions += *rows[name].Evictions
		assert.Equal(t, rows[name].Result, inspect.ResultComplete)
		if *rows[name].Evictions > 0 {
			low++
			assert.Assert(t, rows[name].FinishedAt.After(began), "%+v", rows[name])
		}
	}
	// The manager does not count an eviction that it did not see.
	assert.Assert(t, evictions >= 1 && low >= 1 || missedEviction(ns), "%+v", rows)
	assert.Equal(t, *rows["urgent"].Evictions, int32(0))
}

// appliedFixes has a key, which begins with the namespace, for each finding whose fix applyFixes
// has run.
var appliedFixes sync.Map

// missedEviction reports whether the manager missed an eviction in a namespace, as JM138 reports.
func missedEviction(ns string) (is bool) {
	appliedFixes.Range(func(key, _ any) bool {
		is = is || strings.HasPrefix(fmt.Sprint(key), ns+" JM138")
		return !is
	})
	return is
}

// applyFixes runs each fix once that check prints for a Job that a worker evicted and started again
// at once.
func applyFixes(t *testing.T, ns string) {
	t.Helper()
	for _, f := range read[inspect.FindingList](t, "check", "-n", ns, "--grace", "30s").Items {
		k := slices.IndexFunc(f.Fixes, func(x command.Fix) bool { return changes(x.Command) })
		if !slices.Contains([]string{"JM022", "JM041", "JM138"}, f.Code) || k < 0 {
			continue
		}
		if _, isDone := appliedFixes.LoadOrStore(fmt.Sprint(ns, " ", f.Code, f.Name, f.Since), true); !isDone {
			t.Logf("%s %s", f.Code, f.Message)
			runSteps(t, &f.Fixes[k])
		}
	}
}
