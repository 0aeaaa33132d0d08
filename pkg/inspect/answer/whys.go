package answer

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// whys says for each placement why, with its name first.
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
	return "Fits on no cluster. " + strings.Join(parts, "; ") + "."
}

// plain says why a placement has its verdict, with its amounts.
func plain(p *inspect.Placement) string {
	if p.Reason == inspect.SaidByKueue && p.Wait != nil {
		return p.Wait.Text()
	}
	if p.Reason == inspect.OverLimit && p.Resource != "" {
		return fmt.Sprintf("needs %s %s, limit %s", p.Needs, p.Resource, p.Limit)
	}
	return message(p)
}
