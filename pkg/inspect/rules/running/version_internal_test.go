package running

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestKeepsSuspended checks versions with a suffix: distributions append to the version of the API
// server.
func TestKeepsSuspended(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.36.0": true, "v1.36.1": true, "v1.36.0+k3s1": true, "v1.36.1-gke.1234000": true, "v1.36.1-eks-0123abc": true,
		"v1.36.2": false, "v1.36.2+k3s1": false, "v1.35.9": false, "v1.37.0": false, "v1.360.0": false, "": false, "unknown": false,
	} {
		assert.Equal(t, keepsSuspended(version), want, version)
	}
}
