package history

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestParseAge: durations as in kubectl, with days and weeks in front.
func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "7d": 168 * time.Hour, "1w2d": 216 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
	} {
		got, err := parseAge(text)
		assert.NilError(t, err, text)
		assert.Equal(t, got, want, text)
	}
	for _, text := range []string{"7", "d", "-1h", "0s", "1h2d", "7days", "999999d"} {
		_, err := parseAge(text)
		assert.ErrorContains(t, err, "--since", text)
	}
}
