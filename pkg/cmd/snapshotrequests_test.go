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

// TestSnapshotAnswersAllRequests: snapshot sends every request that commands send, so that new
// requests of a command are not forgotten; and the snapshot answers each of these requests like
// the cluster.
func TestSnapshotAnswersAllRequests(t *testing.T) {
	// No snapshot has nodes, accounts, Kueue's configuration or Kueue's computed lists, and
	// commands work without them.
	left := sets.New("nodes", "serviceaccounts", "configmaps", "localqueues/pendingworkloads", "clusterqueues/pendingworkloads")
	for _, dir := range readBundles(t) {
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
			_, errOut, code := run(t, "snapshot", snapshot, "-A", "--all-contexts", "--kubeconfig", kubeconfig)
			assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, errOut)
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
				_, errOut, code := run(t, append(args, "--kubeconfig", kubeconfig)...)
				assert.Assert(t, code != util.ExitUsage, errOut)
			}
			assert.Assert(t, asked.HasAll("jobs", "pods", "workloads", "cohorts", "secrets"), "the commands have requested only: %s", sets.List(asked))
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

// answersOf returns the answers of a bundle's contexts to requests for objects, without the
// version of a list and the format of a kubeconfig.
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
