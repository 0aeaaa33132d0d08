// Package history reports what finished delegated Jobs did: where they ran,
// how long they waited and ran, and what they used. It is pure.
package history

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Options say which Jobs to list, and how to group them.
type Options struct {
	// Since leaves out Jobs that finished before it. Zero leaves out nothing.
	Since time.Time
	// By is what the Jobs of a group have in common. The zero value makes no
	// groups.
	By By
	// IsSelected is whether the Jobs were selected by labels. Jobs of which
	// only the Workload remains are left out then, because their labels are
	// unknown.
	IsSelected bool
}

// Reasons why Jobs, or the resources that they used, are missing.
const (
	noEnd      = "left out by --since: nothing dates the end"
	noLabels   = "left out by --selector: only the Workload remains, and the labels are unknown"
	noWorkload = "whose Workload was deleted: evictions and resources are unknown"
	unread     = "whose Workload could not be read: evictions and resources are unknown"
	noLoss     = "evicted, and Kueue kept no time lost: the wait may include earlier runs"
	noAccount  = "not managed by Kueue: evictions and resources are unknown"
)

// List returns the finished Jobs of an inventory, latest first, with sums.
func List(v *inspect.Inventory, o Options) *inspect.HistoryList {
	list := inspect.NewHistoryList()
	list.IsUnread = !slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool { return f.Err == nil })
	if !o.Since.IsZero() {
		list.Since = &metav1.Time{Time: o.Since.UTC()}
	}
	omitted := map[string]int{}
	seen := map[string]bool{}
	list.Items = make([]inspect.PastJob, 0, most(v))
	for _, f := range v.Clusters {
		omitted[noLabels] += eachOf(v, f, o.IsSelected, func(row *inspect.PastJob) {
			switch {
			case row.UID != "" && seen[row.UID]:
				return
			case !o.Since.IsZero() && row.FinishedAt == nil:
				omitted[noEnd]++
				return
			case !o.Since.IsZero() && row.FinishedAt.Time.Before(o.Since):
				return
			}
			seen[row.UID] = true
			if reason := unknownOf(f, row); reason != "" {
				omitted[reason]++
			}
			list.Items = append(list.Items, *row)
		})
	}
	slices.SortStableFunc(list.Items, latestFirst)
	list.Total = sum("", each(list.Items))
	if o.By != (By{}) {
		list.By, list.Groups = o.By.String(), groups(list.Items, o.By)
	}
	for _, reason := range []string{noEnd, noLabels, noWorkload, unread, noAccount, noLoss} {
		if n := omitted[reason]; n > 0 {
			list.Omitted = append(list.Omitted, inspect.Omission{Count: n, Reason: reason})
		}
	}
	list.Retention = retention(v)
	list.Errors = v.Errors()
	list.Unchecked = append(inspect.UncheckedOf(list.Errors), unknownOrigins(v)...)
	return list
}

// most returns the expected number of Jobs: most have one Workload each.
func most(v *inspect.Inventory) int {
	n := 0
	for _, f := range v.Clusters {
		if f.Past != nil {
			n += max(len(f.Past.Jobs), len(f.Past.Workloads))
		}
	}
	return n
}

// unknownOf returns why something about a Job is unknown, "" if nothing is.
func unknownOf(f *inspect.Facts, row *inspect.PastJob) string {
	switch {
	case row.Evictions == nil && row.Resources == nil:
		return withoutWorkload(f, row)
	case row.Evictions != nil && *row.Evictions > 0 && row.LostSeconds == nil:
		return noLoss
	}
	return ""
}

// latestFirst orders Jobs by the time when they finished, latest first. Those
// with an unknown end come last.
func latestFirst(a, b inspect.PastJob) int {
	switch {
	case a.FinishedAt == nil && b.FinishedAt == nil:
	case a.FinishedAt == nil:
		return 1
	case b.FinishedAt == nil:
		return -1
	default:
		if order := b.FinishedAt.Compare(a.FinishedAt.Time); order != 0 {
			return order
		}
	}
	return strings.Compare(a.Context+"/"+a.Namespace+"/"+a.Name+"/"+a.UID, b.Context+"/"+b.Namespace+"/"+b.Name+"/"+b.UID)
}

func retention(v *inspect.Inventory) []inspect.ContextRetention {
	all := []inspect.ContextRetention{}
	for _, f := range v.Clusters {
		if f.Err != nil || f.Past == nil || f.Kueue == nil {
			continue
		}
		one := inspect.ContextRetention{Context: f.Context, Known: f.Past.Retention.Known}
		if d := f.Past.Retention.For; d != nil {
			one.Seconds = new(int64(d.Seconds()))
		}
		all = append(all, one)
	}
	return all
}

// unknownOrigins returns the origins of MultiKueue's mirrors as unchecked if
// no management cluster was read.
func unknownOrigins(v *inspect.Inventory) []inspect.Unchecked {
	hasMirrors := false
	for _, f := range v.Clusters {
		if f.Past == nil {
			continue
		}
		hasGiven := slices.ContainsFunc(f.Past.Workloads, func(w *kueue.Past) bool { return w.Cluster != "" })
		if f.Past.IsManager || hasGiven {
			return nil
		}
		hasMirrors = hasMirrors || f.Past.HasMirrors
	}
	if !hasMirrors {
		return nil
	}
	return []inspect.Unchecked{{What: "origins of mirrors", Contexts: []string{}, Reason: "no manager was read"}}
}
