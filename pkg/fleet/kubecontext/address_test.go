package kubecontext

import (
	"testing"

	"gotest.tools/v3/assert"
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
