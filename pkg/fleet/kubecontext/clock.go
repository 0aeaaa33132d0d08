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

// noticeable is the skew from which on a clock is worth a word: Date headers
// have whole seconds, and lag is judged in seconds.
const noticeable = 2 * time.Second

// Noticeable is by how much a clock is ahead, if it differs enough to be worth a word.
func (s Skew) Noticeable() (ahead time.Duration, ok bool) {
	if !s.Known || s.Min < noticeable && s.Max > -noticeable {
		return 0, false
	}
	return (s.Min + s.Max) / 2, true
}
