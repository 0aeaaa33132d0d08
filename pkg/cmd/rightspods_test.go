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

// lacking is a kubeconfig of somebody who has all rights but one verb of one of them; seen is
// told of each request whether it was allowed, from any goroutine.
func lacking(t *testing.T, all []rights.Right, lacks rights.Right, verb string, seen func(r rbactest.Request, is bool)) (kubeconfig string) {
	t.Helper()
	lacks.Verbs = []string{verb}
	return guarded(t, filepath.Join(recordings, "running"), func(r rbactest.Request) bool {
		is := r.Among(all) && !r.Among([]rights.Right{lacks})
		seen(r, is)
		return is
	})
}

// TestPodsWithEachRightTakenAway: whoever lacks one of the rights reads the logs of the same
// pods, or of none, and comes to the same pod with exec and port-forward, or to none; and
// where it is none, is told what is lacking.
func TestPodsWithEachRightTakenAway(t *testing.T) {
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
			look := func(lacks rights.Right, verb string) (reached []string, told string, code int, refused bool) {
				var mu sync.Mutex
				kubeconfig := lacking(t, all, lacks, verb, func(r rbactest.Request, is bool) {
					mu.Lock()
					defer mu.Unlock()
					refused, asked[r.Verb+" "+r.Resource] = refused || !is, true
					if is && r.Resource == tt.into && !slices.Contains(reached, r.Name) {
						reached = append(reached, r.Name)
					}
				})
				_, told, code = run(t, slices.Insert(slices.Clone(tt.args), 1, "--kubeconfig", kubeconfig)...)
				mu.Lock()
				defer mu.Unlock()
				slices.Sort(reached)
				return reached, told, code, refused
			}
			full, told, _, _ := look(rights.Right{}, "")
			assert.Assert(t, len(full) > 0, told)
			for _, r := range all {
				for _, verb := range r.Verbs {
					what := "without " + verb + " " + r.Resource.String() + strings.Join(r.Names, " ")
					if !asked[verb+" "+r.Resource.Resource] {
						continue // Nobody misses it.
					}
					reached, told, code, refused := look(r, verb)
					if !refused || slices.Equal(reached, full) {
						continue
					}
					assert.Check(t, len(reached) == 0, "%s it comes to %s, not %s", what, reached, full)
					isTold := strings.Contains(told, "may not") || strings.Contains(told, "forbidden") || strings.Contains(told, "cannot "+verb)
					assert.Check(t, isTold && code != util.ExitOK, "%s, exit code %d, it is told: %s", what, code, told)
				}
			}
		})
	}
}

// TestSnapshotWithEachRightTakenAway: a snapshot holds what may be seen, and says what not,
// as it is made and whenever it is read.
func TestSnapshotWithEachRightTakenAway(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	all := rights.Of(rights.Snapshot)
	asked := map[string]bool{}
	look := func(lacks rights.Right, verb string) (listed, told string, code int, refused bool) {
		var mu sync.Mutex
		kubeconfig := lacking(t, all, lacks, verb, func(r rbactest.Request, is bool) {
			mu.Lock()
			defer mu.Unlock()
			refused, asked[r.Verb+" "+r.Resource] = refused || !is, true
		})
		dir := filepath.Join(t.TempDir(), "new")
		_, told, code = run(t, "snapshot", dir, "-A", "--all-contexts", "--kubeconfig", kubeconfig)
		if code == util.ExitOK || code == util.ExitPartial {
			listed, _, _ = run(t, "ls", "-A", "--all-contexts", "--from", dir, "--mirrors", "--no-headers", "-o", "custom-columns=C:.context,U:.uid,S:.status")
		}
		mu.Lock()
		defer mu.Unlock()
		return listed, told, code, refused
	}
	full, told, _, _ := look(rights.Right{}, "")
	assert.Assert(t, len(strings.Fields(full)) >= 6, "%s %s", full, told)
	for _, r := range all {
		for _, verb := range r.Verbs {
			what := "without " + verb + " " + r.Resource.String() + strings.Join(r.Names, " ")
			if !asked[verb+" "+r.Resource.Resource] {
				continue
			}
			listed, told, code, refused := look(r, verb)
			for line := range strings.Lines(listed) {
				assert.Check(t, strings.Contains(full, line), "%s it holds %q", what, line)
			}
			// Which cluster it is, the addresses tell here, too.
			if isLost := verb != "get" || r.Resource.Resource != "namespaces"; refused && isLost {
				assert.Check(t, code != util.ExitOK && strings.Contains(told, "may not "+verb+" "+r.Resource.String()), "%s, exit code %d, it is told: %s", what, code, told)
			}
		}
	}
}
