package inspect

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Starts is what is known about when a waiting Job will start. There is no single estimate.
type Starts struct {
	// By is when the Job starts at the latest, if no Job of higher priority arrives and the quota
	// stays; null if unknown. Pods that have reached their time limit must stop first.
	By *metav1.Time `json:"by"`
	// Context is the context whose queue determines By, and whose clock it uses; "" without By.
	Context string `json:"context"`
	// Samples is how many Jobs the waits are measured from: the last ones of the same queue and
	// size that were admitted, at most 20; 0 if there are fewer than five.
	Samples int `json:"samples"`
	// WaitMedianSeconds is the median wait of the samples; null without samples.
	WaitMedianSeconds *int64 `json:"waitMedianSeconds"`
	// WaitP90Seconds is the 90th percentile of the waits of the samples; null without samples.
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
