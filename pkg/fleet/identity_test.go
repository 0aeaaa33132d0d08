package fleet

import (
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	testingclock "k8s.io/utils/clock/testing"
)

const certificate = "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"

func TestFingerprint(t *testing.T) {
	assert.Equal(t, Fingerprint(nil), "")
	assert.Equal(t, Fingerprint([]byte(certificate)), Fingerprint([]byte("# root of the lab\n"+certificate+"\n\n")))
	assert.Assert(t, Fingerprint([]byte(certificate)) != Fingerprint([]byte(certificate+certificate)))
	assert.Assert(t, Fingerprint([]byte("no PEM")) != Fingerprint([]byte("nor this")))
}

func TestSameServer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://api.example", "https://API.example:443/", true},
		{"https://api.example:6443", "https://api.example:6443", true},
		{"https://api.example:6443", "https://api.example", false},
		{"https://api.example", "http://api.example", false},
		{"https://api.example/k8s/a", "https://api.example/k8s/b", false},
		{"https://[::1]:6443", "https://[::1]:6443/", true},
		{"", "", false},
		{"https://\x00", "https://\x00", false},
	} {
		assert.Equal(t, SameServer(tt.a, tt.b), tt.same, "%s and %s", tt.a, tt.b)
	}
}

// TestSkew tells a cluster's clock, some seconds ahead, from its answers, each of
// which took a while.
func TestSkew(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Date(2026, 11, 21, 9, 0, 0, 400_000_000, time.UTC))
	meter := &skewMeter{clock: clock}
	ahead := 7 * time.Second
	ask := func(there, back time.Duration) {
		t.Helper()
		transport := meter.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			clock.Step(there)
			response := &http.Response{Header: http.Header{"Date": {clock.Now().Add(ahead).UTC().Format(http.TimeFormat)}}, Body: http.NoBody}
			clock.Step(back)
			return response, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example", http.NoBody)
		assert.NilError(t, err)
		response, err := transport.RoundTrip(request)
		assert.NilError(t, err)
		assert.NilError(t, response.Body.Close())
	}
	contains := func() {
		t.Helper()
		assert.Assert(t, meter.skew.Known && meter.skew.Min <= ahead && ahead <= meter.skew.Max, "%v", meter.skew)
	}
	ask(200*time.Millisecond, 100*time.Millisecond)
	contains()
	first := meter.skew.Max - meter.skew.Min
	clock.Step(1300 * time.Millisecond)
	ask(10*time.Millisecond, 10*time.Millisecond)
	contains()
	assert.Assert(t, meter.skew.Max-meter.skew.Min < first, "the second answer narrows it down")

	ahead = -time.Hour
	ask(time.Millisecond, time.Millisecond)
	contains()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
