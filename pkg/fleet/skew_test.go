package fleet

import (
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	testingclock "k8s.io/utils/clock/testing"
)

// TestSkew measures a cluster's clock that is some seconds ahead, from slow answers.
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

	// Now uses the cluster's clock.
	f := &Fleet{clock: clock, members: []*member{{context: "a", routes: []*Cluster{{meter: meter}}}, {context: "b"}}}
	assert.Assert(t, f.Now("a").Sub(clock.Now().Add(ahead)).Abs() <= time.Second, "%s", f.Now("a"))
	assert.Equal(t, f.Now("b"), clock.Now())
	ahead = 500 * time.Millisecond
	ask(time.Millisecond, time.Millisecond)
	assert.Equal(t, f.Now("a"), clock.Now(), "too little to be worth a word")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
