// Package history says what delegated Jobs did that finished: where they ran, how long they
// waited and ran, and what they used. Pure.
package history

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Options say which Jobs, and what to sum up by.
type Options struct {
	// Since leaves out what finished before; zero leaves out nothing.
	Since time.Time
	// By is what groups have in common; the zero value makes no groups.
	By By
	// IsSelected is whether the Jobs were selected by their labels. The labels of a Job of which
	// only the Workload is left are unknown.
	IsSelected bool
}

// Reasons why Jobs, or what they used, are missing.
const (
	noEnd      = "left out by --since: nothing dates the end"
	noLabels   = "left out by --selector: only the Workload remains, and the labels are unknown"
	noWorkload = "no Workload any more: evictions and resources are unknown"
	noLoss     = "evicted, and Kueue kept no time lost: the wait may include earlier runs"
	noAccount  = "not Kueue's: evictions and resources are unknown"
)

// List makes the answer of what was read.
func List(v *inspect.Inventory, o Options) *inspect.HistoryList {
	list := inspect.NewHistoryList()
	if !o.Since.IsZero() {
		list.Since = &metav1.Time{Time: o.Since.UTC()}
	}
	omitted := map[string]int{}
	seen := map[string]bool{}
	for _, f := range v.Clusters {
		rows, left := jobsOf(v, f, o.IsSelected)
		omitted[noLabels] += left
		for i := range rows {
			row := &rows[i]
			switch {
			case row.UID != "" && seen[row.UID]:
				continue
			case !o.Since.IsZero() && row.FinishedAt == nil:
				omitted[noEnd]++
				continue
			case !o.Since.IsZero() && row.FinishedAt.Time.Before(o.Since):
				continue
			}
			seen[row.UID] = true
			if reason := unknownOf(row); reason != "" {
				omitted[reason]++
			}
			list.Items = append(list.Items, *row)
		}
	}
	slices.SortStableFunc(list.Items, latestFirst)
	list.Total = sum("", list.Items)
	if o.By != (By{}) {
		list.By, list.Groups = o.By.String(), groups(list.Items, o.By)
	}
	for _, reason := range []string{noEnd, noLabels, noWorkload, noAccount, noLoss} {
		if n := omitted[reason]; n > 0 {
			list.Omitted = append(list.Omitted, inspect.Omission{Count: n, Reason: reason})
		}
	}
	list.Retention = retention(v)
	list.Errors = v.Errors()
	list.Unchecked = unchecked(v)
	return list
}

// unknownOf is why something is unknown of a Job; "" if nothing is.
func unknownOf(row *inspect.PastJob) string {
	switch {
	case row.Evictions == nil && row.Resources == nil:
		return withoutWorkload(row)
	case row.Evictions != nil && *row.Evictions > 0 && row.LostSeconds == nil:
		return noLoss
	}
	return ""
}

// latestFirst orders Jobs by when they finished. Those whose end is unknown come last.
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

// unchecked is what could not be read. Any context may have delegated Jobs, so that the answer
// needs all of them.
func unchecked(v *inspect.Inventory) []inspect.Unchecked {
	found := []inspect.Unchecked{}
	add := func(context, what, reason string) {
		for i := range found {
			if found[i].What == what && found[i].Reason == reason {
				found[i].Contexts = append(found[i].Contexts, context)
				return
			}
		}
		found = append(found, inspect.Unchecked{What: what, Contexts: []string{context}, Reason: reason})
	}
	for _, f := range v.Clusters {
		if f.Err != nil {
			add(f.Context, inspect.Everything, inspect.NewContextError(f.Err).Message)
			continue
		}
		for _, part := range append(f.KindParts(), inspect.PartKinds, inspect.PartKueue, inspect.PartWorkloads) {
			if err := f.Gaps[part]; err != nil {
				add(f.Context, string(part), reasonOf(err))
			}
		}
	}
	return append(found, unknownOrigins(v)...)
}

func reasonOf(err error) string {
	e := inspect.NewContextError(err)
	if e.Refusal != nil {
		return e.Refusal.String()
	}
	return e.Message
}

// unknownOrigins are the origins of MultiKueue's mirrors where no management cluster was read.
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
	return []inspect.Unchecked{{What: "origins of mirrors", Contexts: []string{}, Reason: "no management cluster was read"}}
}
