package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestListedSyncIsTraced: trace -A and the trace of one Job agree whether an origin shows the state of its mirror, and
// whether that changed only seconds ago. Only the second reads Pods.
func TestListedSyncIsTraced(t *testing.T) {
	from := []string{"--from", recordings + "/burst-3"}
	var listed inspect.TraceList
	decode(t, &listed, append([]string{"trace", "-A", "-o", "json"}, from...)...)
	shown := map[bool]int{}
	for i := range listed.Items {
		origin, mirrors := listed.Items[i].Origin, listed.Items[i].Mirrors
		if len(mirrors) == 0 || mirrors[0].InStep && !mirrors[0].Lag {
			continue
		}
		shown[mirrors[0].Lag]++
		var traced inspect.Trace
		decode(t, &traced, append([]string{"trace", origin.Name, "-n", origin.Namespace, "-o", "json"}, from...)...)
		assert.Equal(t, traced.Mirrors[0].InStep, mirrors[0].InStep, origin.Name)
		for _, d := range traced.Differences {
			assert.Assert(t, !d.IsStatus() || d.Lag == mirrors[0].Lag, "%s: %+v", origin.Name, d)
		}
	}
	assert.Assert(t, shown[true] > 0 && shown[false] > 0, "%v", shown)

	out, _, _ := run(t, append([]string{"trace", "-A"}, from...)...)
	inSync := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 {
			inSync[fields[2]] = fields[len(fields)-2]
		}
	}
	assert.Equal(t, inSync["b-2"], "yes")
	assert.Equal(t, inSync["b-10"], "lagging")
	assert.Equal(t, inSync["b-15"], "no")
}
