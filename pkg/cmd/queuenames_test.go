package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestQueueNamesFitBack: queues takes the names that -o name prints, and the names of kinds in kubectl.
func TestQueueNamesFitBack(t *testing.T) {
	for _, scope := range []string{"", "-A"} {
		from := append([]string{"queues", "--from", exampleFleet}, strings.Fields(scope)...)
		names, errOut, code := run(t, append(from, "-o", "name")...)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Assert(t, names != "")
		again, errOut, code := run(t, append(append(from, "-o", "name"), strings.Fields(names)...)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Equal(t, again, names)
	}
	for _, args := range []string{"cq/cluster-queue", "ClusterQueue/cluster-queue", "clusterqueues.v1beta2.kueue.x-k8s.io/cluster-queue", "cq/cluster-queue --pending", "lq/gpu -n ml", "queue/gpu -n ml --pending"} {
		words := append([]string{"queues", "--from", exampleFleet}, strings.Fields(args)...)
		out, errOut, code := run(t, words...)
		assert.Equal(t, code, util.ExitOK, errOut)
		_, plain, _ := strings.Cut(words[3], "/")
		words[3] = plain
		want, _, _ := run(t, words...)
		assert.Equal(t, out, want, args)
	}
}

// TestUnknownQueues: each unknown name is quoted, and the hint is for the other kinds of queues.
func TestUnknownQueues(t *testing.T) {
	for args, want := range map[string]string{
		"nosuch other":             `there is no queue or cohort "nosuch" or "other"; for a LocalQueue, add -n or -A`,
		"cluster-queue -n default": `there is no LocalQueue "cluster-queue" in namespace default; for a ClusterQueue or cohort, leave out -n and -A`,
		"cohort/cluster-queue":     `there is no Cohort "cluster-queue"`,
		"lq/nosuch -n ml":          `there is no LocalQueue "nosuch" in namespace ml`,
	} {
		_, errOut, code := run(t, append([]string{"queues", "--from", exampleFleet}, strings.Fields(args)...)...)
		assert.Equal(t, code, util.ExitError)
		assert.Equal(t, errOut, "error: "+want+"\n")
	}
	for args, want := range map[string]string{
		"lq/gpu":              "lq/gpu is in a namespace: add -n or -A",
		"cq/main -A":          "cq/main is in no namespace: leave out --namespace and --all-namespaces",
		"job/main":            `unknown kind "job"; choose one of clusterqueue, cohort, localqueue`,
		"cq.example.com/main": `unknown kind "cq.example.com"; choose one of clusterqueue, cohort, localqueue`,
		"cq/":                 `"cq/" is not of the form [KIND/]NAME. Set the namespace with -n`,
	} {
		_, errOut, code := run(t, append([]string{"queues", "--from", exampleFleet}, strings.Fields(args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.HasPrefix(errOut, "error: "+want+"\n"), errOut)
	}
}
