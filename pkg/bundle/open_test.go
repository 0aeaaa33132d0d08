package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// TestMalformedSnapshots checks that each malformed snapshot causes one clear error, which names the
// directory.
func TestMalformedSnapshots(t *testing.T) {
	const context = "contexts:\n- name: a\n  server: https://a.example\n  file: a.yaml\n"
	const namespace = "- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: a\n"
	for name, tt := range map[string]struct{ contents, file, want string }{
		"no snapshot.yaml": {want: "not a snapshot: it has no snapshot.yaml. Name a directory"},
		"contents not YAML": {
			contents: header + "contexts: [\n",
			want:     "snapshot.yaml: it is not valid YAML, or is truncated: line ",
		},
		"contents a word":    {contents: "hello\n", want: "snapshot.yaml: not a Snapshot of jobmanagedby.github.io/v1alpha1"},
		"contents empty":     {contents: "\n", want: `snapshot.yaml: not a snapshot: its apiVersion is "", not jobmanagedby.github.io/v1alpha1`},
		"another kind":       {contents: strings.Replace(header, "Snapshot", "OwnerList", 1), want: `snapshot.yaml: not a snapshot: its kind is "OwnerList", not Snapshot`},
		"a foreign version":  {contents: "apiVersion: v1\nkind: List\n", want: `its apiVersion is "v1", not jobmanagedby.github.io/v1alpha1`},
		"a later version":    {contents: "apiVersion: jobmanagedby.github.io/v1\nkind: Fleet\ncontexts: 7\n", want: "snapshot.yaml: a newer version of this plugin wrote it (jobmanagedby.github.io/v1); this one reads jobmanagedby.github.io/v1alpha1. Upgrade"},
		"no time":            {contents: strings.Join(strings.Split(header, "\n")[:2], "\n") + "\n" + context, want: "snapshot.yaml: takenAt is missing"},
		"time not a time":    {contents: strings.Replace(header, "2026-01-31T12:00:00Z", "noon", 1) + context, want: `snapshot.yaml: invalid Snapshot: parsing time "noon"`},
		"contexts no list":   {contents: header + "contexts: 7\n", want: "snapshot.yaml: invalid Snapshot: "},
		"no contexts":        {contents: header, want: "snapshot.yaml: it has no contexts. Take the snapshot again"},
		"no name":            {contents: header + "contexts:\n- {name: a, error: e}\n- {error: e}\n", want: "snapshot.yaml: context 2 of 2 has no name"},
		"one name twice":     {contents: header + "contexts:\n- {name: a, error: e}\n- {name: a, error: e}\n", want: `snapshot.yaml: context "a" appears twice`},
		"file and error":     {contents: header + context + "  error: e\n", want: `snapshot.yaml: context "a": it has both a file and an error. Remove one`},
		"no file, no error":  {contents: header + "contexts: [{name: a}]\n", want: `snapshot.yaml: context "a": it has neither a file nor an error. Add one`},
		"no server":          {contents: header + "contexts: [{name: a, file: a.yaml}]\n", want: `snapshot.yaml: context "a": it has no server`},
		"server not a URL":   {contents: header + "contexts: [{name: a, file: a.yaml, server: 'https://%zz'}]\n", want: `snapshot.yaml: context "a": its server is not a URL: `},
		"unread what":        {contents: header + context + "  unread: [{status: {code: 403}}]\n", want: `snapshot.yaml: context "a": an entry of unread has no resource`},
		"file missing":       {contents: header + context, want: `file a.yaml of context "a": no such file: the snapshot is incomplete`},
		"file empty":         {contents: header + context, file: "\n", want: `file a.yaml of context "a": it is empty`},
		"file not YAML":      {contents: header + context, file: list + namespace + "    labels: {a: b\n" + namespace, want: `file a.yaml of context "a": it is not valid YAML, or is truncated: line 8: `},
		"file cut short":     {contents: header + context, file: list + namespace + `    uid: "123`, want: `file a.yaml of context "a": it is not valid YAML, or is truncated: line `},
		"item cut short":     {contents: header + context, file: list + namespace + "- apiVersion: v1\n  kind: Namespace\n  metadata:\n", want: `file a.yaml of context "a": item 2: the Namespace has no metadata`},
		"items missing":      {contents: header + context + "  objects: 2\n", file: list + namespace, want: `file a.yaml of context "a": it has 1 objects, but snapshot.yaml says 2. Take the snapshot again, or correct the number`},
		"not a List":         {contents: header + context, file: "apiVersion: batch/v1\nkind: JobList\nitems:\n" + namespace, want: `file a.yaml of context "a": it is not a v1 List, but apiVersion "batch/v1", kind "JobList"`},
		"not a List, either": {contents: header + context, file: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", want: `it is not a v1 List, but apiVersion "v1", kind "Namespace"`},
		"not an object":      {contents: header + context, file: "- a\n", want: `file a.yaml of context "a": it is not a v1 List: it has no fields`},
		"two documents":      {contents: header + context, file: list + namespace + "---\n" + list, want: "it has more than one YAML document. Keep one List"},
		"item without kind":  {contents: header + context, file: list + namespace + "- apiVersion: v1\n  metadata: {name: b}\n", want: "item 2: it has no kind"},
		"without apiVersion": {contents: header + context, file: list + "- kind: Job\n  metadata: {name: b}\n", want: "item 1: the Job has no apiVersion"},
		"without name":       {contents: header + context, file: list + "- apiVersion: v1\n  kind: Pod\n  metadata: {namespace: b}\n", want: "item 1: the Pod has no metadata.name"},
		"name is a number": {
			contents: header + context, file: list + "- apiVersion: v1\n  kind: Pod\n  metadata: {name: 7}\n",
			want: "item 1: the metadata of the Pod is invalid: ",
		},
		"item not an object": {contents: header + context, file: list + "- - a\n", want: "item 1: it is not an object"},
		"duplicate item":     {contents: header + context, file: list + namespace + namespace, want: `item 2: Namespace "a" appears twice`},
		"a path upwards":     {contents: header + strings.Replace(context, "a.yaml", "../a.yaml", 1), want: `file ../a.yaml of context "a": it is outside the snapshot directory`},
		"an absolute path":   {contents: header + strings.Replace(context, "a.yaml", "/etc/passwd", 1), want: `file /etc/passwd of context "a": it is outside the snapshot directory`},
		"a directory":        {contents: header + strings.Replace(context, "a.yaml", ".", 1), want: `file . of context "a": it is not a file`},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range map[string]string{"snapshot.yaml": tt.contents, "a.yaml": tt.file} {
				if text != "" {
					files[name] = text
				}
			}
			dir := newDirectory(t, files)
			_, err := bundle.Open(dir)
			assert.ErrorContains(t, err, "snapshot "+dir+": ")
			assert.ErrorContains(t, err, tt.want)
			assert.Assert(t, !strings.Contains(err.Error(), "\n"), "%v", err)
		})
	}
}

func TestMissingDirectory(t *testing.T) {
	dir := newDirectory(t, map[string]string{"file": "x"})
	_, err := bundle.Open(filepath.Join(dir, "missing"))
	assert.ErrorContains(t, err, "missing: no such directory. Write one with the snapshot command")
	_, err = bundle.Open(filepath.Join(dir, "file"))
	assert.ErrorContains(t, err, "file: it is a file. Name a directory that the snapshot command wrote")
}

// TestSymbolicLinks checks that links inside the directory work, and that no link leaves it.
func TestSymbolicLinks(t *testing.T) {
	outside := newDirectory(t, map[string]string{"secret.yaml": list + kubeSystem, "snapshot.yaml": header})
	for name, target := range map[string]string{
		"absolute": filepath.Join(outside, "secret.yaml"),
		"upwards":  filepath.Join("..", filepath.Base(outside), "secret.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDirectory(t, map[string]string{"snapshot.yaml": header + "contexts: [{name: a, server: h, file: a.yaml}]\n"})
			assert.NilError(t, os.Symlink(target, filepath.Join(dir, "a.yaml")))
			_, err := bundle.Open(dir)
			assert.ErrorContains(t, err, "it is outside the snapshot directory")
		})
	}
	dir := t.TempDir()
	assert.NilError(t, os.Symlink(filepath.Join(outside, "snapshot.yaml"), filepath.Join(dir, "snapshot.yaml")))
	_, err := bundle.Open(dir)
	assert.ErrorContains(t, err, "snapshot.yaml: it is outside the snapshot directory")

	dir = newDirectory(t, map[string]string{"snapshot.yaml": header + "contexts: [{name: a, server: h, file: a.yaml}]\n", "b.yaml": list + kubeSystem})
	assert.NilError(t, os.Symlink("b.yaml", filepath.Join(dir, "a.yaml")))
	_, err = bundle.Open(dir)
	assert.NilError(t, err)
}

// TestRecordings opens snapshots that are older than some fields.
func TestRecordings(t *testing.T) {
	for name, want := range map[string]string{
		"running":             "kwok-mgr 89cbabd0-cc16-4cc0-9906-74991eae5daf default,kwok-w1 07f40600-af7d-4b3c-a4ef-57c259a139b8 default,kwok-w2 661cbdd0-1158-492b-920a-99515f199b90 default",
		"no-quota-on-workers": "kwok-mgr 89cbabd0-cc16-4cc0-9906-74991eae5daf default,kwok-w1 07f40600-af7d-4b3c-a4ef-57c259a139b8 default,kwok-w2 661cbdd0-1158-492b-920a-99515f199b90 default",
		"worker-lost":         "kwok-mgr 89cbabd0-cc16-4cc0-9906-74991eae5daf default,kwok-w2 661cbdd0-1158-492b-920a-99515f199b90 default",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bundle.Open("../../test/recordings/" + name)
			assert.NilError(t, err)
			f := clusters(t, b, fleet.Options{})
			var got []string
			for _, c := range f.Clusters() {
				got = append(got, c.Context+" "+c.UID()+" "+c.Namespace)
			}
			assert.Equal(t, strings.Join(got, ","), want)
			assert.Assert(t, strings.Contains(ls(t, f), `"name": "train"`))
		})
	}
}

// TestUnreachable checks that a recorded error keeps its text and its code.
func TestUnreachable(t *testing.T) {
	b, err := bundle.Open("../../test/recordings/worker-lost")
	assert.NilError(t, err)
	f := clusters(t, b, fleet.Options{})
	failed := unanswered(t, f, "kwok-w1")
	assert.Equal(t, failed.Code(), kubecontext.CodeUnreachable)
	assert.Equal(t, failed.Message(), `Get "https://127.0.0.1:32758/apis": dial tcp 127.0.0.1:32758: connect: connection refused`)

	assert.DeepEqual(t, b.Others(), []kubecontext.Address{{Context: "kwok-w1", Server: "https://127.0.0.1:32758"}})

	b, err = bundle.Open(newDirectory(t, map[string]string{"snapshot.yaml": header + "contexts: [{name: a, error: log in again, code: Unauthorized}]\n"}))
	assert.NilError(t, err)
	failed = unanswered(t, clusters(t, b, fleet.Options{}), "a")
	assert.Equal(t, failed.Code(), kubecontext.CodeUnauthorized)
	assert.Equal(t, len(b.Others()), 0)
	assert.Equal(t, failed.Message(), "log in again")
}

// TestUnknownFields checks that unknown fields are ignored, because fields are only ever added.
func TestUnknownFields(t *testing.T) {
	b, err := bundle.Open(newDirectory(t, map[string]string{
		"snapshot.yaml": header + "later: {a: b}\ncontexts: [{name: a, server: h, file: a.yaml, later: 7}]\n",
		"a.yaml":        "later: 1\n" + list + kubeSystem + "metadata: {}\n",
	}))
	assert.NilError(t, err)
	assert.Equal(t, clusters(t, b, fleet.Options{}).Clusters()[0].UID(), "uid-of-a")
}
