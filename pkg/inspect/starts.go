package inspect

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Starts is what is known of when a Job that waits will start. There is no estimate of one time.
type Starts struct {
	// By is when it starts at the latest, if no Job of higher priority arrives and the quota stays;
	// null where nothing bounds that.
	By *metav1.Time `json:"by"`
	// Context is the cluster whose queue bounds it, by the clock there; "" without a bound.
	Context string `json:"context"`
	// Samples is how many Jobs of the same queue and size the waits are of: the last ones that
	// were admitted, at most 20. It is 0 where there are fewer than five.
	Samples int `json:"samples"`
	// WaitMedianSeconds is the wait that half of these did not exceed; null without samples.
	WaitMedianSeconds *int64 `json:"waitMedianSeconds"`
	// WaitP90Seconds is the wait that nine of ten of these did not exceed.
	WaitP90Seconds *int64 `json:"waitP90Seconds"`
}

func (s *Starts) deepCopy() *Starts {
	if s == nil {
		return nil
	}
	c := *s
	c.By, c.WaitMedianSeconds, c.WaitP90Seconds = s.By.DeepCopy(), clone(s.WaitMedianSeconds), clone(s.WaitP90Seconds)
	return &c
}
