package rules_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/fuzzfleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// fuzzed are recordings from which fleets are made, each in another state.
func fuzzed() []string {
	return []string{
		"running", "worker-lost", "unknown-owner", "starting", "cluster-removed-from-config", "pods-unschedulable", "same-name-on-workers",
		"mirror-mutated-on-worker", "strict-fifo-head-blocks", "origin-edited-while-running", "deactivated", "kueue-down-on-workers",
		"created-again-with-kueues-leftovers", "second-check-of-somebody-elses", "origin-deleted-controller-down", "two-flavors",
	}
}

// FuzzJudge checks that for any fleet, the rules and traces return a result,
// return the same result twice, and do not depend on the order in which the
// fleet was read.
func FuzzJudge(f *testing.F) {
	for i := range fuzzed() {
		f.Add([]byte{byte(i * 16)})
		f.Add([]byte{byte(i * 16), 0x00, 0x40, 0x80, 0xc0, 0xff, 0x55, 0xaa})
	}
	var source fuzzfleet.Source
	f.Fuzz(func(t *testing.T, data []byte) {
		r := fuzzfleet.Chance(data)
		dir := source.Bundle(t, recordings+"/"+fuzzed()[r.IntN(len(fuzzed()))], r)
		if _, err := bundle.Open(dir); err != nil {
			// The error says what is wrong, and there is nothing to judge.
			return
		}
		v := inventory(t, dir)
		grace := []time.Duration{0, 5 * time.Minute}[r.IntN(2)]
		findings, traces := said(t, v, grace)
		findingsAgain, tracesAgain := said(t, v, grace)
		assert.DeepEqual(t, findingsAgain, findings)
		assert.DeepEqual(t, tracesAgain, traces)

		again := inspect.NewInventory(v.Now, shuffledFacts(r, v.Clusters), v.Addresses)
		findingsAgain, tracesAgain = said(t, again, grace)
		assert.DeepEqual(t, findingsAgain, findings)
		assert.DeepEqual(t, tracesAgain, traces)

		if slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool { return f.Err == nil && f.ClusterUID == "" }) {
			// Of clusters that may be one, the first represents both.
			return
		}
		if haveTwins(v) {
			// A mirror belongs to the first of two origins with one UID, which two clusters have
			// after one was restored from the other's etcd.
			return
		}
		turned := inspect.NewInventory(v.Now, shuffled(r, v.Clusters), v.Addresses)
		findingsAgain, tracesAgain = said(t, turned, grace)
		slices.Sort(findings)
		slices.Sort(findingsAgain)
		assert.DeepEqual(t, findingsAgain, findings)
		assert.Equal(t, len(tracesAgain), len(traces))
	})
}

// haveTwins reports whether two clusters have an object with one UID.
func haveTwins(v *inspect.Inventory) bool {
	on := map[string]string{}
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if other, ok := on[j.UID]; ok && other != f.Context {
				return true
			}
			on[j.UID] = f.Context
		}
	}
	return false
}

// said returns everything that is reported about an inventory.
func said(t *testing.T, v *inspect.Inventory, grace time.Duration) (findings, traces []string) {
	t.Helper()
	judgment := rules.Judge(v, rules.All(), rules.Options{Grace: grace})
	for i := range judgment.Findings {
		findings = append(findings, asText(t, judgment.Findings[i]))
		for _, part := range command.Prose(judgment.Findings[i].Remedy).Parts() {
			if part.IsCommand {
				shelltest.Pipeline(t, part.Text)
			}
		}
	}
	for _, n := range judgment.NotJudged {
		findings = append(findings, asText(t, n.Error()))
	}
	for _, p := range v.Pairs.Pairs {
		traces = append(traces, asText(t, chain.Trace(v, p)))
	}
	for _, j := range v.Pairs.Orphans {
		traces = append(traces, asText(t, chain.Trace(v, inspect.OrphanPair(j))))
	}
	return findings, append(traces, asText(t, chain.Traces(v)))
}

func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	assert.NilError(t, err)
	return string(text)
}

// shuffledFacts returns the same facts, with the objects of each in another
// order.
func shuffledFacts(r *rand.Rand, clusters []*inspect.Facts) []*inspect.Facts {
	var all []*inspect.Facts
	for _, f := range clusters {
		other := *f
		other.Jobs, other.Pods, other.Events = shuffled(r, f.Jobs), shuffled(r, f.Pods), shuffled(r, f.Events)
		if f.Kueue != nil {
			k := *f.Kueue
			k.Workloads, k.LocalQueues, k.ClusterQueues = shuffled(r, k.Workloads), shuffled(r, k.LocalQueues), shuffled(r, k.ClusterQueues)
			k.Checks, k.Configs, k.Clusters = shuffled(r, k.Checks), shuffled(r, k.Configs), shuffled(r, k.Clusters)
			other.Kueue = &k
		}
		all = append(all, &other)
	}
	return all
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
