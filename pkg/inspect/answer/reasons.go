package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reasonsByCluster describes the reason of each placement that satisfies is, after the
// names of its clusters.
func reasonsByCluster(all []inspect.Placement, is func(*inspect.Placement) bool) string {
	// The Job may still run where the verdict is unknown. A user has excluded it where it is not requested.
	rank := func(p inspect.Placement) int {
		switch {
		case p.Verdict == inspect.Unknown:
			return 0
		case p.Reason == inspect.NotRequested:
			return 2
		}
		return 1
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b inspect.Placement) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.LeastChange(), b.LeastChange()))
	})
	var reasons, parts []string
	places := map[string][]string{}
	for i := range all {
		if !is(&all[i]) {
			continue
		}
		why := lower(strings.TrimSuffix(plain(&all[i]), "."))
		if same := slices.IndexFunc(reasons, func(known string) bool { return hasSameParts(known, why) }); same >= 0 {
			why = reasons[same]
		} else {
			reasons = append(reasons, why)
		}
		places[why] = append(places[why], placeName(&all[i]))
	}
	for _, why := range reasons {
		text := why
		if why == inspect.NoContextReachesIt && len(places[why]) > 1 {
			text = strings.TrimSuffix(why, "it") + "them"
		}
		parts = append(parts, strings.Join(places[why], ", ")+": "+text)
	}
	after := func(kept int) string {
		var names []string
		for _, why := range reasons[kept:] {
			names = append(names, places[why]...)
		}
		return fmt.Sprintf("%d more on %s", len(reasons)-kept, list(names))
	}
	if len(parts) == 1 && len(places[reasons[0]]) == 1 {
		return parts[0] + "."
	}
	if slices.ContainsFunc(all, func(p inspect.Placement) bool { return p.Verdict == inspect.Unknown }) {
		// Nothing shows that no cluster can run the Job.
		return firstParts("", parts, after) + "."
	}
	const headline = "Fits on no cluster. "
	return headline + firstParts(headline, parts, after) + "."
}

// hasSameParts reports whether two reasons have the same parts, in any order.
func hasSameParts(a, b string) bool {
	x, y := strings.Split(a, "; "), strings.Split(b, "; ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// firstParts returns the first reasons that fit behind a headline on a terminal
// with 80 columns, at least one, and after these what rest says about the others, or how many they are if that is too
// long. The placements have them all.
func firstParts(headline string, parts []string, rest func(kept int) string) string {
	const line = 80
	if text := strings.Join(parts, "; "); len(headline)+len(text) < line {
		return text
	}
	kept := slices.Clone(parts)
	for len(kept) > 1 {
		kept = kept[:len(kept)-1]
		text := strings.Join(kept, "; ") + "; "
		if named := text + rest(len(kept)); len(headline)+len(named) < line {
			return named
		}
		if short := text + inspect.Count(len(parts)-len(kept), "more reason"); len(headline)+len(short) < line {
			return short
		}
		if len(kept) == 1 {
			return text + rest(1)
		}
	}
	return kept[0]
}

// closedQueues names the closed queues of clusters whose limits a Job exceeds, "" if there are none.
func closedQueues(all []inspect.Placement) string {
	var closed, parts []string
	places := map[string][]string{}
	for i := range all {
		why := all[i].Closed
		if why == "" {
			continue
		}
		if !slices.Contains(closed, why) {
			closed = append(closed, why)
		}
		places[why] = append(places[why], placeName(&all[i]))
	}
	for _, why := range closed {
		parts = append(parts, strings.Join(places[why], ", ")+": "+why+".")
	}
	return strings.Join(parts, " ")
}

// uncoveredEverywhere says for a manager and its workers which resources of a Job have no quota, "" if that is no reason on
// the manager, or if a worker has quota for all of them.
func uncoveredEverywhere(manager *inspect.Placement, workers []inspect.Placement) string {
	all := []inspect.Placement{*manager}
	for i := range workers {
		switch w := &workers[i]; {
		case isUncovered(w):
			all = append(all, *w)
		case w.Verdict != inspect.Never:
			return ""
		}
	}
	if !isUncovered(manager) || len(all) == 1 {
		return ""
	}
	return reasonsByCluster(all, func(*inspect.Placement) bool { return true })
}

// plain describes why a placement has its verdict, with its amounts.
func plain(p *inspect.Placement) string {
	if p.Reason == inspect.SaidByKueue && p.Wait != nil && !p.IsOutdated() {
		return p.Wait.Text()
	}
	switch {
	case p.Reason != inspect.OverLimit || p.Resource == "":
	case lacksSeveral(p):
		return fmt.Sprintf("needs %s, limits %s", needed(p), limitsOf(p))
	default:
		return fmt.Sprintf("needs %s %s, limit %s", p.Needs, p.Resource, limitOf(p))
	}
	return message(p)
}

// list joins names with commas and an "and".
func list(names []string) string {
	if len(names) <= 3 {
		return inspect.And(names)
	}
	return inspect.Some(names)
}

// isHistory reports whether a code is about what has happened to a Job several times, not about its state now.
func isHistory(code string) bool { return code == "JM045" || code == "JM127" }

// historyLast returns findings in their order, those about the past after those about the present.
func historyLast(findings []inspect.Finding) []inspect.Finding {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b inspect.Finding) int {
		switch {
		case isHistory(a.Code) == isHistory(b.Code):
			return 0
		case isHistory(a.Code):
			return 1
		}
		return -1
	})
	return findings
}

// explains reports whether a finding may be the reason of an answer. If otherwise the past would be the reason, a
// young finding may be, too, unless a controller may still solve it by itself.
func (q *Question) explains(f *inspect.Finding, a *Answer) bool {
	if f.Code == clocksApart {
		return false
	}
	return a.isExplainedBy(f) || f.Severity != inspect.Info && !isHistory(f.Code) && !f.AwaitsActor && q.isExplainedByPast(a)
}

// isExplainedByPast reports whether a finding about the past may be the reason of an answer.
func (q *Question) isExplainedByPast(a *Answer) bool {
	return slices.ContainsFunc(q.Trace.Findings, func(f inspect.Finding) bool {
		return isHistory(f.Code) && q.isAboutPair(&f) && a.isExplainedBy(&f)
	})
}

// reasonOfWait returns the reason of a Job whose Workload waits on a cluster.
func reasonOfWait(w *kueue.Wait) inspect.JobReason {
	switch w.Reason {
	case kueue.ReasonQuotaInUse, kueue.ReasonPreempting, kueue.ReasonPreempted, kueue.ReasonPreemptionGated:
		return inspect.ReasonQuotaInUse
	case kueue.ReasonOverLimit:
		return inspect.ReasonOverLimit
	case kueue.ReasonCheckPending, kueue.ReasonCheckRetry, kueue.ReasonCheckRejected:
		return inspect.ReasonAdmissionCheck
	case kueue.ReasonAdmitted, kueue.ReasonNotEvaluated, kueue.ReasonTopologyPending, kueue.ReasonBackoff, kueue.ReasonEvicted:
		return inspect.ReasonNotAdmitted
	case kueue.ReasonNoTopologyDomain:
		return inspect.ReasonNoFlavor
	default:
	}
	switch {
	case w.IsForFlavor():
		return inspect.ReasonNoFlavor
	case w.IsForQueue():
		return inspect.ReasonSetup
	}
	return inspect.ReasonHeld
}

// stateOfWait returns the state of a Job whose Workload waits on its management cluster.
func stateOfWait(w *kueue.Wait) inspect.JobState {
	if w.IsPermanent() {
		return inspect.StateBlocked
	}
	return inspect.StateWaiting
}
