package bundle_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// newDirectory writes files into a new directory.
func newDirectory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// one returns a snapshot of one context "a" with the given fields, whose file a.yaml has the
// given items.
func one(t *testing.T, fields, items string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(newDirectory(t, map[string]string{
		"snapshot.yaml": header + "contexts:\n- name: a\n  server: https://a.example:6443\n  file: a.yaml\n" + fields,
		"a.yaml":        list + items,
	}))
	assert.NilError(t, err)
	return b
}

const (
	header = "apiVersion: jobmanagedby.github.io/v1alpha1\nkind: Snapshot\ntakenAt: \"2026-01-31T12:00:00Z\"\n"
	list   = "apiVersion: v1\nkind: List\nitems:\n"
	// kubeSystem identifies the cluster.
	kubeSystem = "- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: uid-of-a}}\n"
)

// clusters opens the contexts of a snapshot, at the time when it was taken.
func clusters(t *testing.T, b *bundle.Bundle, o fleet.Options) *fleet.Fleet {
	t.Helper()
	o.Clock = at(b)
	return fleet.Open(t.Context(), b.Contexts(), o)
}

// unanswered returns the error of a context that does not answer, and checks that all others do.
func unanswered(t *testing.T, f *fleet.Fleet, name string) (failed *kubecontext.Error) {
	t.Helper()
	for _, a := range fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (struct{}, error) { return struct{}{}, nil }) {
		assert.Equal(t, a.Err != nil, a.Context == name, "%s: %v", a.Context, a.Err)
		if a.Err != nil {
			failed = kubecontext.InContext(name, "", a.Err)
		}
	}
	return failed
}

func at(b *bundle.Bundle) clock.PassiveClock {
	return clocktesting.NewFakePassiveClock(b.TakenAt())
}

// intercept calls a function before each request to the snapshot, one at a time.
func intercept(b *bundle.Bundle, see func(*http.Request) error) []fleet.Context {
	var mu sync.Mutex
	return interceptAtOnce(b, func(r *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		return see(r)
	})
}

// interceptAtOnce is intercept with concurrent requests.
func interceptAtOnce(b *bundle.Bundle, see func(*http.Request) error) []fleet.Context {
	contexts := b.Contexts()
	for _, c := range contexts {
		if c.Config == nil {
			continue
		}
		next := c.Config.Transport
		c.Config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if err := see(r); err != nil {
				return nil, err
			}
			return next.RoundTrip(r)
		})
	}
	return contexts
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ls returns everything that inspect reads about the Jobs of a fleet, including errors.
func ls(t *testing.T, f *fleet.Fleet) string {
	t.Helper()
	var all []any
	for _, a := range fleet.Ask(t.Context(), f, func(ctx context.Context, c *fleet.Cluster) (jobs []inspect.Job, err error) {
		err = read.List(ctx, c, read.Query{AllNamespaces: true}, func(j inspect.Job) { jobs = append(jobs, j) })
		return jobs, err
	}) {
		all = append(all, a.Context, a.Value)
		if a.Err != nil {
			all = append(all, inspect.NewContextError(a.Err))
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	assert.NilError(t, err)
	return string(text)
}

// texts returns all files of a directory by name, including snapshot.yaml.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	assert.NilError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+string(filepath.Separator))] = string(text)
		return err
	}))
	return found
}
