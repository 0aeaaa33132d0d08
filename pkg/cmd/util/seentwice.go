package util

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// DefaultGrace is how long something may be in progress before it is judged.
const DefaultGrace = 5 * time.Minute

// IsUndated says whether something was found only because something else was not there.
// Clusters are not read at one instant, and a Job may have ended in between, so that it
// has to be seen twice.
func IsUndated(f inspect.Finding) bool {
	rule, _ := rules.ByCode(f.Code)
	return rule.Undated
}

// AskAgain waits a little, and has the fleet asked anew; it says whether there was the time.
func AskAgain(ctx context.Context, c clock.WithTicker, f *fleet.Fleet) bool {
	timer := c.NewTimer(lookAgain)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	}
	f.Again(ctx)
	return true
}

// SeenTwice are the findings of a second reading without those that have to be seen
// twice, and were not.
func SeenTwice(first, second []inspect.Finding) []inspect.Finding {
	// The code may be another one by now: what is wrong has got older.
	before := map[aboutObject]bool{}
	for _, f := range first {
		if IsUndated(f) {
			before[aboutObject{f.Context, f.Kind, f.Namespace, f.Name}] = true
		}
	}
	return slices.DeleteFunc(second, func(f inspect.Finding) bool {
		return IsUndated(f) && !before[aboutObject{f.Context, f.Kind, f.Namespace, f.Name}]
	})
}

// Surely is what was found again and again by somebody who watches.
type Surely struct {
	// since is when undated findings were seen first of those that are seen ever since, by
	// the objects that they are about.
	since map[aboutObject]time.Time
}

type aboutObject struct{ context, kind, namespace, name string }

// Keep removes from findings that were made now those that have to be seen for longer.
func (s *Surely) Keep(now time.Time, found ...*[]inspect.Finding) {
	since := map[aboutObject]time.Time{}
	for _, findings := range found {
		*findings = slices.DeleteFunc(*findings, func(f inspect.Finding) bool {
			if !IsUndated(f) {
				return false
			}
			about := aboutObject{f.Context, f.Kind, f.Namespace, f.Name}
			first, isKnown := s.since[about]
			if !isKnown {
				first = now
			}
			since[about] = first
			return now.Sub(first) < lookAgain
		})
	}
	s.since = since
}
