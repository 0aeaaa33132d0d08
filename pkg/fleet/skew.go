package fleet

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// skewMeter narrows a Skew with each answer.
type skewMeter struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	skew  kubecontext.Skew
}

func (m *skewMeter) observe(date, sent, received time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// When the server wrote the header, its clock showed date or up to a second more, and ours a
	// time between sent and received.
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	switch {
	case !m.skew.Known:
		m.skew = kubecontext.Skew{Min: least, Max: most, Known: true}
	case least > m.skew.Max || most < m.skew.Min:
		// One of the clocks was set in between.
		m.skew = kubecontext.Skew{Min: least, Max: most, Known: true}
	default:
		m.skew.Min, m.skew.Max = max(m.skew.Min, least), min(m.skew.Max, most)
	}
}

func (m *skewMeter) wrap(next http.RoundTripper) http.RoundTripper {
	return &meteredTransport{next: next, meter: m}
}

// meteredTransport reads the time from every answer.
type meteredTransport struct {
	next  http.RoundTripper
	meter *skewMeter
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (t *meteredTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends a request.
func (t *meteredTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := t.meter.clock.Now()
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		t.meter.observe(date, sent, t.meter.clock.Now())
	}
	return response, nil
}

// Now returns the time of a context's cluster: our time, corrected by the noticeable skew.
func (f *Fleet) Now(name string) time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	now := f.clock.Now()
	for _, m := range f.members {
		if m.context == name && len(m.routes) > 0 {
			if ahead, ok := m.routes[0].Skew().Noticeable(); ok {
				return now.Add(ahead)
			}
		}
	}
	return now
}

// Skew returns the skew of the cluster's clock, according to its answers so far.
func (c *Cluster) Skew() kubecontext.Skew {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	return c.meter.skew
}
