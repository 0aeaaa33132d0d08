package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// whys describes the reason of each placement that satisfies is, after the
// names of its clusters.
func whys(all []inspect.Placement, is func(*inspect.Placement) bool) string {
	var reasons, parts []string
	places := map[string][]string{}
	for i := range all {
		if !is(&all[i]) {
			continue
		}
		why := lower(strings.TrimSuffix(plain(&all[i]), "."))
		if places[why] == nil {
			reasons = append(reasons, why)
		}
		places[why] = append(places[why], placeName(&all[i]))
	}
	for _, why := range reasons {
		parts = append(parts, strings.Join(places[why], ", ")+": "+why)
	}
	if len(parts) == 1 && len(places[reasons[0]]) == 1 {
		return parts[0] + "."
	}
	return noCluster + someParts(parts) + "."
}

const noCluster = "Fits on no cluster. "

// someParts returns the reasons that fit on a line of a terminal with 80
// columns, and how many more there are. It prefers short reasons and returns
// at least one. The placements have them all.
func someParts(parts []string) string {
	const line = 80
	if text := strings.Join(parts, "; "); len(noCluster)+len(text) < line {
		return text
	}
	kept := slices.Clone(parts)
	slices.SortStableFunc(kept, func(a, b string) int { return len(a) - len(b) })
	for len(kept) > 1 {
		kept = kept[:len(kept)-1]
		text := strings.Join(kept, "; ") + fmt.Sprintf("; %d more", len(parts)-len(kept))
		if len(noCluster)+len(text) < line || len(kept) == 1 {
			return text
		}
	}
	return kept[0]
}

// plain describes why a placement has its verdict, with its amounts.
func plain(p *inspect.Placement) string {
	if p.Reason == inspect.SaidByKueue && p.Wait != nil {
		return p.Wait.Text()
	}
	if p.Reason == inspect.OverLimit && p.Resource != "" {
		return fmt.Sprintf("needs %s %s, limit %s", p.Needs, p.Resource, p.Limit)
	}
	return message(p)
}
