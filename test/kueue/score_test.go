package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// result is a verdict, and what happened.
type result struct {
	Seed      uint64
	Job       string
	Placement *inspect.Placement
	// Became is what happened on the cluster. Seen is false if that proves nothing, because another
	// cluster was faster.
	Became     string
	Seen, True bool
	// Released is whether the Jobs that were named as holders were deleted.
	Released bool
}

// score collects results.
type score struct {
	logf    func(format string, arguments ...any)
	mu      sync.Mutex
	results []result
}

func (s *score) add(r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r)
	if r.isWrong() {
		s.logf("%s", r.text())
	}
}

// isWrong reports whether the verdict was refuted.
func (r *result) isWrong() bool {
	return r.Seen && !r.True && r.Placement.Verdict != inspect.Unknown
}

func (r *result) text() string {
	return fmt.Sprintf("SEED=%d %s on %s: %s (%s: %s), became %s", r.Seed, r.Job, r.Placement.Context, r.Placement.Verdict, r.Placement.Reason, r.Placement.Message, r.Became)
}

// wrong returns how many verdicts of a type were refuted.
func (s *score) wrong(v inspect.Verdict) int {
	n := 0
	for i := range s.results {
		if r := &s.results[i]; r.Placement.Verdict == v && r.isWrong() {
			n++
		}
	}
	return n
}

// table returns the accuracy of the verdicts, and one line for each wrong one.
func (s *score) table() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text, lines strings.Builder
	fmt.Fprintf(&text, "| verdict | predictions | seen | came true | wrong | share |\n|---|---|---|---|---|---|\n")
	row := func(name string, is func(*result) bool) {
		var all, seen, good int
		for i := range s.results {
			if r := &s.results[i]; is(r) {
				all++
				if r.Seen {
					seen++
				}
				if r.Seen && r.True {
					good++
				}
			}
		}
		share := "-"
		if seen > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(good)/float64(seen))
		}
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %s |\n", name, all, seen, good, seen-good, share)
	}
	for _, v := range []inspect.Verdict{inspect.Fits, inspect.Waits, inspect.Never} {
		row("`"+string(v)+"`", func(r *result) bool { return r.Placement.Verdict == v && !r.Released && !couldPreempt(r.Placement) })
	}
	row("`waits`, and could preempt others", func(r *result) bool {
		return r.Placement.Verdict == inspect.Waits && !r.Released && couldPreempt(r.Placement)
	})
	row("`waits`, and the named holders are deleted", func(r *result) bool { return r.Released })
	unknown := map[string]int{}
	slices.SortFunc(s.results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Placement.Context, b.Placement.Context))
	})
	for i := range s.results {
		r := &s.results[i]
		switch {
		case r.Placement.Verdict == inspect.Unknown:
			unknown[string(r.Placement.Reason)+": "+r.Placement.Message]++
		case r.isWrong():
			fmt.Fprintln(&lines, r.text())
		}
	}
	total := 0
	for why, n := range unknown {
		total += n
		fmt.Fprintf(&lines, "unknown %d times: %s\n", n, why)
	}
	fmt.Fprintf(&text, "| `unknown` | %d | | | | |\n", total)
	return text.String() + lines.String()
}
