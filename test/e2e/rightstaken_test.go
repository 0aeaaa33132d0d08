package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// needs returns the rights that a command needs in a namespace, on each cluster, with its
// arguments.
func needs(t *testing.T, ns string, args ...string) map[string][]string {
	t.Helper()
	kubeconfig, notes := recordRequestsAs(t, "")
	succeeds(t, append(args, "--context", management, "-n", ns, "--kubeconfig", kubeconfig)...)
	all := map[string][]string{}
	for cluster, n := range notes {
		asked, _ := n.seen()
		for _, a := range asked {
			if right := strings.Join(strings.Fields(a)[:2], " "); !strings.HasSuffix(right, ".k8s.io") || strings.Contains(right, "coordination") || strings.Contains(right, "kueue") {
				all[cluster] = append(all[cluster], right)
			}
		}
		slices.Sort(all[cluster])
		all[cluster] = slices.Compact(all[cluster])
	}
	return all
}

// reports returns whether the output mentions a right that the user lacks, or need not: addresses
// identify a cluster, too, and if Pods name no ConfigMap or Secret, none was copied.
func reports(stderr, right string) bool {
	verb, _, _ := strings.Cut(right, " ")
	return slices.Contains([]string{"get namespaces", "list configmaps", "list secrets"}, right) ||
		contains(stderr, "may not "+verb) || contains(stderr, "forbidden") || contains(stderr, "cannot "+verb) || contains(stderr, "not allowed to "+verb)
}

// TestCancelWithEachRightTakenAway checks that a user without one of the rights can cancel
// nevertheless, or the error names the right. A user with all rights can still cancel then.
func TestCancelWithEachRightTakenAway(t *testing.T) {
	t.Parallel()
	const ns = "cancel-rights"
	begun := func(t *testing.T, name string) {
		t.Helper()
		origin(t, ns, name, fixture.RunsFor("1h"))
		succeeds(t, "dispatch", name, "--context", management, "-n", ns, "--to", worker1, "--detach-after-start")
	}
	isCancelled := func(t *testing.T, name string) {
		t.Helper()
		eventuallyJob(t, worker1, ns, name, isGone)
		job := jobOf(t, management, ns, name)
		assert.Assert(t, job != nil && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed && c.Status == "True" }), "%+v", job)
	}
	begun(t, "full")
	rights := needs(t, ns, "cancel", "--yes", "full", "--to", worker1)
	isCancelled(t, "full")
	assert.Assert(t, len(rights[management]) > 2 && len(rights[worker1]) > 1, "%q", rights)
	for cluster, all := range rights {
		for i, right := range all {
			t.Run(cluster+" "+right, func(t *testing.T) {
				t.Parallel()
				name := fmt.Sprintf("%s-%d", cluster, i)
				begun(t, name)
				kubeconfig, notes := recordRequestsAs(t, "")
				notes[cluster].take(right)
				args := []string{"cancel", "--yes", name, "--context", management, "-n", ns, "--to", worker1}
				out, stderr, code := run(t, append(slices.Clone(args), "--kubeconfig", kubeconfig)...)
				_, refused := notes[cluster].seen()
				assert.Assert(t, len(refused) > 0, "no request was refused")
				assert.Assert(t, reports(out+stderr, right), "exit code %d: %s", code, out+stderr)
				if code != 0 {
					// The mirror still exists, and cancel can be repeated.
					if jobOf(t, worker1, ns, name) == nil {
						assert.Assert(t, jobOf(t, management, ns, name) != nil)
					}
					succeeds(t, args...)
				}
				isCancelled(t, name)
			})
		}
	}
}

// TestRecreateWithEachRightTakenAway checks that for a user without one of the rights, the error
// names the right, and the Job exists, either the old one or the new one.
func TestRecreateWithEachRightTakenAway(t *testing.T) {
	t.Parallel()
	const ns, other = "recreate-rights", "example.com/other"
	recreate := func(t *testing.T, name string) []string {
		t.Helper()
		return []string{"recreate", name, "--managed-by", other, "--yes", "--backup", filepath.Join(t.TempDir(), "old.yaml"), "--context", management, "-n", ns}
	}
	createJobs(t, management, fixture.New(ns, "full", fixture.ManagedBy(runner)))
	rights := needs(t, ns, recreate(t, "full")...)[management]
	assert.Assert(t, len(rights) > 2, "%q", rights)
	for i, right := range rights {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("job-%d", i)
			createJobs(t, management, fixture.New(ns, name, fixture.ManagedBy(runner)))
			before := jobOf(t, management, ns, name)
			kubeconfig, notes := recordRequestsAs(t, "")
			notes[management].take(right)
			args := recreate(t, name)
			out, stderr, code := run(t, append(args, "--kubeconfig", kubeconfig)...)
			_, refused := notes[management].seen()
			assert.Assert(t, len(refused) > 0, "no request was refused")
			assert.Assert(t, reports(out+stderr, right), "exit code %d: %s", code, out+stderr)
			job := jobOf(t, management, ns, name)
			assert.Assert(t, job != nil, stderr)
			if code == 0 {
				assert.Assert(t, job.UID != before.UID && ownerIs(other)(job))
				return
			}
			assert.Equal(t, job.UID, before.UID, stderr)
			assert.Assert(t, ownerIs(runner)(job))
			succeeds(t, slices.Replace(slices.Clone(args), 6, 7, filepath.Join(t.TempDir(), "again.yaml"))...)
			assert.Assert(t, ownerIs(other)(jobOf(t, management, ns, name)))
		})
	}
}
