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
	got, err := parseAge("36499d24h")
	assert.NilError(t, err)
	assert.Equal(t, got, 36500*24*time.Hour)
	for _, text := range []string{"36501d", "20000w", "99999w", "99999999999999999999d", "5214w5214w", "36500d1s", "2562048h", "9000000h5m", "876001h"} {
		_, err := parseAge(text)
		assert.Error(t, err, "--since must be at most 36500d, not "+text)
	}
}
