package kubecontext

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"strings"
)

// Address is what a kubeconfig tells of a context's cluster without asking it.
type Address struct {
	Context string
	// Server is the URL of the API server.
	Server string
	// CA is the Fingerprint of the certificate authority, "" where none is named.
	CA string
}

// Fingerprint tells certificate authorities apart: the SHA-256 of the
// certificates in PEM data, whatever stands around them, in hexadecimal. It is
// "" for no data.
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

// SameServer says whether two URLs name the same API server: scheme, host, port
// and path, with the port that the scheme implies where none is given.
func SameServer(a, b string) bool {
	x, y := NormalServer(a), NormalServer(b)
	return x != "" && x == y
}

// NormalServer is a URL as it is compared: scheme, host and port in full; "" for what is no
// URL of a server.
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
