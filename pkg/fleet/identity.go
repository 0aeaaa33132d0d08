package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

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
	x, y := normalServer(a), normalServer(b)
	return x != "" && x == y
}

func normalServer(server string) string {
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

// authority is the fingerprint of the certificate authority that a context
// trusts; "" where it names none, or names a file that cannot be read.
func (c Context) authority() string {
	if c.CA != "" || c.Config == nil {
		return c.CA
	}
	config := rest.CopyConfig(c.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return ""
	}
	return Fingerprint(config.CAData)
}

// Address is what a kubeconfig tells of a context's cluster without asking it.
type Address struct {
	Context string
	// Server is the URL of the API server.
	Server string
	// CA is the Fingerprint of the certificate authority, "" where none is named.
	CA string
}

// Address tells where the context's cluster is; the zero Address but for the
// name where the context is not usable.
func (c Context) Address() Address {
	a := Address{Context: c.Name}
	if c.Config != nil {
		a.Server, a.CA = c.Config.Host, c.authority()
	}
	return a
}
