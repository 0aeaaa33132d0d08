package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestClosedQueues checks that the change for a Job that two or three things keep from running covers all of them.
func TestClosedQueues(t *testing.T) {
	const (
		small      = "needs 5 cpu, limit 4 (flavor f)"
		less       = "request at most 4 cpu (4 Pods at once, not 5), for w, and then "
		selects    = "ClusterQueue q does not select namespace ml (selector team=a)"
		labelStep  = "if namespace ml may use ClusterQueue q, label it on w"
		label      = "use another queue or, " + labelStep
		resume     = "if its maintenance is over, resume ClusterQueue q on w"
		resumeHere = "if its maintenance is over, resume LocalQueue ml/q on w"
	)
	hold := func(cluster string) string {
		return strings.ReplaceAll(cluster, "{namespaceSelector", "{stopPolicy: Hold, namespaceSelector")
	}
	holdLocal := func(cluster string) string {
		return strings.ReplaceAll(cluster, "{clusterQueue: q}", "{clusterQueue: q, stopPolicy: Hold}")
	}
	others := strings.ReplaceAll(simple("4"), "namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: a}}")
	for name, c := range map[string]struct{ cluster, pods, message, change string }{
		"a stopped ClusterQueue, too small":       {hold(simple("4")), "5", small + "; ClusterQueue q is stopped (Hold)", less + resume},
		"a stopped LocalQueue, too small":         {holdLocal(simple("4")), "5", small + "; LocalQueue ml/q is stopped (Hold)", less + resumeHere},
		"both are stopped":                        {hold(holdLocal(simple("4"))), "1", "ClusterQueue q is stopped (Hold); LocalQueue ml/q is stopped (Hold)", resume + ", and then " + resumeHere},
		"a stopped LocalQueue, no ClusterQueue":   {holdLocal(plain), "1", "ClusterQueue q of LocalQueue ml/q does not exist; LocalQueue ml/q is stopped (Hold)", "create ClusterQueue q on w, or recreate the LocalQueue for an existing one, and then " + resumeHere},
		"other namespaces":                        {others, "1", selects, label},
		"other namespaces, too small":             {others, "5", small + "; " + selects, less + labelStep},
		"other namespaces, stopped":               {hold(others), "1", selects + "; ClusterQueue q is stopped (Hold)", labelStep + ", and then " + resume},
		"other namespaces, stopped and too small": {hold(others), "5", small + "; " + selects + "; ClusterQueue q is stopped (Hold)", less + labelStep + ", and then " + resume},
		"no LocalQueue, too small": {
			strings.ReplaceAll(simple("4"), "name: q}, spec: {clusterQueue", "name: other}, spec: {clusterQueue"), "5", small + "; LocalQueue ml/q does not exist", less + "create LocalQueue ml/q on w",
		},
	} {
		p := judged(t, c.cluster, pods(c.pods, "cpu: 1"))
		assert.Equal(t, p.Message, c.message, name)
		if _, closed, _ := strings.Cut(p.Message, "; "); p.Reason == inspect.OverLimit {
			assert.Equal(t, p.Closed, closed, name)
		}
		change := p.Changes[0].Message
		for _, step := range p.Changes[0].Then {
			assert.Assert(t, len(step.Command) > 0, name)
			change += ", and then " + step.Text
		}
		assert.Equal(t, change, c.change, name)
	}
}
