package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// credentialProgram is a credential plugin that issues client certificates of a cluster's own
// authority, valid for some seconds:
//
//	e2e-credential AUTHORITY SECONDS STOP
//
// It prints when they expire if SECONDS has a decimal point; otherwise the server reports that.
// Once the file STOP exists, it issues none.
const credentialProgram = "e2e-credential"

func printCredential() {
	if _, err := os.Stat(os.Args[3]); err == nil {
		fmt.Fprintln(os.Stderr, "the session is over")
		os.Exit(1)
	}
	credential, err := newCredential(os.Args[1], os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(credential)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newCredential(authority, lasts string) (*clientauthenticationv1.ExecCredential, error) {
	good, err := time.ParseDuration(lasts + "s")
	if err != nil {
		return nil, err
	}
	ca, err := tls.LoadX509KeyPair(authority+".crt", authority+".key")
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(good)
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(until.UnixNano()), Subject: pkix.Name{CommonName: "somebody", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	status := &clientauthenticationv1.ExecCredentialStatus{
		ClientCertificateData: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		ClientKeyData:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
	if strings.Contains(lasts, ".") {
		status.ExpirationTimestamp = &metav1.Time{Time: until}
	}
	return &clientauthenticationv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthenticationv1.SchemeGroupVersion.String(), Kind: "ExecCredential"}, Status: status,
	}, nil
}

// withCertificates returns a kubeconfig in which certificates for both clusters of a dispatch come
// from a credential plugin, until the file stop exists.
func withCertificates(t *testing.T, lasts map[string]string) (kubeconfig, stop string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, stop = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "stop")
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	for cluster, seconds := range lasts {
		config.AuthInfos[cluster] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: clientauthenticationv1.SchemeGroupVersion.String(), Command: credentialProgram,
			Args: []string{set.Authority(cluster), seconds, stop}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}}
		config.Contexts[cluster].AuthInfo = cluster
	}
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig, stop
}

// TestDispatchOutlivesItsCredentials checks the case that certificates are valid for some seconds.
// The server reports the expiry on one side, the credential plugin on the other.
func TestDispatchOutlivesItsCredentials(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-credentials"
	origin(t, ns, "train", fixture.Pods(2), fixture.RunsFor("40s"))
	kubeconfig, _ := withCertificates(t, map[string]string{management: "12", worker1: "12.0"})
	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
	assert.Equal(t, d.Count(dispatch.LeaseLost), 0, "%v\n%s", d.Seen, d.Stderr.String())
}

// TestDispatchWithoutCredentials checks the case that credentials expire, and there are no new
// ones for a while. The output says what to do, the Job keeps running, and nothing is lost. With
// new credentials, the dispatch continues.
func TestDispatchWithoutCredentials(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-logged-out"
	origin(t, ns, "train", fixture.Pods(2), fixture.RunsFor("1h"))
	kubeconfig, stop := withCertificates(t, map[string]string{management: "15", worker1: "15"})
	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	made := d.Expect(dispatch.MirrorCreated, "train")
	eventuallyJob(t, management, ns, "train", func(j *batchv1.Job) bool { return j.Status.Ready != nil && *j.Status.Ready == 2 })
	assert.NilError(t, os.WriteFile(stop, nil, 0o600))
	d.Until("an event about the credentials", func(e dispatch.Event) bool { return contains(e.Message, "Log in again") })
	d.Expect(dispatch.LeaseLost, "train")
	succeed(t, worker1, ns, runningPods(t, worker1, ns, "train", 2)...)
	eventuallyJob(t, worker1, ns, "train", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	assert.Equal(t, jobOf(t, management, ns, "train").Status.Succeeded, int32(0))

	assert.NilError(t, os.Remove(stop))
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	sameEnd(t, ns, "train")
	assert.Equal(t, string(jobOf(t, worker1, ns, "train").UID), made.Mirror.UID)

	// A user without any credentials gets the error at once, and nothing is created.
	origin(t, ns, "never")
	assert.NilError(t, os.WriteFile(stop, nil, 0o600))
	d = dispatches(t, ns, "never", "--kubeconfig", kubeconfig)
	assert.Equal(t, d.End(), 1)
	assert.Assert(t, contains(d.Stderr.String(), management, "Log in again"), d.Stderr.String())
	assert.Assert(t, jobOf(t, worker1, ns, "never") == nil)

	// A dispatch that is interrupted without credentials leaves the mirror that it cannot reach,
	// and says so.
	assert.NilError(t, os.Remove(stop))
	origin(t, ns, "left", fixture.RunsFor("1h"))
	d = dispatches(t, ns, "left", "--kubeconfig", kubeconfig, "--on-interrupt", "delete")
	d.Expect(dispatch.MirrorCreated, "left")
	assert.NilError(t, os.WriteFile(stop, nil, 0o600))
	d.Until("an event about the credentials", func(e dispatch.Event) bool { return contains(e.Message, "Log in again") })
	d.Signal(syscall.SIGTERM)
	assert.Equal(t, d.End(), 143, d.Stderr.String())
	// "left" or "keeps running" depends on which request is the first without credentials.
	assert.Assert(t, contains(d.Seen[len(d.Seen)-1].Message, "its mirror on "+worker1, "Log in again"), "%v", d.Seen)
	assert.Assert(t, jobOf(t, worker1, ns, "left") != nil)
}
