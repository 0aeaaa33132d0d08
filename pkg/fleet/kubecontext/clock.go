package kubecontext

import "time"

// Skew is by how much a cluster's clock is ahead of ours, as the Date headers of
// its answers tell: somewhere from Min to Max. A Date header has whole seconds,
// so that the two are up to a second apart, and further on a slow connection.
type Skew struct {
	Min, Max time.Duration
	// Known is false where no answer told the time.
	Known bool
}
