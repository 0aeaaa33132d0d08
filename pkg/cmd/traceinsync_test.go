package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestListedSyncIsTraced: trace -A and the trace of one Job agree whether an origin shows the state of its mirror, and
// whether that changed only seconds ago. Only the second reads Pods. A few pairs in sync are compared, because most are.
func TestListedSyncIsTraced(t *testing.T) {
	from := []string{"--from", recordings + "/burst-3"}
	var listed inspect.TraceList
	decode(t, &listed, append([]string{"trace", "-A", "-o", "json"}, from...)...)
	type state struct{ inStep, lag bool }
	inSync := state{inStep: true}
	const mostInSync = 10
	shown := map[state]int{}
	for i := range listed.Items {
		origin, mirrors := listed.Items[i].Origin, listed.Items[i].Mirrors
		if len(mirrors) == 0 {
			continue
		}
		want := state{mirrors[0].InStep, mirrors[0].Lag}
		shown[want]++
		if want == inSync && shown[want] > mostInSync {
			continue
		}
		var traced inspect.Trace
		decode(t, &traced, append([]string{"trace", origin.Name, "-n", origin.Namespace, "-o", "json"}, from...)...)
		assert.Equal(t, state{traced.Mirrors[0].InStep, traced.Mirrors[0].Lag}, want, origin.Name)
		for _, d := range traced.Differences {
			assert.Assert(t, !d.IsStatus() || want != inSync && d.Lag == want.lag, "%s: %+v", origin.Name, d)
		}
	}
	assert.Equal(t, len(shown), 3, "%v", shown)

	out, _, _ := run(t, append([]string{"trace", "-A"}, from...)...)
	printed := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 {
			printed[fields[2]] = fields[len(fields)-2]
		}
	}
	assert.Equal(t, printed["b-2"], "yes")
	assert.Equal(t, printed["b-10"], "lagging")
	assert.Equal(t, printed["b-15"], "no")
}
