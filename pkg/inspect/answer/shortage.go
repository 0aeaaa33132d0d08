package answer

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// needs describes what a Job lacks on one cluster, and which Job holds it.
func (q *Question) needs(p *inspect.Placement) string {
	at := placeName(p)
	if p.Flavor != "" {
		at += ", flavor " + p.Flavor
	}
	switch {
	case isUnconnected(p):
		return q.unconnected(p)
	case p.Reason == inspect.DependencyMissing && p.Verdict == inspect.Waits:
		return sentence(message(p)) // It names the cluster.
	case p.Resource == "" || p.Needs == "":
		return sentence(placeName(p)+": "+lower(message(p)), placeName(p))
	case p.Reason == inspect.OverLimit && lacksSeveral(p):
		return fmt.Sprintf("Needs %s; the limits are %s (%s).", needed(p), limitsOf(p), placeName(p))
	case p.Reason == inspect.OverLimit:
		return fmt.Sprintf("Needs %s; the limit is %s (%s).", needed(p), limitOf(p), at)
	case p.Reason != inspect.QuotaInUse:
		return sentence(placeName(p)+": "+lower(message(p)), placeName(p))
	}
	free := p.Free
	if lacksSeveral(p) {
		free, at = inspect.Amounts(p.Short, func(r *inspect.ResourceRoom) string { return r.Free }), placeName(p)
	}
	if holder := q.holder(p); holder != "" {
		return fmt.Sprintf("Needs %s; %s free on %s. %s", needed(p), free, placeName(p), holder)
	}
	return fmt.Sprintf("Needs %s; %s free (%s).", needed(p), free, at)
}

// lacksSeveral reports whether a cluster lacks several resources for a Job, perhaps of several flavors.
func lacksSeveral(p *inspect.Placement) bool { return len(p.Short) > 1 }

// limitsOf returns the limits of several resources that a cluster lacks, such as "26 and 10".
func limitsOf(p *inspect.Placement) string {
	return inspect.Amounts(p.Short, func(r *inspect.ResourceRoom) string { return r.Most }) + borrowing(p)
}

// limitOf returns the limit that a Job exceeds on a cluster.
func limitOf(p *inspect.Placement) string { return p.Limit + borrowing(p) }

// borrowing says that the limits of a cluster are higher than the quota that a fix raises, "" if they are not.
func borrowing(p *inspect.Placement) string {
	if !p.IsBorrowing {
		return ""
	}
	return ", borrowing included"
}

// needed returns what a Job needs to start, such as "4 cpu", or "1 cpu to start 1 of 4 Pods".
func needed(p *inspect.Placement) string {
	text := p.Needs + " " + p.Resource
	if lacksSeveral(p) {
		text = inspect.Amounts(p.Short, func(r *inspect.ResourceRoom) string { return r.Asked + " " + r.Resource })
	}
	if p.Partial == nil {
		return text
	}
	return fmt.Sprintf("%s to start %d of %d Pods", text, p.Partial.Pods, p.Partial.Of)
}
