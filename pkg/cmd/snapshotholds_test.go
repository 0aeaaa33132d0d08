package cmd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestSnapshotHoldsWhatIsRead: whatever commands ask clusters for, snapshot asks for too, so
// that what one of them begins to read is not forgotten; and to each of these requests the
// snapshot gives the answer of the cluster.
func TestSnapshotHoldsWhatIsRead(t *testing.T) {
	// No snapshot holds nodes, accounts, Kueue's configuration or what Kueue computes, and commands
	// do without.
	left := sets.New("nodes", "serviceaccounts", "configmaps", "localqueues/pendingworkloads", "clusterqueues/pendingworkloads")
	for _, dir := range lookedAt(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var uris []string
			asked := sets.New[string]()
			kubeconfig := serve(t, dir, func(_ string, _ http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				if one, ok := rbactest.RequestOf(r); ok {
					asked.Insert(one.Resource)
					uris = append(uris, r.URL.RequestURI())
				}
				return false
			})
			snapshot := filepath.Join(t.TempDir(), "new")
			_, told, code := run(t, "snapshot", snapshot, "-A", "--all-contexts", "--kubeconfig", kubeconfig)
			assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, told)
			recorded := asked
			asked, uris = sets.New[string](), nil

			job := tracedJob(filepath.Base(dir))
			for _, args := range [][]string{
				{"ls", "-A", "--all-contexts", "--reason", "-o", "wide"},
				{"ls", "-A", "--all-contexts", "--kinds", "all", "-o", "wide"},
				{"ls", "-n", "default", "--all-contexts", "-o", "wide"},
				{"trace", "-A"},
				{"trace", job, "-n", "default"},
				{"trace", job, "-A"},
				{"check", "-A"},
				{"check", "-n", "default", "--kinds", "all"},
				{"queues", "--all-contexts"},
				{"queues", "-n", "default", "--all-contexts"},
				{"kinds", "-A", "--all-contexts"},
				{"history", "-A"},
			} {
				_, told, code := run(t, append(args, "--kubeconfig", kubeconfig)...)
				assert.Assert(t, code != util.ExitUsage, told)
			}
			assert.Assert(t, asked.HasAll("jobs", "pods", "workloads", "cohorts", "secrets"), "little was asked for: %s", sets.List(asked))
			assert.DeepEqual(t, sets.List(asked.Difference(recorded).Difference(left)), []string{})

			slices.Sort(uris)
			live, back := answersOf(t, dir), answersOf(t, snapshot)
			for _, uri := range slices.Compact(uris) {
				for context, of := range live {
					assert.DeepEqual(t, back[context](uri), of(uri))
				}
			}
		})
	}
}

// answersOf are what the contexts of a bundle answer to a request for objects: as it comes, but
// for the version of a list, and how a kubeconfig is written.
func answersOf(t *testing.T, dir string) map[string]func(uri string) any {
	t.Helper()
	b, err := bundle.Open(dir)
	assert.NilError(t, err)
	answers := map[string]func(string) any{}
	for _, c := range b.Contexts() {
		if c.Err != nil {
			continue
		}
		answers[c.Name] = func(uri string) any {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Config.Host+uri, http.NoBody)
			assert.NilError(t, err)
			response, err := c.Config.Transport.RoundTrip(request)
			assert.NilError(t, err)
			defer func() { _ = response.Body.Close() }()
			var answer map[string]any
			assert.NilError(t, json.NewDecoder(response.Body).Decode(&answer))
			if kind, _ := answer["kind"].(string); strings.HasSuffix(kind, "List") {
				delete(answer, "metadata")
			}
			if data, ok := answer["data"].(map[string]any); ok {
				text, err := base64.StdEncoding.DecodeString(fmt.Sprint(data["kubeconfig"]))
				assert.NilError(t, err)
				data["kubeconfig"], err = read.AddressIn(text)
				assert.NilError(t, err)
			}
			return answer
		}
	}
	return answers
}
