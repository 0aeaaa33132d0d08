package kubecontext

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"strings"
)

// Address is what a kubeconfig says about a context's cluster.
type Address struct {
	Context string
	// Server is the URL of the API server.
	Server string
	// CA is the Fingerprint of the certificate authority, or "".
	CA string
}

// Fingerprint identifies a certificate authority: the hexadecimal SHA-256 of the certificates in
// PEM data, without the text around them. It is "" for no data.
func Fingerprint(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	hash := sha256.New()
	found := false
	for block, more := pem.Decode(data); block != nil; block, more = pem.Decode(more) {
		found = true
		_, _ = hash.Write(block.Bytes)
	}
	if !found {
		_, _ = hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// SameServer reports whether two URLs name the same API server: scheme, host, port and path. A
// missing port is implied by the scheme.
func SameServer(a, b string) bool {
	x, y := NormalServer(a), NormalServer(b)
	return x != "" && x == y
}

// NormalServer returns a URL in the form for comparisons: scheme, host, port and path. It returns
// "" for an invalid URL.
func NormalServer(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + strings.TrimRight(u.Path, "/")
}
