package cmd

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// lacking returns a kubeconfig of a user with all rights but one verb of one of them. seen is
// called for each request with whether it was allowed, from any goroutine.
func lacking(t *testing.T, all []rights.Right, lacks rights.Right, verb string, seen func(r rbactest.Request, is bool)) (kubeconfig string) {
	t.Helper()
	lacks.Verbs = []string{verb}
	return guarded(t, filepath.Join(recordings, "running"), func(r rbactest.Request) bool {
		is := r.AllowedBy(all) && !r.AllowedBy([]rights.Right{lacks})
		seen(r, is)
		return is
	})
}

// TestPodsWithoutEachRight: a user without one of the rights reads the logs of the same
// pods or of none, and reaches the same pod with exec and port-forward or none; if none, an error
// says which right is missing.
func TestPodsWithoutEachRight(t *testing.T) {
	skipIfShort(t)
	const job = "train"
	for _, tt := range []struct {
		task, into string
		args       []string
	}{
		{rights.Logs, "pods/log", []string{"logs", job, "-n", "default"}},
		{rights.Exec, "pods/exec", []string{"exec", job, "-n", "default", "--", "date"}},
		{rights.PortForward, "pods/portforward", []string{"port-forward", job, ":80", "-n", "default"}},
	} {
		t.Run(tt.task, func(t *testing.T) {
			t.Parallel()
			all := append(rights.Of(rights.LookSecrets), rights.Of(tt.task)...)
			asked := map[string]bool{}
			runAs := func(lacks rights.Right, verb string) (reached []string, errOut string, code int, refused bool) {
				var mu sync.Mutex
				kubeconfig := lacking(t, all, lacks, verb, func(r rbactest.Request, is bool) {
					mu.Lock()
					defer mu.Unlock()
					refused, asked[r.Verb+" "+r.Resource] = refused || !is, true
					if is && r.Resource == tt.into && !slices.Contains(reached, r.Name) {
						reached = append(reached, r.Name)
					}
				})
				_, errOut, code = run(t, slices.Insert(slices.Clone(tt.args), 1, "--kubeconfig", kubeconfig)...)
				mu.Lock()
				defer mu.Unlock()
				slices.Sort(reached)
				return reached, errOut, code, refused
			}
			full, errOut, _, _ := runAs(rights.Right{}, "")
			assert.Assert(t, len(full) > 0, errOut)
			for _, r := range all {
				for _, verb := range r.Verbs {
					what := "without " + verb + " " + r.Resource.String() + strings.Join(r.Names, " ")
					if !asked[verb+" "+r.Resource.Resource] {
						continue // No request needs it.
					}
					reached, errOut, code, refused := runAs(r, verb)
					if !refused || slices.Equal(reached, full) {
						continue
					}
					assert.Check(t, len(reached) == 0, "%s it comes to %s, not %s", what, reached, full)
					isReported := strings.Contains(errOut, "may not") || strings.Contains(errOut, "forbidden") || strings.Contains(errOut, "cannot "+verb)
					assert.Check(t, isReported && code != util.ExitOK, "%s, exit code %d, it is told: %s", what, code, errOut)
				}
			}
		})
	}
}

// TestSnapshotWithoutEachRight: a snapshot has what may be read, and records what may not,
// when it is written and when it is read.
func TestSnapshotWithoutEachRight(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	all := rights.Of(rights.Snapshot)
	asked := map[string]bool{}
	recordAs := func(lacks rights.Right, verb string) (listed, errOut string, code int, refused bool) {
		var mu sync.Mutex
		kubeconfig := lacking(t, all, lacks, verb, func(r rbactest.Request, is bool) {
			mu.Lock()
			defer mu.Unlock()
			refused, asked[r.Verb+" "+r.Resource] = refused || !is, true
		})
		dir := filepath.Join(t.TempDir(), "new")
		_, errOut, code = run(t, "snapshot", dir, "-A", "--all-contexts", "--kubeconfig", kubeconfig)
		if code == util.ExitOK || code == util.ExitPartial {
			listed, _, _ = run(t, "ls", "-A", "--all-contexts", "--from", dir, "--mirrors", "--no-headers", "-o", "custom-columns=C:.context,U:.uid,S:.status")
		}
		mu.Lock()
		defer mu.Unlock()
		return listed, errOut, code, refused
	}
	full, errOut, _, _ := recordAs(rights.Right{}, "")
	assert.Assert(t, len(strings.Fields(full)) >= 6, "%s %s", full, errOut)
	for _, r := range all {
		for _, verb := range r.Verbs {
			what := "without " + verb + " " + r.Resource.String() + strings.Join(r.Names, " ")
			if !asked[verb+" "+r.Resource.Resource] {
				continue
			}
			listed, errOut, code, refused := recordAs(r, verb)
			for line := range strings.Lines(listed) {
				assert.Check(t, strings.Contains(full, line), "%s it holds %q", what, line)
			}
			// Here, addresses also identify the cluster.
			if isLost := verb != "get" || r.Resource.Resource != "namespaces"; refused && isLost {
				assert.Check(t, code != util.ExitOK && strings.Contains(errOut, "may not "+verb+" "+r.Resource.String()), "%s, exit code %d, it is told: %s", what, code, errOut)
			}
		}
	}
}
