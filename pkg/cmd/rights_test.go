package cmd

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// guarded serves a bundle as API servers that call may for each request, and returns the
// kubeconfig for them.
func guarded(t *testing.T, dir string, may func(rbactest.Request) bool) (kubeconfig string) {
	t.Helper()
	return serve(t, dir, func(_ string, w http.ResponseWriter, r *http.Request) bool {
		asked, ok := rbactest.RequestOf(r)
		if ok && !may(asked) {
			rbactest.Refuse(w, asked)
			return true
		}
		return false
	})
}

// readBundles returns the bundles whose clusters are read with few rights.
func readBundles(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, name := range []string{"running", "worker-lost", "service-account-missing-on-workers", "strict-fifo-head-blocks", "origin-deleted-controller-down"} {
		dirs = append(dirs, filepath.Join(recordings, name))
	}
	return append(dirs, "../../examples/fleet")
}

// TestReadRights: the rights in the table are sufficient for reading, and each is needed.
func TestReadRights(t *testing.T) {
	skipIfShort(t)
	looking, recording, reading := rights.Of(rights.LookSecrets), rights.Of(rights.Snapshot), append(rights.Of(rights.LookSecrets), rights.Of(rights.Logs)...)
	past := rights.Of(rights.History)
	var mu sync.Mutex
	used := map[string]bool{}
	var tooMuch []string
	for _, dir := range append(readBundles(t), filepath.Join(recordings, "mirror-refused-by-quota")) {
		job := tracedJob(filepath.Base(dir))
		for _, args := range [][]string{
			{"ls", "-n", "default", "--all-contexts"},
			{"ls", "-A", "--all-contexts", "-o", "wide"},
			{"check", "-n", "default", "--all-contexts"},
			{"check", "-A", "--all-contexts"},
			{"trace", job, "-n", "default"},
			{"trace", "-A"},
			{"history", "-A"},
			{"logs", job, "-n", "default"},
			{"snapshot", filepath.Join(t.TempDir(), "new"), "-A", "--all-contexts"},
		} {
			allowed := map[string][]rights.Right{"logs": reading, "snapshot": recording, "history": past}[args[0]]
			if allowed == nil {
				allowed = looking
			}
			kubeconfig := guarded(t, dir, func(r rbactest.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				used[r.Verb+" "+r.Resource] = true
				if !r.AllowedBy(allowed) {
					tooMuch = append(tooMuch, args[0]+": "+r.String())
				}
				return true
			})
			_, errOut, code := run(t, append(args, "--kubeconfig", kubeconfig)...)
			assert.Assert(t, code != util.ExitUsage, errOut)
		}
	}
	slices.Sort(tooMuch)
	assert.DeepEqual(t, slices.Compact(tooMuch), []string(nil))
	// Nothing is watched in a bundle, no dispatcher runs there, and it does not have the order of
	// queues, which test/e2e reads. No recorded worker has a ClusterProfile; TestClusterProfile
	// of pkg/inspect/read reads one. No recorded Job without a Workload names a class;
	// TestMissingClass has one.
	unseen := []string{
		"list leases", "get localqueues/pendingworkloads", "get clusterqueues/pendingworkloads", "get clusterprofiles",
		"get workloadpriorityclasses", "get priorityclasses",
	}
	for _, r := range slices.Concat(reading, recording, past) {
		for _, verb := range r.Verbs {
			what := verb + " " + r.Resource.Resource
			assert.Check(t, used[what] || verb == "watch" || slices.Contains(unseen, what), "no request needs the right to %s", what)
		}
	}
}

// TestReadingWithoutEachRight: a user without one of the rights sees less and a message about it, and
// nothing different from a user with all rights.
func TestReadingWithoutEachRight(t *testing.T) {
	skipIfShort(t)
	all := rights.Of(rights.LookSecrets)
	for _, dir := range readBundles(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			readAs := func(without rights.Right, verb string) (jobs map[string]*inspect.Job, found []string, errOut string, refused bool) {
				var mu sync.Mutex
				kubeconfig := guarded(t, dir, func(r rbactest.Request) bool {
					taken := without
					taken.Verbs = []string{verb}
					is := r.AllowedBy(all) && !r.AllowedBy([]rights.Right{taken})
					mu.Lock()
					defer mu.Unlock()
					refused = refused || !is
					return is
				})
				out, listErrs, code := run(t, "ls", "-A", "--all-contexts", "-o", "json", "--kubeconfig", kubeconfig)
				assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, listErrs)
				var list inspect.OwnerList
				assert.NilError(t, json.Unmarshal([]byte(out), &list))
				jobs = map[string]*inspect.Job{}
				for _, j := range list.All() {
					jobs[j.Context+" "+j.UID] = j
				}
				out, checkErrs, code := run(t, "check", "-A", "--all-contexts", "-o", "json", "--fail-on", "none", "--kubeconfig", kubeconfig)
				assert.Assert(t, code == util.ExitOK || code == util.ExitPartial, checkErrs)
				var findings inspect.FindingList
				assert.NilError(t, json.Unmarshal([]byte(out), &findings))
				for _, f := range findings.Items {
					found = append(found, strings.Join([]string{f.Code, f.Context, f.Namespace, f.Kind, f.Name}, " "))
				}
				for _, e := range findings.Errors {
					checkErrs += e.Message
				}
				return jobs, found, checkErrs, refused
			}
			jobs, found, _, _ := readAs(rights.Right{}, "")
			for _, r := range all {
				for _, verb := range r.Verbs {
					if verb == "watch" {
						continue // Nothing is watched in a bundle.
					}
					fewer, less, errOut, refused := readAs(r, verb)
					what := verb + " " + r.Resource.String() + strings.Join(r.Names, " ")
					if !refused {
						continue
					}
					for _, f := range less {
						// For an object with a problem, less may be known than its reason.
						_, object, _ := strings.Cut(f, " ")
						assert.Check(t, slices.ContainsFunc(found, func(full string) bool { return strings.HasSuffix(full, " "+object) }), "without %s: %s", what, f)
					}
					for uid, j := range fewer {
						before, known := jobs[uid]
						// A Job that may have been claimed is not reported as unclaimed.
						isMissing := known && before.Status == delegation.Unclaimed && j.Status == delegation.Pending && r.Resource.Resource == "workloads"
						assert.Check(t, known && (j.Status == before.Status || isMissing) && j.ManagedBy == before.ManagedBy, "without %s: %s is %s", what, j.Name, j.Status)
					}
					// Here, addresses also identify the cluster; only trace gets other
					// namespaces.
					isLost := verb != "get" || r.Resource.Resource != "namespaces"
					// These only improve the advice about quota: without them, Kueue's own
					// messages are shown.
					isAdvice := verb == "get" || slices.Contains([]string{"limitranges", "nodes", "cohorts", "resourceflavors", "topologies"}, r.Resource.Resource)
					isLost = isLost && !isAdvice
					assert.Check(t, !isLost || strings.Contains(errOut, "may not "+verb+" "+r.Resource.String()), "without %s, it is told: %s", what, errOut)
				}
			}
		})
	}
}
