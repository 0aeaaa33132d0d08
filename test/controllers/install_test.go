package controllers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

// programs is the folder that install.sh filled.
const programs = "../../bin/controllers"

// project is one whose controllers there are.
type project string

const (
	jobSet  project = "jobset"
	trainer project = "trainer"
)

// manager are the controllers of a project that run against a cluster.
type manager struct {
	cmd   *exec.Cmd
	alive io.Closer
	log   string
	// webhooks are the objects that have the API server ask them.
	webhooks []*unstructured.Unstructured
	client   dynamic.Interface
}

// serve has a cluster serve the kinds of a project, as its module defines them.
func serve(ctx context.Context, cluster string, p project) error {
	config, err := set.Config(cluster)
	if err != nil {
		return err
	}
	crds, err := kinds.Read(os.DirFS(filepath.Join(programs, string(p))), "crds")
	if err != nil {
		return err
	}
	return kinds.InstallAll(ctx, config, crds)
}

// start runs the controllers of a project against a cluster that serves its kinds, and
// has its API server ask their webhooks.
func start(ctx context.Context, cluster string, p project) (*manager, error) {
	dir := filepath.Join(scratch, cluster+"-"+string(p))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600), os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	m := &manager{log: filepath.Join(dir, "log"), client: dynamicClient(cluster)}
	log, err := os.Create(m.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	m.cmd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(programs, "manager"), "--kubeconfig", set.Kubeconfig, "--context", cluster,
		"--webhook-port", strconv.Itoa(port), "--cert-dir", dir, string(p))
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if m.alive, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	if err := m.asked(ctx, p, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), certificate); err != nil {
		said, _ := os.ReadFile(m.log)
		return nil, fmt.Errorf("controllers of %s on %s: %w: %s", p, cluster, errors.Join(err, m.stop(ctx)), said)
	}
	return m, nil
}

// asked has the API server ask the webhooks at an address, and waits until it does.
func (m *manager) asked(ctx context.Context, p project, address string, certificate []byte) error {
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(certificate)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: authorities}}
	err := poll(ctx, func(ctx context.Context) bool {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		return err == nil && connection.Close() == nil
	})
	if err != nil {
		return fmt.Errorf("wait for its webhooks: %w", err)
	}
	configurations, err := kinds.Read(os.DirFS(filepath.Join(programs, string(p))), "webhooks")
	if err != nil {
		return err
	}
	for _, c := range configurations {
		// Both projects give theirs the same name, kustomize puts their own before it.
		c.SetName(string(p) + "-" + c.GetName())
		if err := leadTo(c, "https://"+address, certificate); err != nil {
			return err
		}
		if _, err := m.client.Resource(webhooks(c)).Create(ctx, c, metav1.CreateOptions{}); err != nil {
			return err
		}
		m.webhooks = append(m.webhooks, c)
	}
	return poll(ctx, func(ctx context.Context) bool {
		resource, o := refused(p)
		_, err := m.client.Resource(resource).Namespace(metav1.NamespaceDefault).Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "admission webhook")
	})
}

// refused is an object that the webhook of a project does not take.
func refused(p project) (schema.GroupVersionResource, *unstructured.Unstructured) {
	resource, kind := jobSets, "JobSet"
	spec := map[string]any{"network": map[string]any{"subdomain": "not_a_name"}}
	if p == trainer {
		resource, kind = trainJobs, "TrainJob"
		spec = map[string]any{"runtimeRef": map[string]any{"name": "none"}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	o.SetName("refused")
	return resource, o
}

// leadTo has webhooks be asked at a URL in place of a Service.
func leadTo(configuration *unstructured.Unstructured, url string, authority []byte) error {
	all, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, one := range all {
		webhook, _ := one.(map[string]any)
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		webhook["clientConfig"] = map[string]any{"url": url + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
	}
	return unstructured.SetNestedSlice(configuration.Object, all, "webhooks")
}

func webhooks(configuration *unstructured.Unstructured) schema.GroupVersionResource {
	return configuration.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(configuration.GetKind()) + "s")
}

// stop ends the controllers, and has nobody ask their webhooks any more.
func (m *manager) stop(ctx context.Context) error {
	var errs []error
	for _, c := range m.webhooks {
		errs = append(errs, m.client.Resource(webhooks(c)).Delete(ctx, c.GetName(), metav1.DeleteOptions{}))
	}
	errs = append(errs, m.alive.Close())
	_ = m.cmd.Wait()
	return errors.Join(errs...)
}

// freePort is a port of this machine that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, _ := l.Addr().(*net.TCPAddr)
	return address.Port, l.Close()
}

// poll waits until something is so.
func poll(ctx context.Context, is func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		return is(ctx), nil
	})
}
