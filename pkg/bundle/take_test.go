package bundle_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// again takes a snapshot of a fleet of a snapshot, writes it, and opens it.
func again(t *testing.T, b *bundle.Bundle, f *fleet.Fleet, o bundle.Options) (dir string, back *bundle.Bundle) {
	t.Helper()
	o.Clock = at(b)
	recording, err := bundle.Take(t.Context(), f, o)
	assert.NilError(t, err)
	dir = filepath.Join(t.TempDir(), "new")
	assert.NilError(t, recording.Write(t.Context(), dir))
	back, err = bundle.Open(dir)
	assert.NilError(t, err)
	return dir, back
}

// TestRoundTrip checks that reading a fleet and reading its snapshot returns the same, and that a
// snapshot of a snapshot is equal to it.
func TestRoundTrip(t *testing.T) {
	for _, name := range []string{"running", "worker-lost", "no-quota-on-workers"} {
		t.Run(name, func(t *testing.T) {
			b, err := bundle.Open("../../test/recordings/" + name)
			assert.NilError(t, err)
			all := fleet.Options{AllNamespaces: true}
			f := clusters(t, b, all)
			first, back := again(t, b, f, bundle.Options{AllNamespaces: true})
			assert.Equal(t, ls(t, clusters(t, back, all)), ls(t, f))
			assert.Assert(t, back.TakenAt().Equal(b.TakenAt()))
			second, _ := again(t, back, clusters(t, back, all), bundle.Options{AllNamespaces: true})
			assert.DeepEqual(t, texts(t, first), texts(t, second))
		})
	}
}

func TestContents(t *testing.T) {
	b, err := bundle.Open("../../test/recordings/worker-lost")
	assert.NilError(t, err)
	dir, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	_, bounded := back.Namespaces("kwok-w1")
	assert.Assert(t, !bounded)
	held, bounded := back.Namespaces("kwok-mgr")
	assert.Assert(t, bounded)
	assert.DeepEqual(t, held, []string{"default"})
	const want = `apiVersion: jobmanagedby.github.io/v1alpha1
contexts:
- clusterUID: 89cbabd0-cc16-4cc0-9906-74991eae5daf
  file: kwok-mgr.yaml
  name: kwok-mgr
  namespace: default
  namespaces:
  - default
  objects: 13
  served:
  - batch/v1
  - kueue.x-k8s.io/v1beta2
  - v1
  server: https://127.0.0.1:32764
  version: v1.36.3
- code: Unreachable
  error: 'Get "https://127.0.0.1:32758/apis": dial tcp 127.0.0.1:32758: connect: connection
    refused'
  name: kwok-w1
- clusterUID: 661cbdd0-1158-492b-920a-99515f199b90
  file: kwok-w2.yaml
  name: kwok-w2
  namespace: default
  namespaces:
  - default
  objects: 4
  served:
  - batch/v1
  - kueue.x-k8s.io/v1beta2
  - v1
  server: https://127.0.0.1:32746
  version: v1.36.3
kind: Snapshot
takenAt: "2026-11-20T23:28:09Z"
`
	assert.Equal(t, texts(t, dir)["snapshot.yaml"], want)
	assert.Equal(t, len(texts(t, dir)), 3)
	info, err := os.Stat(dir)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o700))
	info, err = os.Stat(filepath.Join(dir, "kwok-mgr.yaml"))
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
clusters:
- name: w
  cluster: {server: "https://user-in-url:PASS-IN-URL@w.example:6443", certificate-authority-data: %s, proxy-url: "http://proxy:PROXY-PASS@p"}
- {name: other, cluster: {server: "https://OTHER.example"}}
contexts:
- {name: c, context: {cluster: w, user: USER-NAME, namespace: KUBE-NS}}
users:
- name: USER-NAME
  user:
    token: TOKEN
    client-key-data: Q0xJRU5ULUtFWQ==
    client-certificate-data: Q0xJRU5ULUNFUlQ=
    exec: {apiVersion: client.authentication.k8s.io/v1, command: EXEC-COMMAND, args: [EXEC-ARG], interactiveMode: Never}
`

// TestSecretDataIsRemoved checks that only the address of the cluster is kept of a Secret.
func TestSecretDataIsRemoved(t *testing.T) {
	const certificate = "-----BEGIN CERTIFICATE-----\nQ0VSVA==\n-----END CERTIFICATE-----\n"
	const key = "-----BEGIN PRIVATE KEY-----\nUFJJVkFURS1LRVk=\n-----END PRIVATE KEY-----\n"
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	items := kubeSystem
	for i, source := range []string{
		"v1beta2 {clusterSource: {kubeConfig: {location: s0, locationType: Secret}}}",
		"v1beta2 {clusterSource: {kubeConfig: {location: s1}}}",
		"v1beta2 {clusterSource: {kubeConfig: {location: s2, locationType: Path}}}",
		"v1beta2 {clusterSource: {kubeConfig: {location: s3}}}",
		"v1beta2 {clusterSource: {kubeConfig: {location: none}}}",
		"v1beta2 {clusterSource: {clusterProfileRef: {name: s4}}}",
	} {
		version, spec, _ := strings.Cut(source, " ")
		items += fmt.Sprintf("- {apiVersion: kueue.x-k8s.io/%s, kind: MultiKueueCluster, metadata: {name: c%d}, spec: %s}\n", version, i, spec)
	}
	secret := func(namespace, name, text string) string {
		return fmt.Sprintf("- {apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s, labels: {a: LABEL}, annotations: {a: ANNOTATION}}, type: TYPE, stringData: {a: STRING-DATA}, data: {kubeconfig: %q, more: TU9SRQ==}}\n",
			name, namespace, encode(text))
	}
	items += secret("kueue-system", "s0", fmt.Sprintf(kubeconfig, encode(key+certificate)))
	items += secret("elsewhere", "s1", fmt.Sprintf(kubeconfig, encode(certificate)))
	items += secret("kueue-system", "s2", "PATH")
	items += secret("kueue-system", "s3", "NOT-A-KUBECONFIG")
	items += secret("kueue-system", "s4", "UNASKED")
	b := one(t, "", items)
	dir, back := again(t, b, clusters(t, b, fleet.Options{AllNamespaces: true}), bundle.Options{AllNamespaces: true})

	all := fmt.Sprint(texts(t, dir))
	for _, name := range []string{"s0", "s1"} {
		namespace := map[string]string{"s0": "kueue-system", "s1": "elsewhere"}[name]
		code, value := ask(t, back, http.MethodGet, "/api/v1/namespaces/"+namespace+"/secrets/"+name)
		assert.Equal(t, code, http.StatusOK)
		data := value.(map[string]any)["data"].(map[string]any)
		text, err := base64.StdEncoding.DecodeString(data["kubeconfig"].(string))
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), "server: https://w.example:6443\n"), "%s", text)
		assert.Assert(t, strings.Contains(string(text), "certificate-authority-data: "+encode(certificate)), "%s", text)
		all += string(text)
	}
	_, value := ask(t, back, http.MethodGet, "/api/v1/namespaces/kueue-system/secrets/s3")
	assert.DeepEqual(t, value, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s3", "namespace": "kueue-system"},
	})
	_, value = ask(t, back, http.MethodGet, "/api/v1/secrets")
	assert.Equal(t, names(value), "elsewhere/s1 kueue-system/s0 kueue-system/s3")
	for _, word := range []string{
		"user-in-url", "PASS", "PROXY", "OTHER", "USER-NAME", "KUBE-NS", "TOKEN", "CLIENT-", "EXEC", "LABEL", "ANNOTATION", "TYPE",
		"STRING-DATA", "MORE", "PATH", "NOT-A-KUBECONFIG", "UNASKED", "PRIVATE-KEY", "PRIVATE KEY",
	} {
		for _, secret := range []string{word, encode(word), strings.TrimRight(encode(word), "=")} {
			// This is not in the MultiKueueCluster itself.
			all := strings.ReplaceAll(all, "locationType: Path", "")
			assert.Assert(t, !strings.Contains(all, secret), "%s is in %s", word, all)
		}
	}
}

// TestRedact checks that no value of an environment variable remains, nor an annotation that no
// command reads, and that ls shows the same.
func TestRedact(t *testing.T) {
	const pod = `{containers: [{name: a, env: [{name: A, value: PASSWORD}, {name: B, valueFrom: {secretKeyRef: {name: kept}}}, {name: C}]}],
    initContainers: [{name: b, env: [{name: A, value: PASSWORD}]}], ephemeralContainers: [{name: c, env: [{name: A, value: PASSWORD}]}]}`
	const metadata = `annotations: {kubectl.kubernetes.io/last-applied-configuration: PASSWORD, "note": PASSWORD,
      kueue.x-k8s.io/workload: kept, batch.kubernetes.io/job-tracking: kept, jobmanagedby.github.io/mirror: kept, not.kueue.x-k8s.io/a: PASSWORD}`
	b := one(t, "", kubeSystem+`
- apiVersion: batch/v1
  kind: Job
  metadata:
    {name: a, namespace: default, managedFields: [{manager: m, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:status": {}}}], `+metadata+`}
  spec: {template: {metadata: {`+metadata+`}, spec: `+pod+`}}
- apiVersion: v1
  kind: Pod
  metadata: {name: a-1, namespace: default, labels: {batch.kubernetes.io/job-name: a}, annotations: {a: PASSWORD}}
  spec: `+pod+`
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: Workload
  metadata: {name: w, namespace: default, managedFields: [{manager: m, fieldsV1: {"f:status": {}}}]}
  spec: {podSets: [{template: {metadata: {`+metadata+`}, spec: `+pod+`}}]}
`)
	f := clusters(t, b, fleet.Options{})
	dir, _ := again(t, b, f, bundle.Options{})
	text := texts(t, dir)["a.yaml"]
	assert.Equal(t, strings.Count(text, "PASSWORD"), 19)
	assert.Equal(t, strings.Count(text, "fieldsV1"), 1)

	dir, back := again(t, b, f, bundle.Options{Redact: true})
	text = texts(t, dir)["a.yaml"]
	assert.Equal(t, strings.Count(text, "PASSWORD"), 0)
	assert.Equal(t, strings.Count(text, "value: REDACTED"), 9)
	assert.Equal(t, strings.Count(text, "kept"), 3*3+3)
	assert.Equal(t, strings.Count(text, "fieldsV1"), 1)
	assert.Equal(t, strings.Count(text, "- name: C\n"), 3)
	assert.Equal(t, ls(t, clusters(t, back, fleet.Options{})), ls(t, f))
}

// TestUnread checks that unreadable resources are recorded, and are unreadable in the snapshot.
func TestUnread(t *testing.T) {
	b := one(t, `
  unread:
  - {resource: jobs.batch, status: {code: 403, reason: Forbidden, message: no jobs}}
  - {resource: namespaces, status: {code: 403, reason: Forbidden, message: no namespaces}}
  - {resource: workloads.kueue.x-k8s.io, status: {code: 500, reason: InternalError, message: broken}}
  - {resource: localqueues.kueue.x-k8s.io, status: {code: 404, reason: NotFound, message: none}}
  served: [kueue.x-k8s.io/v1beta1]
`, kubeSystem)
	f := clusters(t, b, fleet.Options{})
	recording, err := bundle.Take(t.Context(), f, bundle.Options{Clock: at(b)})
	assert.NilError(t, err)
	assert.Equal(t, recording.CountReadable(), 1)
	var failed []string
	c := recording.Contexts()[0]
	for _, u := range c.Failed() {
		failed = append(failed, u.Resource+": "+u.Status.Message)
	}
	assert.DeepEqual(t, failed, []string{"jobs.batch: no jobs", "namespaces: no namespaces", "workloads.kueue.x-k8s.io: broken"})
	assert.Equal(t, len(c.Unread), 4)
	_, back := again(t, b, f, bundle.Options{})
	assert.Equal(t, ls(t, clusters(t, back, fleet.Options{})), ls(t, f))
	assert.Equal(t, clusters(t, back, fleet.Options{}).Clusters()[0].UID(), "uid-of-a")
}

// TestKueueUnknown checks that a snapshot records that it is unknown whether Kueue is installed.
func TestKueueUnknown(t *testing.T) {
	b := one(t, "  unread: [{resource: '*.kueue.x-k8s.io', status: {code: 403, reason: Forbidden, message: no}}]\n", kubeSystem)
	_, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	for _, path := range []string{"/apis/kueue.x-k8s.io", "/apis/kueue.x-k8s.io/v1beta2/workloads"} {
		code, _ := ask(t, back, http.MethodGet, path)
		assert.Equal(t, code, http.StatusForbidden, path)
	}
}

// TestOneClusterTwoNamespaces checks that contexts of one cluster share a file, so that -A finds
// the objects of both.
func TestOneClusterTwoNamespaces(t *testing.T) {
	job := func(namespace string) string {
		return "- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: " + namespace + "}}\n"
	}
	b, err := bundle.Open(newDirectory(t, map[string]string{
		"snapshot.yaml": header + `contexts:
- {name: a, server: "https://h", file: a.yaml, namespace: n1}
- {name: b, server: "https://h", file: a.yaml, namespace: n2}
`,
		"a.yaml": list + kubeSystem + job("n1") + job("n2") + job("n3"),
	}))
	assert.NilError(t, err)
	dir, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	assert.Equal(t, len(texts(t, dir)), 2)
	held, _ := back.Namespaces("b")
	assert.DeepEqual(t, held, []string{"n1", "n2"})
	assert.Equal(t, len(clusters(t, back, fleet.Options{}).Contexts()), 2)
	_, value := ask(t, back, http.MethodGet, "/apis/batch/v1/jobs")
	assert.Equal(t, names(value), "n1/a n2/a")
}

// TestSkewIsRecorded checks that a snapshot records the skew of a clock.
func TestSkewIsRecorded(t *testing.T) {
	for _, skew := range []int{90, -90, 1} {
		b := one(t, fmt.Sprintf("  clockSkewSeconds: %d\n", skew), kubeSystem)
		recording, err := bundle.Take(t.Context(), clusters(t, b, fleet.Options{}), bundle.Options{Clock: at(b)})
		assert.NilError(t, err)
		want := float64(skew)
		if skew == 1 {
			want = 0
		}
		assert.Equal(t, recording.Contexts()[0].ClockSkewSeconds, want)
	}
}

// TestTimeIsUp checks that what arrived before the timeout is kept.
func TestTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := one(t, "", objects)
		hang := func(what string) *bundle.Recording {
			contexts := interceptAtOnce(b, func(r *http.Request) error {
				if strings.HasSuffix(r.URL.Path, what) {
					<-r.Context().Done()
				}
				return r.Context().Err()
			})
			f := fleet.Open(t.Context(), contexts, fleet.Options{Timeout: 10 * time.Second, AllNamespaces: true})
			recording, err := bundle.Take(t.Context(), f, bundle.Options{AllNamespaces: true})
			assert.NilError(t, err)
			return recording
		}
		c := hang("/events").Contexts()[0]
		assert.Equal(t, c.Unread[0].Resource, "events")
		assert.Equal(t, c.Unread[0].Status.Message, "no answer within 10s")
		assert.Equal(t, string(c.Unread[0].Status.Reason), "Timeout")
		assert.Equal(t, *c.Objects, 5, "what is asked for beside them came")
		c = hang("/apis/kueue.x-k8s.io").Contexts()[0]
		assert.Equal(t, c.Unread[len(c.Unread)-1].Resource, "*.kueue.x-k8s.io")
		for _, u := range c.Unread {
			assert.Equal(t, u.Status.Message, "no answer within 10s", u.Resource)
		}
		c = hang("/jobs").Contexts()[0]
		assert.Equal(t, c.Code, kubecontext.CodeTimeout)
		assert.Equal(t, c.Error, "no answer within 10s. Raise --context-timeout, or skip the context with --contexts '^a'")
		assert.Equal(t, hang("/jobs").CountReadable(), 0)
	})
}

// TestCancelled checks that nothing is written after a cancellation.
func TestCancelled(t *testing.T) {
	b := one(t, "", objects)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	contexts := intercept(b, func(r *http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			cancel(stop)
		}
		return nil
	})
	recording, err := bundle.Take(ctx, fleet.Open(ctx, contexts, fleet.Options{}), bundle.Options{})
	assert.ErrorIs(t, err, stop)
	assert.Assert(t, recording == nil)

	recording, err = bundle.Take(t.Context(), clusters(t, b, fleet.Options{}), bundle.Options{})
	assert.NilError(t, err)
	parent := t.TempDir()
	err = recording.Write(ctx, filepath.Join(parent, "new"))
	assert.ErrorIs(t, err, stop)
	left, err := os.ReadDir(parent)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}

// TestTargets checks the paths to which a snapshot cannot be written.
func TestTargets(t *testing.T) {
	b := one(t, "", objects)
	recording, err := bundle.Take(t.Context(), clusters(t, b, fleet.Options{}), bundle.Options{Clock: at(b)})
	assert.NilError(t, err)
	dir := newDirectory(t, map[string]string{"file": ""})
	empty := filepath.Join(dir, "empty")
	assert.NilError(t, os.Mkdir(empty, 0o755))
	t.Chdir(empty)
	for name, want := range map[string]string{
		dir:                                 "is not empty. Name a new one, or remove it first",
		filepath.Join(dir, "file"):          "is a file. Name a new directory",
		filepath.Join(dir, "none", "new"):   "directory " + filepath.Join(dir, "none") + " does not exist. Create it first, for new",
		filepath.Join(dir, "file", "new"):   "directory " + filepath.Join(dir, "file", "new") + ": not a directory",
		filepath.Join(empty, "..", "empty"): "is the working directory. Name a new one",
		".":                                 "is the working directory",
	} {
		assert.ErrorContains(t, bundle.CheckTarget(name), want)
		assert.ErrorContains(t, recording.Write(t.Context(), name), want)
	}
	// An empty directory is accepted, also through a link.
	t.Chdir(dir)
	assert.NilError(t, os.Symlink("empty", filepath.Join(dir, "link")))
	for _, name := range []string{"link", filepath.Join(dir, "new")} {
		assert.NilError(t, recording.Write(t.Context(), name))
		_, err = bundle.Open(name)
		assert.NilError(t, err)
	}
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 4)
}

// TestNothingToWrite checks that a snapshot without a readable context is refused.
func TestNothingToWrite(t *testing.T) {
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "a", Err: errors.New("broken")}}, fleet.Options{})
	recording, err := bundle.Take(t.Context(), f, bundle.Options{})
	assert.NilError(t, err)
	assert.Equal(t, recording.CountReadable(), 0)
	assert.Equal(t, recording.Contexts()[0].Error, "the kubeconfig entry is not usable: broken")
	dir := filepath.Join(t.TempDir(), "new")
	assert.ErrorContains(t, recording.Write(t.Context(), dir), "cannot read any context; nothing was written")
	_, err = os.Stat(dir)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
