package e2e

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokens is a proxy of the management cluster's API server that accepts only requests with the
// current token.
type tokens struct {
	*httptest.Server
	kubeconfig string
	valid      atomic.Value
	// file is the file from which the credential plugin reads the token.
	file    string
	refused atomic.Int32
}

func newTokens(t *testing.T) *tokens {
	t.Helper()
	through := newProxy(t).Config.Handler
	dir := t.TempDir()
	s := &tokens{kubeconfig: filepath.Join(dir, "kubeconfig"), file: filepath.Join(dir, "credential.json")}
	// Clients send credentials only over TLS.
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+s.valid.Load().(string) {
			s.refused.Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized, Message: "Unauthorized"})
			return
		}
		r.Header.Del("Authorization")
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config := clientcmdapi.NewConfig()
	config.CurrentContext = management
	config.Clusters[management] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: authority}
	config.Contexts[management] = &clientcmdapi.Context{Cluster: management, AuthInfo: "plugin"}
	config.AuthInfos["plugin"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: clientauthenticationv1.SchemeGroupVersion.String(), Command: "cat", Args: []string{s.file},
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	assert.NilError(t, clientcmd.WriteToFile(*config, s.kubeconfig))
	s.issue(t, "first")
	return s
}

// issue makes a token the only valid one. Open connections stay open.
func (s *tokens) issue(t *testing.T, token string) {
	t.Helper()
	credential := clientauthenticationv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthenticationv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthenticationv1.ExecCredentialStatus{Token: token},
	}
	text, err := json.Marshal(credential)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(s.file, text, 0o600))
	s.valid.Store(token)
}

// TestWatchSurvivesTheEndOfAToken checks the case that credentials expire while a watch is open,
// and the credential plugin has new ones.
func TestWatchSurvivesTheEndOfAToken(t *testing.T) {
	t.Parallel()
	const ns = "watch-token"
	createSettled(t, management, ns, "before")
	s := newTokens(t)
	w := follow(t, "jobs-managedby", "ls", "-n", ns, "-w", "--output-watch-events", "--kubeconfig", s.kubeconfig)
	w.expect(`^ADDED +before `)
	s.issue(t, "second")
	s.CloseClientConnections()
	create(t, ns, "after")
	before := w.expect(`^(ADDED|MODIFIED) +after +built-in +Complete `)
	for _, line := range before {
		assert.Assert(t, !contains(line, "before"), "a Job that did not change was reported again: %q", before)
	}
	assert.Assert(t, s.refused.Load() > 0, "no request with the old token was refused")
	assert.Equal(t, w.interrupt(), 130)
}
