package cmd

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
)

// TestQueuesPendingOnUnreadWorkers checks that --pending names the unread workers on which a Workload may
// wait that has quota on its manager, and does not say then that nothing waits.
func TestQueuesPendingOnUnreadWorkers(t *testing.T) {
	dir := filepath.Join(recordings, "no-quota-on-workers")
	const first, second = "not checked: worker worker1 on kwok-w1 (not selected)\n", "not checked: worker worker2 on kwok-w2 (not selected)\n"
	for name, tt := range map[string]struct {
		args []string
		want string
		code int
	}{
		"all were read":          {[]string{"-n", "default"}, "", util.ExitOK},
		"one was read":           {[]string{"-n", "default", "--contexts", "kwok-mgr,kwok-w2"}, first, util.ExitPartial},
		"none was read":          {[]string{"-n", "default", "--contexts", "kwok-mgr"}, first + second, util.ExitPartial},
		"of one LocalQueue":      {[]string{"-n", "default", "--contexts", "kwok-mgr", "user-queue"}, first + second, util.ExitPartial},
		"of all ClusterQueues":   {[]string{"--contexts", "kwok-mgr"}, first + second, util.ExitPartial},
		"of another namespace":   {[]string{"-n", "kube-system", "--contexts", "kwok-mgr"}, "No pending Workloads found in namespace kube-system\n", util.ExitOK},
		"another manager's rows": {[]string{"-A", "--contexts", "kwok-w1"}, "", util.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"queues", "--pending", "--from", dir}, tt.args...)
			_, errOut, code := run(t, args...)
			assert.Equal(t, errOut, tt.want)
			assert.Equal(t, code, tt.code)
			out, _, code := run(t, append(args, "-o", "json")...)
			assert.Equal(t, code, tt.code)
			var list queues.PendingList
			assert.NilError(t, json.Unmarshal([]byte(out), &list))
			assert.Equal(t, len(list.Unchecked) > 0, tt.code == util.ExitPartial)
		})
	}
}

// TestQueuesPendingWithFewRights checks that a user of one namespace of the manager learns that the workers
// were not read, and that Workloads that may not be read are not reported as none.
func TestQueuesPendingWithFewRights(t *testing.T) {
	dir := filepath.Join(recordings, "no-quota-on-workers")
	inNamespace := func(resources ...string) func(rbactest.Request) bool {
		return func(r rbactest.Request) bool {
			for _, resource := range resources {
				if r.Namespace == "default" && r.Resource == resource {
					return true
				}
			}
			return false
		}
	}
	may := inNamespace("jobs", "workloads", "localqueues")
	queuesOf := func(contexts string, may func(context string, r rbactest.Request) bool) (errOut string, code int) {
		kubeconfig := serve(t, dir, func(context string, w http.ResponseWriter, r *http.Request) bool {
			asked, ok := rbactest.RequestOf(r)
			if !ok || may(context, asked) {
				return false
			}
			rbactest.Refuse(w, asked)
			return true
		})
		_, errOut, code = run(t, "queues", "--pending", "-n", "default", "--contexts", contexts, "--kubeconfig", kubeconfig)
		return errOut, code
	}
	errOut, code := queuesOf("kwok-mgr", func(_ string, r rbactest.Request) bool { return may(r) })
	assert.Equal(t, code, util.ExitPartial)
	for _, name := range []string{"worker1", "worker2"} {
		line := "not checked: worker " + name + " (cannot tell which context reaches it: its address on kwok-mgr could not be read)\n"
		assert.Assert(t, strings.Contains(errOut, line), errOut)
	}
	assert.Assert(t, !strings.Contains(errOut, "nothing waits"), errOut)
	errOut, code = queuesOf("kwok-mgr,kwok-w1", func(context string, r rbactest.Request) bool {
		return may(r) && (context == "kwok-mgr" || r.Resource != "workloads")
	})
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(errOut, "1 of 2 contexts were not read completely"), errOut)
	assert.Assert(t, !strings.Contains(errOut, "nothing waits"), errOut)
}

// TestSummaryOfUnread checks that the summary has a question mark for what could not be read, and claims of no cluster
// then that no manager names it.
func TestSummaryOfUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		recording, context, resource string
		// want are the beginnings of the first rows of clusters.
		want map[string]string
		// states are states in the document. A state that depends on addresses is not one: a served recording has others.
		states map[string]queues.ClusterCondition
	}{
		"a lost worker": {
			recording: "worker-lost",
			want:      map[string]string{"kwok-w1": "kwok-w1 worker1 Lost 11s ? ? ? ? ? ? ?"},
			states:    map[string]queues.ClusterCondition{"kwok-mgr": queues.ClusterManager, "kwok-w1": queues.ClusterLost, "kwok-w2": queues.ClusterActive},
		},
		"MultiKueueClusters of the manager": {
			recording: "running", context: "kwok-mgr", resource: "multikueueclusters",
			want:   map[string]string{"kwok-mgr": "kwok-mgr ? Manager cpu 2 9k 1 0 8998 ", "kwok-w2": "kwok-w2 ? Unknown cpu 0 9k 0 0 9k -"},
			states: map[string]queues.ClusterCondition{"kwok-mgr": queues.ClusterManager, "kwok-w1": queues.ClusterUnknown, "kwok-w2": queues.ClusterUnknown},
		},
		"MultiKueueClusters of a worker": {
			recording: "running", context: "kwok-w1", resource: "multikueueclusters",
			states: map[string]queues.ClusterCondition{"kwok-mgr": queues.ClusterManager, "kwok-w1": queues.ClusterActive},
		},
		"ClusterQueues of a worker": {
			recording: "running", context: "kwok-w1", resource: "clusterqueues",
			want:   map[string]string{"kwok-w1": "kwok-w1 worker1 Active ? ? ? ? ? ? ?"},
			states: map[string]queues.ClusterCondition{"kwok-mgr": queues.ClusterManager, "kwok-w1": queues.ClusterActive},
		},
		"Workloads of the manager": {
			recording: "running", context: "kwok-mgr", resource: "workloads",
			want:   map[string]string{"kwok-mgr": "kwok-mgr - Manager cpu 2 9k ? ? 8998 ?"},
			states: map[string]queues.ClusterCondition{"kwok-mgr": queues.ClusterManager},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"queues", "--summary", "--from", filepath.Join(recordings, tt.recording)}
			if tt.resource != "" {
				args = []string{"queues", "--summary", "--kubeconfig", serve(t, filepath.Join(recordings, tt.recording), func(context string, w http.ResponseWriter, r *http.Request) bool {
					asked, ok := rbactest.RequestOf(r)
					if !ok || context != tt.context || asked.Resource != tt.resource {
						return false
					}
					rbactest.Refuse(w, asked)
					return true
				})}
			}
			out, errOut, code := run(t, args...)
			assert.Equal(t, code, util.ExitPartial, errOut)
			rows := map[string]string{}
			for line := range strings.Lines(out) {
				cells := strings.Fields(line)
				if len(cells) > 5 && rows[cells[0]] == "" {
					rows[cells[0]] = strings.Join(cells, " ")
				}
			}
			for context, want := range tt.want {
				assert.Assert(t, strings.HasPrefix(rows[context], want), out)
			}
			out, _, _ = run(t, append(args, "-o", "json")...)
			var list queues.QueueList
			assert.NilError(t, json.Unmarshal([]byte(out), &list))
			states := map[string]queues.ClusterCondition{}
			for _, row := range list.Items {
				states[row.Context] = row.Cluster.State
			}
			for context, want := range tt.states {
				assert.Equal(t, states[context], want, context)
			}
		})
	}
}
