package answer

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

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
	return a.isExplainedBy(f) || f.Severity != inspect.Info && !isHistory(f.Code) && !f.AwaitsActor && q.isExplainedByPast(a)
}

// isExplainedByPast reports whether a finding about the past may be the reason of an answer.
func (q *Question) isExplainedByPast(a *Answer) bool {
	return slices.ContainsFunc(q.Trace.Findings, func(f inspect.Finding) bool {
		return isHistory(f.Code) && q.isAboutPair(&f) && a.isExplainedBy(&f)
	})
}
