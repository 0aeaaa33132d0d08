package validation

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
)

// verbatimCopier copies a mirror's status unchanged, and counts by rule how often that is refused.
type verbatimCopier struct {
	t      *testing.T
	origin *object
	tally  map[int]int
	// refused and taken count the refused and the accepted writes.
	refused, taken *int
}

func (n verbatimCopier) observe(mirror *batchv1.Job) {
	errs := n.origin.put(n.t, &mirror.Status)
	if len(errs) == 0 {
		*n.taken++
		return
	}
	*n.refused++
	seen := map[int]bool{}
	for _, err := range errs {
		number := numberOf(err)
		assert.Assert(n.t, number > 0, "unknown rule: %v", err)
		if !seen[number] {
			seen[number] = true
			n.tally[number]++
		}
	}
}

// TestNaiveCopyIsRefused checks that the histories are hard enough: a copier that writes a status
// unchanged violates every rule.
func TestNaiveCopyIsRefused(t *testing.T) {
	lived, wild := map[int]int{}, map[int]int{}
	var refused, taken int
	for seed := range histories / 3 {
		d := newDice(1, seed)
		h := newHistory(t, d)
		h.observers = append(h.observers, verbatimCopier{t, h.origin, lived, &refused, &taken})
		h.run()
	}
	t.Logf("histories: %d writes refused, %d taken: %s", refused, taken, perRule(lived))
	refused, taken = 0, 0
	for seed := range histories / 3 {
		d := newDice(4, seed)
		n := verbatimCopier{t, create(t, d.server(), d.job()), wild, &refused, &taken}
		if d.oneIn(2) {
			past := d.oldStatus()
			n.origin.store(t, &past)
		}
		for range 12 {
			mirror := n.origin.job.DeepCopy()
			for range d.IntN(4) {
				d.alter(&mirror.Status)
			}
			n.observe(mirror)
		}
	}
	t.Logf("nonsense: %d writes refused, %d taken: %s", refused, taken, perRule(wild))
	for _, r := range rules {
		assert.Assert(t, wild[r.number] > 0, "rule %d, %s: %s is never broken", r.number, r.field, r.text)
	}
	// These rules are violated by mirrors that are only old, or changed by their users.
	for _, number := range []int{9, 10, 12, 13, 14, 16, 17, 18, 19, 24, 25, 26, 27, 29, 30, 32} {
		assert.Assert(t, lived[number] > 0, "rule %d is broken by no history", number)
	}
}

func perRule(tally map[int]int) string {
	var figures []string
	for _, r := range rules {
		figures = append(figures, fmt.Sprintf("%d:%d", r.number, tally[r.number]))
	}
	return strings.Join(figures, " ")
}
