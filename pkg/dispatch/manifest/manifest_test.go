package manifest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
)

// jobYAML returns a minimal Job.
func jobYAML(name string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n"
}

func jobJSON(name string) string {
	return `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "` + name + `"}}`
}

// describeEntries returns the name and the source of each entry.
func describeEntries(entries []manifest.Entry) []string {
	short := []string{}
	for _, m := range entries {
		name := m.Object.GetName()
		if ns := m.Object.GetNamespace(); ns != "" {
			name = ns + "/" + name
		}
		short = append(short, name+": "+m.Source)
	}
	return short
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadManifests(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"one document", jobYAML("a"), []string{"a: jobs.yaml"}},
		{"one document and separators", "# head\n---\n" + jobYAML("a") + "---\n--- # tail\n", []string{"a: jobs.yaml"}},
		{
			"several documents", jobYAML("a") + "---\n" + jobYAML("b") + "---\nnull\n--- # c\n" + jobYAML("c"),
			[]string{"a: jobs.yaml, document 1", "b: jobs.yaml, document 2", "c: jobs.yaml, document 3"},
		},
		{"from Windows", "\ufeff" + strings.ReplaceAll(jobYAML("a")+"---\n"+jobYAML("b"), "\n", "\r\n"), []string{"a: jobs.yaml, document 1", "b: jobs.yaml, document 2"}},
		{"JSON", jobJSON("a"), []string{"a: jobs.yaml"}},
		{"JSON with tabs", strings.ReplaceAll(jobJSON("a"), " ", "\n\t"), []string{"a: jobs.yaml"}},
		{"a stream of JSON", jobJSON("a") + "\n" + jobJSON("b") + jobJSON("c"), []string{"a: jobs.yaml, document 1", "b: jobs.yaml, document 2", "c: jobs.yaml, document 3"}},
		{"JSON between separators", jobJSON("a") + "\n---\n" + jobJSON("b") + "\n", []string{"a: jobs.yaml, document 1", "b: jobs.yaml, document 2"}},
		{"YAML that begins like JSON", `{"apiVersion": batch/v1, kind: Job, metadata: {name: a}} # that is YAML`, []string{"a: jobs.yaml"}},
		{"YAML with an anchor", jobYAML("&name a") + "  labels: {<<: {x: \"1\"}, x: \"2\", job: *name}\n", []string{"a: jobs.yaml"}},
		{
			"a list", "apiVersion: v1\nkind: List\nitems:\n- " + jobJSON("a") + "\n- apiVersion: v1\n  kind: List\n  items: [" + jobJSON("b") + "]\n",
			[]string{"a: jobs.yaml, item 1", "b: jobs.yaml, item 2, item 1"},
		},
		{"a list of Jobs", "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: a}\n", []string{"a: jobs.yaml, item 1"}},
		{
			"one name in two namespaces", jobYAML("a") + "  namespace: one\n---\n" + jobYAML("a") + "  namespace: two\n",
			[]string{"one/a: jobs.yaml, document 1", "two/a: jobs.yaml, document 2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			entries, err := manifest.Read(t.Context(), []string{write(t, "jobs.yaml", tt.text)}, nil)
			assert.NilError(t, err)
			assert.DeepEqual(t, describeEntries(entries), tt.want)
			for _, m := range entries {
				assert.Equal(t, m.Object.GetAPIVersion()+" "+m.Object.GetKind(), "batch/v1 Job")
			}
		})
	}
}

// TestReadManifestsOfOtherKinds checks that objects of kinds outside Kubernetes are read, whether
// or not this build knows them.
func TestReadManifestsOfOtherKinds(t *testing.T) {
	const jobSet = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n"
	text := jobYAML("a") + "---\n" + jobSet + "---\napiVersion: example.com/v1\nkind: RunList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n" +
		"---\napiVersion: example.com/v1\nkind: Shortlist\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}}]\n"
	entries, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text))
	assert.NilError(t, err)
	var kinds []string
	for _, m := range entries {
		kinds = append(kinds, m.Object.GroupVersionKind().GroupKind().String()+" "+m.Object.GetName())
	}
	assert.DeepEqual(t, kinds, []string{"Job.batch a", "JobSet.jobset.x-k8s.io a", "Run.example.com a", "Run.example.com b", "Shortlist.example.com a", "RayJob.ray.io a"})

	_, err = manifest.Read(t.Context(), []string{"-"}, strings.NewReader(jobSet+"---\n"+jobSet))
	assert.Error(t, err, `standard input, document 2: the JobSet "a" is also in standard input, document 1`)
}

// TestReadManifestsKeepsEverything checks that unknown fields and large numbers are preserved.
func TestReadManifestsKeepsEverything(t *testing.T) {
	for name, spec := range map[string]string{
		"YAML": "spec:\n  fromTheFuture: {deep: [1, two, null, 3.5]}\n  large: 9223372036854775807\n  small: -9223372036854775808\n  odd: 9007199254740993\n  octal: 0644\n  quoted: \"1\"\n  yes: on\n",
		"JSON": `"spec": {"fromTheFuture": {"deep": [1, "two", null, 3.5]}, "large": 9223372036854775807, "small": -9223372036854775808, "odd": 9007199254740993, "octal": 420, "quoted": "1", "true": true}`,
	} {
		t.Run(name, func(t *testing.T) {
			text := jobYAML("a") + spec
			if name == "JSON" {
				text = strings.TrimSuffix(jobJSON("a"), "}") + "," + spec + "}"
			}
			entries, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text))
			assert.NilError(t, err)
			got, _, err := unstructured.NestedMap(entries[0].Object.Object, "spec")
			assert.NilError(t, err)
			assert.DeepEqual(t, got, map[string]any{
				"fromTheFuture": map[string]any{"deep": []any{int64(1), "two", nil, 3.5}},
				"large":         int64(9223372036854775807), "small": int64(-9223372036854775808), "odd": int64(9007199254740993),
				"octal": int64(420), "quoted": "1", "true": true,
			})
		})
	}
}

func TestReadManifestsPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "jobs/b.yaml", jobYAML("b"))
	write(t, "jobs/a.yml", jobYAML("a"))
	write(t, "jobs/c.json", jobJSON("c"))
	write(t, "jobs/empty.yaml", "# later\n")
	write(t, "jobs/README.md", "not: [looked at")
	write(t, "jobs/deeper/d.yaml", jobYAML("d"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/jobs.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, jobYAML("from-afar"))
	}))
	defer server.Close()

	entries, err := manifest.Read(t.Context(), []string{"jobs", "-", server.URL + "/jobs.yaml", "jobs/d*er/?.yaml"}, strings.NewReader(jobYAML("in")))
	assert.NilError(t, err)
	assert.DeepEqual(t, describeEntries(entries), []string{
		"a: jobs/a.yml", "b: jobs/b.yaml", "c: jobs/c.json", "in: standard input",
		"from-afar: " + server.URL + "/jobs.yaml", "d: jobs/deeper/d.yaml",
	})

	write(t, "bare/notes.txt", "x")
	write(t, "blank/a.yaml", "---\n")
	withPassword := strings.Replace(server.URL, "http://", "http://me:secret@", 1) + "/none.yaml"
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"no such file", []string{"none.yaml"}, `no such file: "none.yaml"`},
		{"no such files", []string{"none.yaml", "jobs/*.toml"}, "no such file: \"none.yaml\"\nno such file: \"jobs/*.toml\""},
		{"nothing in a folder", []string{"bare"}, `no Job in directory "bare": it has no files (.json, .yaml, .yml) with content`},
		{"nothing in its files", []string{"blank"}, `no Job in directory "blank"`},
		{"an empty file", []string{write(t, "empty.yaml", " \n\n")}, "empty.yaml is empty"},
		{"comments alone", []string{write(t, "comments.yaml", "# one\n---\n# two\n")}, "comments.yaml contains no object, only comments or separators"},
		{"standard input twice", []string{"-", "-"}, "standard input can be read once only"},
		{"no such page", []string{withPassword}, "cannot read " + strings.Replace(withPassword, "secret", "xxxxx", 1) + ": the server answered 404 Not Found"},
		{"no such server", []string{"http://127.0.0.1:1/jobs.yaml"}, "cannot read http://127.0.0.1:1/jobs.yaml: dial tcp"},
		{"no URL", []string{"http://[x/jobs.yaml"}, "cannot read the URL"},
		{"one file twice", []string{"jobs/b.yaml", "jobs"}, `jobs/b.yaml: the Job "b" is also in jobs/b.yaml`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries, err := manifest.Read(t.Context(), tt.files, strings.NewReader(jobYAML("in")))
			assert.ErrorContains(t, err, tt.want)
			assert.Equal(t, len(entries), 0)
		})
	}
	_, err = manifest.Read(t.Context(), []string{"-"}, iotest.ErrReader(os.ErrClosed))
	assert.ErrorIs(t, err, os.ErrClosed)
}

// TestReadBrokenLinks checks that a symbolic link without a target is reported like any missing
// file, and that it does not hide other files that match its pattern.
func TestReadBrokenLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "jobs/a.yaml", jobYAML("a"))
	for _, name := range []string{"jobs/b.yaml", "[x].yaml"} {
		assert.NilError(t, os.Symlink("gone", name))
	}
	for _, path := range []string{"jobs/b.yaml", "jobs/*.yaml"} {
		_, err := manifest.Read(t.Context(), []string{path}, nil)
		assert.Error(t, err, `no such file: "jobs/b.yaml" is a symbolic link to "gone", which does not exist`)
	}
	for path, want := range map[string]string{
		"jobs": "open jobs/b.yaml: no such file or directory",
		// The name is a pattern too, but one that matches "x.yaml" only.
		"[x].yaml": `no such file: "[x].yaml" is a symbolic link to "gone", which does not exist`,
		"?x?.yaml": `no such file: "[x].yaml" is a symbolic link to "gone", which does not exist`,
	} {
		_, err := manifest.Read(t.Context(), []string{path}, nil)
		assert.Error(t, err, want)
	}
}

// endless is a source without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestReadAboveLimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) }))
	defer server.Close()
	t.Chdir(t.TempDir())
	large := write(t, "large.yaml", "#")
	assert.NilError(t, os.Truncate(large, 33<<20))
	for _, from := range []string{"-", server.URL + "/jobs.yaml", large} {
		_, err := manifest.Read(t.Context(), []string{from}, endless{})
		assert.ErrorContains(t, err, "larger than the limit of 32 MiB")
		assert.ErrorContains(t, err, strings.Replace(from, "-", "standard input", 1))
	}
}

// TestReadIsInterrupted checks that Read returns the cause of its context at once, even while it
// waits for input.
func TestReadIsInterrupted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	stopped := errors.New("stopped")
	for _, from := range []string{"-", server.URL} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
		_, err := manifest.Read(ctx, []string{from}, silent)
		assert.ErrorIs(t, err, stopped, from)
	}
}

// TestReadAll checks that generated names are accepted, also twice, and that objects that are not
// wanted need no name and may occur twice.
func TestReadAll(t *testing.T) {
	text := "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: pi-}\n"
	settings := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	kustomization := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [job.yaml]\n"
	read := func(documents ...string) ([]manifest.Entry, error) {
		isJob := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Job" }
		return manifest.ReadAll(t.Context(), []string{"-"}, strings.NewReader(strings.Join(documents, "---\n")), isJob)
	}
	entries, err := read(text, text, settings, settings, kustomization)
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 5)
	_, err = read("apiVersion: batch/v1\nkind: Job\n")
	assert.ErrorContains(t, err, "the Job has no name")
}
