package kubecontext_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// TestBadCertificates checks that the cause is named, and that the network is not blamed.
func TestBadCertificates(t *testing.T) {
	past, far := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name        string
		from, until time.Time
		isUnknown   bool
		names       []string
		want        string
	}{
		{"unknown authority", past, far, true, []string{"api.example"}, "the kubeconfig's certificate authority did not sign the server certificate. Correct certificate-authority-data in the kubeconfig, or log in again"},
		{"wrong host", past, far, false, nil, "certificate is not valid for any names, but wanted to match api.example. Correct the server URL in the kubeconfig, or set its tls-server-name"},
		{"expired", past.AddDate(-1, 0, 0), past, false, nil, "the server certificate has expired (2001-01-01T00:00:00Z). Renew it, or skip the context with --contexts '^prod'"},
		{"not valid yet", far, far.AddDate(1, 0, 0), false, nil, "the server certificate is not valid yet (from 2100-01-01T00:00:00Z). Check the clock of this machine, or skip the context with --contexts '^prod'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			certificate := selfSigned(t, tt.from, tt.until, tt.names...)
			config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "api.example"}
			if !tt.isUnknown {
				config.RootCAs.AddCert(certificate.Leaf)
			}
			checkCertificate(t, requestTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, config), tt.want)
		})
	}
}

func TestRejectedClientCertificate(t *testing.T) {
	certificate := selfSigned(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	server := &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert}
	err := requestTLS(t, server, &tls.Config{InsecureSkipVerify: true})
	checkCertificate(t, err, "the server rejects the client certificate: certificate required. Renew the client certificate in the kubeconfig, or log in again")
}

func TestServerWithoutTLS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	answer, err := http.Get(strings.Replace(server.URL, "http:", "https:", 1))
	if err == nil {
		_ = answer.Body.Close()
	}
	checkCertificate(t, err, "the server does not speak TLS. Correct the server URL in the kubeconfig, or check the proxy")
}

func checkCertificate(t *testing.T, err error, want string) {
	t.Helper()
	got := &kubecontext.Error{Context: "prod", Err: err}
	assert.Equal(t, got.Message(), want)
	assert.Equal(t, got.Code(), kubecontext.CodeCertificate)
}

// requestTLS returns the error of a request between a server and a client with these settings.
func requestTLS(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS, s.Config.ErrorLog = server, log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: client}}).Get(s.URL)
	if err == nil {
		_ = answer.Body.Close()
		t.Fatal("the request succeeded")
	}
	return err
}

func selfSigned(t *testing.T, from, until time.Time, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "api"}, NotBefore: from, NotAfter: until, DNSNames: names,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	assert.NilError(t, err)
	leaf, err := x509.ParseCertificate(der)
	assert.NilError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
