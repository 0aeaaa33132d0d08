package inspect

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Past is what was read of a cluster about Jobs that finished: Facts.Jobs holds the delegated
// ones.
type Past struct {
	// Workloads are those that were admitted or finished.
	Workloads []*kueue.Past
	// HasMirrors is whether there are others, which MultiKueue copied from another cluster.
	HasMirrors bool
	// IsManager is whether the cluster gives Workloads to others, as far as that could be read.
	IsManager bool
	// Retention is how long Kueue keeps finished Workloads.
	Retention Retention
}

// Retention is how long Kueue keeps finished Workloads, by its configuration.
type Retention struct {
	// Known is whether the configuration was read.
	Known bool
	// For is how long they are kept; nil is for ever.
	For *time.Duration
}

// with is what was read of one cluster through two contexts.
func (p *Past) with(other *Past) *Past {
	if p == nil || other == nil {
		if p == nil {
			return other
		}
		return p
	}
	both := &Past{
		Workloads:  added(p.Workloads, other.Workloads, func(w *kueue.Past) string { return w.UID }),
		HasMirrors: p.HasMirrors || other.HasMirrors, IsManager: p.IsManager || other.IsManager, Retention: p.Retention,
	}
	if !both.Retention.Known {
		both.Retention = other.Retention
	}
	return both
}
