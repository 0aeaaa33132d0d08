package kueue_test

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestFault checks that the fault of a MultiKueueCluster has no request, no attempts and no Go types.
func TestFault(t *testing.T) {
	for message, want := range map[string]string{
		"": "Broken",
		`failed to get server groups: Get "https://127.0.0.1:32758/api": dial tcp 127.0.0.1:32758: connect: connection refused; connection attempts: 2, next connection attempt: soon`: "connection refused",
		`Get "https://w.example.com/api": dial tcp: lookup w.example.com: no such host`:                                                                                                "dial tcp: lookup w.example.com: no such host",
		`Get "https://w.example.com/api": x509: certificate has expired`:                                                                                                               "x509: certificate has expired",
		"load client config failed: Secret \"w\"\nnot found":                                                                                                                           `Secret "w" not found`,
		"load client config failed: failed to parse kubeconfig(apiconfig): couldn't get version/kind; json parse error: json: cannot unmarshal":                                        "failed to parse kubeconfig(apiconfig): couldn't get version/kind",
	} {
		assert.Equal(t, kueue.Fault(&metav1.Condition{Reason: "Broken", Message: message}), want)
	}
}
