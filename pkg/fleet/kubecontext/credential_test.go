package kubecontext

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestTokenFacts(t *testing.T) {
	token := func(payload string) string {
		return "header." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".signature"
	}
	c, ok := TokenFacts(token(`{"sub":"system:serviceaccount:kueue-system:multikueue-sa","exp":1764000000,"iat":1763996400,"aud":["x"]}`))
	assert.Assert(t, ok)
	assert.Equal(t, c.String(), "token of service account kueue-system/multikueue-sa")
	assert.Equal(t, c.NotAfter.Format(time.RFC3339), "2025-11-24T16:00:00Z")
	assert.Equal(t, c.NotBefore.Format(time.RFC3339), "2025-11-24T15:00:00Z")
	assert.DeepEqual(t, c.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:kueue-system", "system:authenticated"})

	for _, claim := range []string{`"kubernetes.io":{"namespace":"a","serviceaccount":{"name":"b","uid":"u"}}`, `"kubernetes.io/serviceaccount/service-account.uid":"u"`} {
		c, ok = TokenFacts(token(`{"sub":"system:serviceaccount:a:b",` + claim + `}`))
		namespace, name, isAccount := c.ServiceAccount()
		assert.Assert(t, ok && isAccount && namespace == "a" && name == "b" && c.AccountUID == "u", "%+v", c)
	}

	c, ok = TokenFacts(token(`{"sub":"somebody"}`))
	_, _, isAccount := c.ServiceAccount()
	assert.Assert(t, !isAccount)
	assert.Assert(t, ok && c.NotAfter == nil && c.Groups == nil)
	assert.Equal(t, c.String(), "token of somebody")
	for _, other := range []string{"", "abcdef.0123456789abcdef", "a.b.c", token("no JSON"), token(`{"exp":"soon"}`)} {
		_, ok := TokenFacts(other)
		assert.Assert(t, !ok, other)
	}
	c, _ = TokenFacts(token(`{"exp":1e300}`))
	assert.Assert(t, c.NotAfter == nil)
}

func TestCertificateFacts(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	expiry, issued := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "manager", Organization: []string{"system:masters"}}, NotBefore: issued, NotAfter: expiry}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	assert.NilError(t, err)
	c, ok := CertificateFacts(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	assert.Assert(t, ok)
	assert.DeepEqual(t, c, Credential{Kind: Certificate, User: "manager", Groups: []string{"system:masters"}, NotBefore: &issued, NotAfter: &expiry})
	assert.Equal(t, c.String(), "certificate of manager")
	for _, other := range []string{"", "no PEM", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))} {
		_, ok := CertificateFacts([]byte(other))
		assert.Assert(t, !ok, other)
	}
}
