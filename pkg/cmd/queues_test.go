package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
)

// TestQueues: rows of ClusterQueues below their cohorts, of LocalQueues, and of sums, with the
// workers behind a manager's queue and what could not be read.
func TestQueues(t *testing.T) {
	for name, args := range map[string][]string{
		"queues.txt":         {"--from", quotaFleet},
		"queues-wide.txt":    {"--from", quotaFleet, "-o", "wide"},
		"queues-summary.txt": {"--from", quotaFleet, "--summary"},
		"queues-local.txt":   {"--from", quotaFleet, "-n", "default"},
		"queues-names.txt":   {"--from", quotaFleet, "-o", "name"},
		"queues-named.txt":   {"--from", quotaFleet, "team"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, code := run(t, append([]string{"queues"}, args...)...)
			assert.Equal(t, code, util.ExitPartial)
			golden.Assert(t, out, name)
		})
	}
	for _, c := range []struct{ args, want string }{
		{"--summary -A", "error: --summary shows whole clusters, so it cannot be combined with --namespace or --all-namespaces"},
		{"-w --from " + quotaFleet, "error: --from cannot be combined with --watch"},
		{"--summary --pending", "error: --summary shows clusters and --pending shows Workloads: choose one"},
		{"--summary main", "error: --summary shows whole clusters and takes no NAME"},
	} {
		_, errOut, code := run(t, append([]string{"queues"}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.Contains(errOut, c.want), errOut)
	}
	out, errOut, code := run(t, "queues", "--from", quotaFleet, "main", "unknown", "-o", "json")
	assert.Equal(t, code, util.ExitError)
	assert.Assert(t, strings.Contains(errOut, `there is no queue or cohort "unknown" on the contexts that were read`), errOut)
	var list queues.QueueList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	for _, row := range list.Items {
		assert.Equal(t, row.Name, "main")
	}
	assert.Equal(t, len(list.Items), 4)
	_, errOut, code = run(t, "queues", "--from", filepath.Join(recordings, "running"), "-n", "nowhere")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(errOut, "No queues found in namespace nowhere\nnote: namespace \"nowhere\" does not exist in ") && strings.Count(errOut, "\n") == 2, errOut)
}

// TestQueuesPending: a waiting Workload has its place in the order of its queue, and one that is
// in no line has none.
func TestQueuesPending(t *testing.T) {
	skipIfShort(t)
	strict, faults := filepath.Join(recordings, "strict-fifo-head-blocks"), filepath.Join(recordings, "many-quota-faults")
	for name, args := range map[string][]string{
		"queues-pending.txt":          {"--from", faults},
		"queues-pending-wide.txt":     {"--from", strict, "-o", "wide"},
		"queues-pending-local.txt":    {"--from", strict, "-n", "default"},
		"queues-pending-markdown.txt": {"--from", strict, "-o", "markdown"},
		"queues-pending-names.txt":    {"--from", strict, "-o", "name"},
		"queues-pending-named.txt":    {"--from", faults, "d11", "d16"},
		"queues-pending-columns.txt":  {"--from", faults, "-o", "custom-columns=JOB:.name,PLACE:.place", "--no-headers"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"queues", "--pending"}, args...)...)
			assert.Equal(t, code, util.ExitOK, errOut)
			golden.Assert(t, out, name)
		})
	}
	out, errOut, code := run(t, "queues", "--pending", "--from", faults, "-o", "json")
	assert.Equal(t, code, util.ExitOK, errOut)
	fits(t, "pendinglist", out)
	_, errOut, code = run(t, "queues", "--pending", "unknown", "--from", faults)
	assert.Equal(t, code, util.ExitError)
	assert.Assert(t, strings.Contains(errOut, `there is no queue or cohort "unknown"`), errOut)
	_, errOut, code = run(t, "queues", "--pending", "-n", "nowhere", "--from", faults)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(errOut, "No pending Workloads found in namespace nowhere\n"), errOut)
}

// TestQueuesAddUp: the usage of queues is what their admitted Workloads hold, on every cluster of
// every recording.
func TestQueuesAddUp(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	compared := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(recordings, e.Name())
		out, errOut, _ := run(t, "queues", "--from", dir, "-o", "json")
		var list queues.QueueList
		assert.NilError(t, json.Unmarshal([]byte(out), &list), errOut)
		held := map[string]map[string]resource.Quantity{}
		for _, q := range list.Items {
			if q.Kind != queues.KindClusterQueue || q.Used == nil {
				continue
			}
			if held[q.Context] == nil {
				held[q.Context] = heldBy(t, filepath.Join(dir, q.Context+".yaml"))
			}
			want := held[q.Context][strings.Join([]string{q.Name, q.Flavor, q.Resource}, " ")]
			used := resource.MustParse(*q.Used)
			assert.Check(t, used.Cmp(want) == 0, "%s: %s %s %s %s: %s, and its Workloads hold %s", e.Name(), q.Context, q.Name, q.Flavor, q.Resource, *q.Used, want.String())
			compared++
		}
	}
	assert.Assert(t, compared > 50, "%d", compared)
}

// heldBy sums the requests of a recorded cluster's Workloads that have quota, by queue, flavor
// and resource.
func heldBy(t *testing.T, file string) map[string]resource.Quantity {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	var list struct {
		Items []struct {
			Kind   string `json:"kind"`
			Status struct {
				Admission struct {
					ClusterQueue string `json:"clusterQueue"`
					PodSets      []struct {
						Name    string                       `json:"name"`
						Count   int64                        `json:"count"`
						Flavors map[string]string            `json:"flavors"`
						Usage   map[string]resource.Quantity `json:"resourceUsage"`
					} `json:"podSetAssignments"`
				} `json:"admission"`
				Conditions  []struct{ Type, Status string } `json:"conditions"`
				Reclaimable []struct {
					Name  string `json:"name"`
					Count int64  `json:"count"`
				} `json:"reclaimablePods"`
			} `json:"status"`
		} `json:"items"`
	}
	assert.NilError(t, yaml.Unmarshal(text, &list))
	held := map[string]resource.Quantity{}
	for _, o := range list.Items {
		is := map[string]bool{}
		for _, c := range o.Status.Conditions {
			is[c.Type] = c.Status == "True"
		}
		if o.Kind != "Workload" || is["Finished"] || !is["QuotaReserved"] {
			continue
		}
		for _, set := range o.Status.Admission.PodSets {
			for name, quantity := range set.Usage {
				key := strings.Join([]string{o.Status.Admission.ClusterQueue, set.Flavors[name], name}, " ")
				sum := held[key]
				sum.Add(quantity)
				// Kueue releases what its pods no longer need.
				for _, r := range o.Status.Reclaimable {
					if r.Name == set.Name {
						sum.Sub(*resource.NewMilliQuantity(quantity.MilliValue()*r.Count/set.Count, resource.DecimalSI))
					}
				}
				held[key] = sum
			}
		}
	}
	return held
}

// TestQueuesUnknownName: a name without a queue is an error, also with --pending, where no row could
// mean that nothing waits.
func TestQueuesUnknownName(t *testing.T) {
	for _, args := range []string{"queues nosuch -n default", "queues nosuch -n default --pending", "queues nosuch -A --pending", "queues nosuch --pending"} {
		_, errOut, code := run(t, append(strings.Fields(args), "--from", filepath.Join(recordings, "many-quota-faults"))...)
		assert.Check(t, code == util.ExitError, "%s: %d %s", args, code, errOut)
		assert.Check(t, strings.Contains(errOut, `"nosuch"`) && !strings.Contains(errOut, "nothing waits"), "%s: %s", args, errOut)
	}
}

// TestSummaryFindsWorkers: the summary finds a worker without a Secret by its Workloads, as doctor and
// trace do.
func TestSummaryFindsWorkers(t *testing.T) {
	dir := copyOf(t, "running", func(text string) string { return text })
	path := filepath.Join(dir, "kwok-mgr.yaml")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	objects := strings.Split(string(text), "\n- apiVersion: ")
	kept := slices.DeleteFunc(objects, func(o string) bool { return strings.Contains(o, "\n  kind: Secret\n") })
	assert.NilError(t, os.WriteFile(path, []byte(strings.Join(kept, "\n- apiVersion: ")), 0o600))
	out, _, code := run(t, "queues", "--summary", "--from", dir, "-o", "json")
	assert.Equal(t, code, util.ExitOK, out)
	var list queues.QueueList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	for _, row := range list.Items {
		if row.Context == "kwok-w1" {
			assert.DeepEqual(t, row.Cluster.Names, []string{"worker1"})
		}
		assert.Assert(t, row.Name != "worker1", "the worker has no second row")
	}
}
