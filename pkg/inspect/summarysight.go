package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// unfound says that no mirror was found, and how far that goes: where it may be that
// nobody looked, and where its origin says that it is.
func (v *Inventory) unfound(p Pair) string {
	unseen := v.Unseen()
	if !p.Origin.Pinned().IsZero() {
		if why := v.unseenMirror(p.Origin.Marks.Mirror, unseen); why != "" {
			return why
		}
	}
	return "no mirror was found" + v.outOfSight(unseen)
}

// outOfSight says where nobody looked, "" where everything was looked at.
func (v *Inventory) outOfSight(unseen []string) string {
	if len(unseen) == 0 {
		return ""
	}
	var seen []string
	for _, f := range v.Clusters {
		if f.Err == nil {
			seen = append(seen, f.Context)
		}
	}
	where := " where it was looked"
	if len(seen) > 0 {
		where = " on " + Some(seen)
	}
	return fmt.Sprintf("%s; not looked at: %s", where, Some(namedOnly(unseen)))
}

// unseenMirror says that a mirror may well be where its origin says, "" if that place
// was looked at.
func (v *Inventory) unseenMirror(place delegation.Place, unseen []string) string {
	isRead := slices.ContainsFunc(v.Clusters, func(f *Facts) bool {
		return f.Err == nil && place.On(f.Cluster()) == delegation.CertainlySame
	})
	if isRead {
		return ""
	}
	text := fmt.Sprintf("dispatched to %s/%s on %s, which was not checked", place.Namespace, place.Name, place.Cluster())
	if len(unseen) > 0 {
		text += "; it may be what " + Some(namedOnly(unseen)) + " would lead to"
	}
	return text
}

// namedOnly leaves out contexts of which not even the name is known, as a bundle may have.
func namedOnly(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.TrimSpace(name) == "" })
}

// lostTouch says that the manager of a mirror has lost the connection to its cluster, ""
// if it has not.
func (v *Inventory) lostTouch(p Pair, m Mirror, t *Trace) string {
	manager := v.Facts(p.Origin.Context)
	for _, h := range t.Hops {
		isLost := h.Kind == "MultiKueueCluster" && h.Health == HealthBad && h.State != connected && h.Context == p.Origin.Context
		if isLost && v.ContextOf(manager, h.Name) == m.Job.Context {
			return fmt.Sprintf("; MultiKueue has lost the connection to it (MultiKueueCluster %s: %s), and hears nothing of it", h.Name, h.State)
		}
	}
	return ""
}
