package cmd

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestNames: -o name prints each object once, with objects of the same name in several namespaces or contexts.
func TestNames(t *testing.T) {
	for args, want := range map[string]string{
		"queues -A --contexts management":      strings.Repeat("localqueue.kueue.x-k8s.io/gpu\n", 2) + "localqueue.kueue.x-k8s.io/inference\n",
		"queues --all-contexts":                strings.Repeat("clusterqueue.kueue.x-k8s.io/cluster-queue\n", 3),
		"queues --all-contexts --summary":      "management\nworker-1\nworker-2\n",
		"check sweep eval -n ml --grace 5s":    "job.batch/eval\njob.batch/sweep\n",
		"kinds --contexts management,worker-1": "jobs.batch\ncronjobs.batch\n",
	} {
		out, errOut, code := run(t, append(strings.Fields(args), "-o", "name", "--from", exampleFleet)...)
		assert.Assert(t, code == util.ExitOK || code == util.ExitFindings, "%s: %s", args, errOut)
		assert.Equal(t, out, want, args)
	}
}

// TestNoHeaders: --no-headers removes the headers of all tables of an answer, and those of its sections.
func TestNoHeaders(t *testing.T) {
	manifest := manifestOf(t, "small", 1, "1", "")
	for _, args := range [][]string{
		{"trace", "train", "--timeline", "--from", recordings + "/running"},
		{"trace", "sweep", "-n", "ml", "-o", "wide", "--from", exampleFleet},
		{"trace", "-f", manifest, "--from", quotaFleet},
		{"trace", "-A", "--from", exampleFleet},
	} {
		isHeader := regexp.MustCompile(`(?m)^((CONTEXT|CLUSTER|TIME|NAMESPACE|FIELD) .*|Findings|Events|Last events .*|Differences .*|Flavors tried)$`)
		out, _, _ := run(t, args...)
		assert.Assert(t, isHeader.MatchString(out), out)
		out, _, _ = run(t, append(args, "--no-headers")...)
		assert.Equal(t, isHeader.FindString(out), "", args)
	}
}

// TestNoHeadersNamesContexts: without titles, a choice of contexts that finds one has the columns of one that finds
// several.
func TestNoHeadersNamesContexts(t *testing.T) {
	for _, args := range []string{"ls -A", "queues", "history -A", "kinds"} {
		for _, contexts := range []string{"m*", "*"} {
			out, errOut, _ := run(t, append(strings.Fields(args), "--no-headers", "--contexts", contexts, "--from", exampleFleet)...)
			assert.Equal(t, strings.Fields(out)[0], "management", "%s %s: %s%s", args, contexts, out, errOut)
		}
	}
}
