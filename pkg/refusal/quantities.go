package refusal

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// fitsAlone reports whether a request is within the limits, so that only other objects use up the
// quota. Both lists look like "pods=1,requests.cpu=2".
func fitsAlone(requested, limited string) bool {
	limits, requests := Quantities(limited), Quantities(requested)
	for name, quantity := range requests {
		limit, ok := limits[name]
		if !ok || quantity.Cmp(limit) > 0 {
			return false
		}
	}
	return len(requests) > 0
}

// Quantities parses a list of resources from the quota plugin, such as "pods=1,requests.cpu=2".
// It omits malformed entries.
func Quantities(list string) map[string]resource.Quantity {
	parsed := map[string]resource.Quantity{}
	for entry := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if quantity, err := resource.ParseQuantity(text); err == nil {
			parsed[name] = quantity
		}
	}
	return parsed
}
