package bundle_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// big writes a snapshot of a context with n Jobs and a realistic number of Workloads.
func big(b *testing.B, n int) (dir string, size int64) {
	b.Helper()
	text, err := os.ReadFile("../../test/recordings/running/kwok-mgr.yaml")
	assert.NilError(b, err)
	items := bytes.Split(text, []byte("\n- "))
	out := bytes.NewBufferString("apiVersion: v1\nkind: List\nitems:")
	for i := range n {
		for _, item := range items[1:3] {
			out.WriteString("\n- ")
			item = bytes.ReplaceAll(item, []byte("name: train\n"), fmt.Appendf(nil, "name: train-%d\n", i))
			out.Write(bytes.ReplaceAll(item, []byte("name: job-train-1c348\n"), fmt.Appendf(nil, "name: job-train-%d\n", i)))
		}
	}
	dir = b.TempDir()
	assert.NilError(b, os.WriteFile(filepath.Join(dir, "a.yaml"), append(out.Bytes(), '\n'), 0o600))
	assert.NilError(b, os.WriteFile(filepath.Join(dir, "snapshot.yaml"), []byte(header+"contexts: [{name: a, server: 'https://a', file: a.yaml}]\n"), 0o600))
	return dir, int64(out.Len())
}

func BenchmarkOpen(b *testing.B) {
	dir, size := big(b, 10000)
	b.SetBytes(size)
	for b.Loop() {
		_, err := bundle.Open(dir)
		assert.NilError(b, err)
	}
}

func BenchmarkList(b *testing.B) {
	dir, _ := big(b, 10000)
	opened, err := bundle.Open(dir)
	assert.NilError(b, err)
	f := fleet.Open(b.Context(), opened.Contexts(), fleet.Options{})
	for b.Loop() {
		n := 0
		err := read.List(b.Context(), f.Clusters()[0], read.Query{AllNamespaces: true}, func(inspect.Job) { n++ })
		assert.NilError(b, err)
		assert.Equal(b, n, 10000)
	}
}

func BenchmarkTakeAndWrite(b *testing.B) {
	dir, _ := big(b, 10000)
	opened, err := bundle.Open(dir)
	assert.NilError(b, err)
	f := fleet.Open(b.Context(), opened.Contexts(), fleet.Options{})
	parent := b.TempDir()
	i := 0
	for b.Loop() {
		i++
		recording, err := bundle.Take(b.Context(), f, bundle.Options{AllNamespaces: true})
		assert.NilError(b, err)
		assert.NilError(b, recording.Write(b.Context(), filepath.Join(parent, fmt.Sprint(i))))
	}
}
