// Package scheduler compares placements with Kueue's own scheduler: in random worlds, the verdict of
// pkg/inspect/placement on a Workload must be what Kueue's code would do with it.
//
// The program oracle, a module of its own, runs that code, so that the plugin never depends on Kueue.
// No cluster is needed.
package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"
)

// program is what make scheduler builds.
const program = "../../bin/scheduler/oracle"

// seeds returns those of the short form, of the long one, or the requested one.
func seeds(t *testing.T) (first, count uint64) {
	t.Helper()
	if text := os.Getenv("SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err, "SEED is a number")
		return seed, 1
	}
	if os.Getenv("PLACEMENTS") == "long" {
		return 0, 20_000
	}
	return 0, 2000
}

// TestPlacements compares the verdicts on random worlds.
func TestPlacements(t *testing.T) {
	const (
		// atOnce is how many worlds a process gets.
		atOnce = 1000
		// enough is how many worlds must have each outcome, and most how many in a thousand may be
		// undecided.
		enough, most = 10, 10
	)
	first, count := seeds(t)
	seen := map[outcome]int{}
	for from := first; from < first+count; from += atOnce {
		compare(t, from, min(from+atOnce, first+count), seen)
	}
	t.Logf("%d worlds: %v", count, seen)
	if count == 1 || t.Failed() {
		return
	}
	assert.Check(t, uint64(seen[undecided])*atOnce <= most*count, "%d of %d worlds are undecided", seen[undecided], count)
	for _, o := range []outcome{fits, shrinks, preempts, waits, never} {
		assert.Check(t, seen[o] >= enough, "only %d worlds in which the Job %s", seen[o], o)
	}
}

// compare compares the verdicts on the worlds of some seeds, and counts the outcomes.
func compare(t *testing.T, from, to uint64, seen map[outcome]int) {
	t.Helper()
	var trials []trial
	var worlds bytes.Buffer
	for seed := from; seed < to; seed++ {
		w := newWorld(seed)
		tr := trial{seed: seed, world: encode(t, w)}
		worlds.Write(tr.world)
		worlds.Write(encode(t, emptied(w)))
		trials = append(trials, tr)
	}
	verdicts := ask(t, &worlds)
	assert.Equal(t, len(verdicts), 2*len(trials))
	for i := range trials {
		tr := &trials[i]
		tr.now, tr.alone = verdicts[2*i], verdicts[2*i+1]
		tr.judge(t)
		if tr.isUndecided() {
			seen[undecided]++
		} else {
			seen[tr.outcome()]++
		}
		if problem := tr.difference(); problem != "" {
			t.Errorf("SEED=%d: %s\nKueue: %s, %+v\nplacement: %s\nworld: %s", tr.seed, problem, tr.outcome(), tr.now, tr.placement.Message, tr.world)
		}
	}
}

// ask returns the verdicts of Kueue's scheduler on worlds.
func ask(t *testing.T, worlds io.Reader) (verdicts []verdict) {
	t.Helper()
	var problems bytes.Buffer
	c := exec.CommandContext(t.Context(), program)
	c.Stdin, c.Stderr = worlds, &problems
	out, err := c.Output()
	assert.NilError(t, err, "run make scheduler if this program is not built; it printed: %s", &problems)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var v verdict
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return verdicts
		}
		assert.NilError(t, err)
		verdicts = append(verdicts, v)
	}
}
