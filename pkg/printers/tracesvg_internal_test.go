package printers

import (
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// lifeOf returns a Job with states on one cluster.
func lifeOf(name string, parts ...inspect.Interval) inspect.Trace {
	return inspect.Trace{Origin: &inspect.Job{Context: "one", Kind: "Job", Namespace: "ml", Name: name}, Life: parts}
}

func state(s inspect.LifeState, from, to int) inspect.Interval {
	at := func(minute int) time.Time { return time.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC) }
	return inspect.Interval{Cluster: "one", State: s, From: at(from), To: at(to)}
}

// svgOf returns the picture of one Job.
func svgOf(t *testing.T, one inspect.Trace) string {
	t.Helper()
	var b strings.Builder
	assert.NilError(t, TraceSVG(&b, []inspect.Trace{one}, TableOptions{Now: time.Date(2026, 11, 25, 13, 0, 0, 0, time.UTC)}))
	assert.NilError(t, xml.Unmarshal([]byte(b.String()), new(struct{})))
	return b.String()
}

// TestStateStyles: each state has its own look, also without colour.
func TestStateStyles(t *testing.T) {
	seen := map[string]inspect.LifeState{}
	for _, s := range inspect.LifeStates() {
		l, ok := stateStyles()[s]
		assert.Assert(t, ok && l.meaning != "", s)
		key := l.pattern
		if l.pattern == "" {
			key = l.color
		}
		assert.Equal(t, seen[key], inspect.LifeState(""), "%s looks like %s", s, seen[key])
		seen[key] = s
	}
	assert.Equal(t, len(stateStyles()), len(inspect.LifeStates()))
}

// TestPatternIDs: two pictures on one page share no ids, and the same Job has the same ids again.
func TestPatternIDs(t *testing.T) {
	ids := func(svg string) map[string]bool {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
			found[m[1]] = true
		}
		return found
	}
	a, b := svgOf(t, lifeOf("a", state(inspect.LifeRunning, 0, 5))), svgOf(t, lifeOf("b", state(inspect.LifeRunning, 0, 5)))
	assert.Equal(t, len(ids(a)), len(inspect.LifeStates()))
	for id := range ids(a) {
		assert.Assert(t, !ids(b)[id], "%s is in both", id)
	}
	assert.Equal(t, a, svgOf(t, lifeOf("a", state(inspect.LifeRunning, 0, 5))))
	for _, m := range regexp.MustCompile(`url\(#([^)]*)\)`).FindAllStringSubmatch(a, -1) {
		assert.Assert(t, ids(a)[m[1]], "%s is no pattern of the picture", m[1])
	}
}

// TestLanes: states that overlap on one cluster, such as those of an elastic Job's Workloads, are
// in different lanes; those of one Workload are in the same.
func TestLanes(t *testing.T) {
	first := []inspect.Interval{state(inspect.LifeWaiting, 0, 2), state(inspect.LifeRunning, 2, 10)}
	second := []inspect.Interval{state(inspect.LifeWaiting, 8, 9), state(inspect.LifeRunning, 9, 20)}
	third := []inspect.Interval{state(inspect.LifeRunning, 10, 30)}
	all := append(append(append([]inspect.Interval{}, first...), second...), third...)
	assert.DeepEqual(t, lanes(all, "one"), [][]inspect.Interval{append(first, third...), second})
	assert.DeepEqual(t, lanes(all, "other"), [][]inspect.Interval{nil})
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile(`<rect x="[0-9.]*" y="(\d+)" width="[0-9.]*" height="20"`).FindAllStringSubmatch(svgOf(t, lifeOf("elastic", all...)), -1) {
		rows[m[1]] = true
	}
	assert.Equal(t, len(rows), 2)
}
