package kubecontext

import "time"

// Skew is how far a cluster's clock is ahead of ours, between Min and Max, according to the Date
// headers of its answers. A Date header has whole seconds, so Min and Max differ by up to a
// second, and by more on a slow connection.
type Skew struct {
	Min, Max time.Duration
	// Known is false if no answer had a Date header.
	Known bool
}

// noticeable is the minimum skew to report: Date headers have whole seconds, and lag is judged in
// seconds.
const noticeable = 2 * time.Second

// Noticeable returns how far a clock is ahead, if that is worth reporting.
func (s Skew) Noticeable() (ahead time.Duration, ok bool) {
	if !s.Known || s.Min < noticeable && s.Max > -noticeable {
		return 0, false
	}
	return (s.Min + s.Max) / 2, true
}
