package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// run runs the plugin through kubectl and returns what it prints and its exit
// code.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var errOut bytes.Buffer
	cmd := command(t, append([]string{"jobs-managedby"}, args...)...)
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), errOut.String(), cmd.ProcessState.ExitCode()
}

// TestBundleIsTheFleet checks that for a snapshot, ls prints exactly what it prints for the fleet,
// errors included.
func TestBundleIsTheFleet(t *testing.T) {
	const ns = "bundle"
	queued := fixture.ManagedBy(string(delegation.MultiKueue))
	assert.NilError(t, fixture.Create(t.Context(), client(t, management),
		fixture.New(ns, "running", fixture.RunsFor("1h")), fixture.New(ns, "complete"), fixture.New(ns, "failed", fixture.Fails()),
		fixture.New(ns, "unclaimed", fixture.ManagedBy("example.com/x")), fixture.New(ns, "suspended", fixture.Suspended())))
	assert.NilError(t, fixture.Create(t.Context(), client(t, worker1), fixture.New(ns, "claimed", queued), fixture.New(ns, "unclaimed", queued)))
	eventually(t, map[string]delegation.Status{
		"running": delegation.Running, "complete": delegation.Complete, "failed": delegation.Failed,
		"unclaimed": delegation.Unclaimed, "suspended": delegation.Suspended,
	}, "-n", ns)
	installCRD(t, worker1, strings.ReplaceAll(workloadCRD, "v1beta1", "v1beta2"))
	job, err := client(t, worker1).BatchV1().Jobs(ns).Get(t.Context(), "claimed", metav1.GetOptions{})
	assert.NilError(t, err)
	claim := workloadOf(job)
	claim.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	create1(t, worker1, "workloads", ns, claim)

	// A user who may read only a part of it.
	allow(t, client(t, management), ns, "bundle-jobs-only", "batch", "jobs")
	t.Run("unchanged fleet", func(t *testing.T) {
		for _, tt := range []struct {
			args []string
			code int
		}{
			{args: []string{"-A", "--all-contexts", "--context-timeout", "10s"}, code: 4},
			{args: []string{"-A", "--contexts", "management,worker-*", "--context-timeout", "5m"}},
			{args: []string{"-n", ns, "--contexts", "worker-1,nobody"}, code: 4},
			// The contexts nobody and management have the same address, but that does not prove
			// that they are the same cluster.
			{args: []string{"-n", ns, "--contexts", "worker-1,management,nobody"}, code: 4},
			{args: []string{"-n", ns, "--context", management, "--as", "bundle-jobs-only"}},
		} {
			t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
				t.Parallel()
				var live, dir string
				// Jobs of other tests may still change.
				assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
					dir = filepath.Join(t.TempDir(), "new")
					before, _, code := run(t, append([]string{"ls", "-o", "json"}, tt.args...)...)
					assert.Equal(t, code, tt.code)
					_, errOut, code := run(t, append([]string{"snapshot", dir}, tt.args...)...)
					if code != tt.code && !strings.Contains(errOut, "cannot read") {
						t.Fatalf("exit code %d: %s", code, errOut)
					}
					live, _, _ = run(t, append([]string{"ls", "-o", "json"}, tt.args...)...)
					return live == before, nil
				}))
				args := []string{"ls", "-o", "json", "--from", dir}
				if tt.args[0] == "-A" {
					args = append(args, "-A")
				}
				back, _, code := run(t, args...)
				assert.Equal(t, code, tt.code)
				assert.Equal(t, back, live)
			})
		}
	})

	t.Run("the earlier state", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		out, _, code := run(t, "snapshot", dir, "-n", ns, "--context", management)
		assert.Equal(t, code, 0)
		assert.Assert(t, contains(out, dir+" holds 1 of 1 contexts. To read it:", "kubectl jobs-managedby ls --from "+dir), "%s", out)
		before, _, _ := run(t, "ls", "--from", dir)
		remove(t, ns, "suspended")
		after, _, code := run(t, "ls", "--from", dir, "--kubeconfig=")
		assert.Equal(t, code, 2, "the flag is accepted")
		assert.Equal(t, after, "")
		after, _, code = run(t, "ls", "--from", dir)
		assert.Equal(t, code, 0)
		assert.Equal(t, after, before)
		assert.Assert(t, contains(after, "suspended"))
		_, errOut, _ := run(t, "ls", "--from", dir, "-A")
		assert.Assert(t, contains(errOut, "note: the snapshot of context \"management\" has only namespace "+ns), "%s", errOut)
	})
}

// TestBundleHoldsNoSecrets checks that no credentials of the kubeconfigs that MultiKueue keeps in
// Secrets reach the disk.
func TestBundleHoldsNoSecrets(t *testing.T) {
	serving(t, alone, worker2)
	crd := strings.NewReplacer("workload", "multikueuecluster", "Workload", "MultiKueueCluster", "Namespaced", "Cluster").Replace(workloadCRD)
	installCRD(t, worker2, crd)
	create1(t, worker2, "multikueueclusters", "", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "MultiKueueCluster", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"kubeConfig": map[string]any{"location": "w-secret", "locationType": "Secret"}},
	}})
	c := client(t, worker2)
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kueue-system"}}, metav1.CreateOptions{})
	assert.Assert(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	kubeconfig, err := os.ReadFile(set.Kubeconfig)
	assert.NilError(t, err)
	_, err = c.CoreV1().Secrets("kueue-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "w-secret"},
		Data:       map[string][]byte{"kubeconfig": append(kubeconfig, "\n"...), "other": []byte("TOP-SECRET")},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)

	dir := filepath.Join(t.TempDir(), "new")
	_, errOut, code := run(t, "snapshot", dir, "-A", "--context", worker2, "--context-timeout", "5m")
	assert.Equal(t, code, 0, "%s", errOut)
	all := ""
	assert.NilError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all += string(text)
		return err
	}))
	assert.Assert(t, contains(all, "name: w-secret", "kubeconfig: "), "%s", all)
	_, encoded, _ := strings.Cut(all, "kubeconfig: ")
	encoded, _, _ = strings.Cut(encoded, "\n")
	kept, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, "'"))
	assert.NilError(t, err)
	all += string(kept)
	config, err := set.Config(worker2)
	assert.NilError(t, err)
	for _, secret := range []string{
		"TOP-SECRET", "client-key", "client-certificate", "expired", "no-such-credential-plugin", "users:\n-",
		base64.StdEncoding.EncodeToString(config.KeyData), base64.StdEncoding.EncodeToString(config.CertData),
	} {
		assert.Assert(t, secret == "" || !strings.Contains(all, secret), "%s is in %s", secret, all)
	}
}

// TestBundleInterrupted checks that an interrupted snapshot leaves no files.
func TestBundleInterrupted(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	target, err := url.Parse(p.URL)
	assert.NilError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	reached := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			reached <- struct{}{}
			<-r.Context().Done()
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	parent := t.TempDir()
	cmd := command(t, "jobs-managedby", "snapshot", filepath.Join(parent, "new"), "--server", server.URL)
	assert.NilError(t, cmd.Start())
	select {
	case <-reached:
	case <-time.After(poll.Limit):
		t.Fatal("no request for pods was seen")
	}
	assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	assert.Equal(t, cmd.ProcessState.ExitCode(), 130)
	left, err := os.ReadDir(parent)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0, fmt.Sprint(left))
}

// installCRD installs a kind until the test ends.
func installCRD(t *testing.T, cluster, text string) {
	t.Helper()
	var crd unstructured.Unstructured
	assert.NilError(t, crd.UnmarshalJSON([]byte(text)))
	crds := dynamicClient(t, cluster).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := crds.Create(t.Context(), &crd, metav1.CreateOptions{})
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.NilError(t, crds.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}))
	})
}

// create1 creates an object of a kind that may not be served yet.
func create1(t *testing.T, cluster, plural, namespace string, o *unstructured.Unstructured) {
	t.Helper()
	resource := o.GroupVersionKind().GroupVersion().WithResource(plural)
	c := dynamicClient(t, cluster)
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		var err error
		if namespace == "" {
			_, err = c.Resource(resource).Create(ctx, o, metav1.CreateOptions{})
		} else {
			_, err = c.Resource(resource).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{})
		}
		return err == nil, nil
	}))
}

func dynamicClient(t *testing.T, cluster string) dynamic.Interface {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	c, err := dynamic.NewForConfig(config)
	assert.NilError(t, err)
	return c
}
