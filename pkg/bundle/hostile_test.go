package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// yamlBomb returns YAML that expands to more than ten thousand times its size.
func yamlBomb() string {
	return "x: &x " + strings.Repeat("x", 1<<16) + "\ny: [" + strings.Repeat("*x,", 1<<16) + "]\n"
}

// TestHugeSnapshots checks that a huge snapshot causes an error before it fills the memory.
func TestHugeSnapshots(t *testing.T) {
	const contexts = "contexts: [{name: a, server: h, file: a.yaml}]\n"
	for name, tt := range map[string]struct {
		snapshot, objects string
		want              string
	}{
		"contents that grow":        {header + contexts + yamlBomb(), list + kubeSystem, "snapshot.yaml: YAML aliases (*name) expand the file too much"},
		"fields around the items":   {header + contexts, yamlBomb() + list + kubeSystem, "file a.yaml of context \"a\": YAML aliases (*name) expand the file too much"},
		"an item":                   {header + contexts, list + "- " + strings.ReplaceAll(strings.TrimSpace(yamlBomb()), "\n", "\n  ") + "\n", "YAML aliases (*name) expand the file too much"},
		"one anchor for many items": {header + contexts, "x: &x {a: " + strings.Repeat("x", 1<<16) + "}\n" + list + strings.Repeat("- *x\n", 1<<16), "YAML aliases (*name) expand the file too much"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bundle.Open(newDirectory(t, map[string]string{"snapshot.yaml": tt.snapshot, "a.yaml": tt.objects}))
			assert.ErrorContains(t, err, tt.want)
		})
	}
	for _, file := range []string{"snapshot.yaml", "a.yaml"} {
		dir := newDirectory(t, map[string]string{"snapshot.yaml": header + contexts, "a.yaml": list + kubeSystem})
		// A sparse file needs no space on the disk.
		assert.NilError(t, os.Truncate(filepath.Join(dir, file), 1<<40))
		_, err := bundle.Open(dir)
		assert.ErrorContains(t, err, "larger than the limit of")
	}
}

// FuzzOpen checks that every snapshot either opens and answers or returns an error, and that
// nothing outside of its directory is read.
func FuzzOpen(f *testing.F) {
	const contexts = "contexts: [{name: a, server: h, file: a.yaml}]\n"
	for _, s := range []string{
		header + contexts, "", header, strings.ReplaceAll(header, "2026", "x") + contexts, "{}", "- a\n", header + "contexts: {}\n", header + contexts + yamlBomb(),
		header + "contexts: [{name: a, server: h, file: ../outside.yaml}]\n", header + "contexts: [{name: a, server: h, file: link.yaml}]\n",
		header + "contexts: [{name: a, server: h, file: /etc/passwd}]\n", header + "contexts: [{name: a, server: '%zz', file: .}]\n",
		header + "contexts: [{name: a, server: h, file: a.yaml, objects: 1, served: [x/y/z, /], namespaces: [''], unread: [{resource: '*.*', status: {code: -1}}], kinds: [{}], clockSkewSeconds: 1e300}]\n",
		header + "contexts: [{name: a, server: h, file: a.yaml, kinds: [{apiVersion: x/v1, kind: X, resource: xs, managedBy: a.b, allowed: [c]}]}]\nothers: [{name: b, server: '://'}]\npartial: true\n",
		header + "contexts: [{name: \"a\\e[2J\", error: \"b\\n\\u202e\"}]\n",
	} {
		f.Add(s, list+kubeSystem)
	}
	for _, s := range []string{
		"", "items:\n- a\n-\n", list + "- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b}, spec: 5}\n", list + "- {apiVersion: a/b/c, kind: Job, metadata: {name: a}}\n",
		list + "- &a {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n- *a\n", "---\n" + list + "---\n", list + "- {apiVersion: v1, kind: List, metadata: {name: ../x}}\n", yamlBomb(),
	} {
		f.Add(header+contexts, s)
	}
	f.Fuzz(func(t *testing.T, snapshot, objects string) {
		above := t.TempDir()
		const outside = "uid-from-outside"
		assert.NilError(t, os.WriteFile(filepath.Join(above, "outside.yaml"), []byte(list+strings.ReplaceAll(kubeSystem, "uid-of-a", outside)), 0o600))
		dir := filepath.Join(above, "bundle")
		assert.NilError(t, os.Mkdir(dir, 0o700))
		assert.NilError(t, os.Symlink("../outside.yaml", filepath.Join(dir, "link.yaml")))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "snapshot.yaml"), []byte(snapshot), 0o600))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(objects), 0o600))
		b, err := bundle.Open(dir)
		if err != nil {
			assert.Assert(t, !strings.Contains(err.Error(), outside) || strings.Contains(snapshot+objects, outside), "%v", err)
			return
		}
		opened := clusters(t, b, fleet.Options{})
		all := ls(t, opened)
		for _, c := range opened.Clusters() {
			assert.Assert(t, c.UID() != outside || strings.Contains(snapshot+objects, outside), "%s", all)
		}
	})
}
