package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"knative.dev/pkg/webhook/certificates/resources"
)

// namespace, service and secret are names in Tekton's manifests.
const (
	namespace = "tekton-pipelines"
	service   = "tekton-pipelines-webhook"
	secret    = "webhook-certs"
)

// storeCertificate stores the certificate of a directory in the Secret from which Tekton serves
// its webhooks.
func storeCertificate(ctx context.Context, config *rest.Config, dir string) error {
	certificate, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	key, keyErr := os.ReadFile(filepath.Join(dir, "tls.key"))
	if err := errors.Join(err, keyErr); err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	stored := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret, Namespace: namespace},
		Data:       map[string][]byte{resources.CACert: certificate, resources.ServerCert: certificate, resources.ServerKey: key},
	}
	_, err = client.CoreV1().Secrets(namespace).Create(ctx, stored, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.CoreV1().Secrets(namespace).Update(ctx, stored, metav1.UpdateOptions{})
	}
	return err
}
