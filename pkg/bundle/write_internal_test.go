package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

// TestInterruptedWrite checks that nothing remains if writing fails midway.
func TestInterruptedWrite(t *testing.T) {
	r := &Recording{
		snapshot: Snapshot{Contexts: []Context{{Name: "a", File: "a.yaml"}, {Name: "b", File: "b.yaml"}}},
		files: map[string][]*record{
			"a.yaml": {{json: []byte(`{"kind":"A"}`)}},
			"b.yaml": {{json: []byte(`{"kind":"A"}`)}, {json: []byte(`{"kind":`)}},
		},
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "new")
	assert.NilError(t, os.Mkdir(dir, 0o700))
	assert.ErrorContains(t, r.Write(t.Context(), dir), "cannot write "+dir+": ")
	left, err := os.ReadDir(parent)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 1)
	left, err = os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestDiskFull(t *testing.T) {
	err := writeList(t.Context(), brokenWriter{}, []*record{{json: []byte("{}")}})
	assert.ErrorContains(t, err, "disk full")
	assert.ErrorContains(t, writeItem(brokenWriter{}, &record{json: []byte(`{"a":"b"}`)}), "disk full")
}

func TestFileNames(t *testing.T) {
	used := map[string]bool{contents: true}
	for _, tt := range []struct{ context, want string }{
		{"kind-a", "kind-a.yaml"},
		{"KIND-A", "KIND-A-2.yaml"},
		{"arn:aws:eks:eu-west-1:1234:cluster/prod", "arn_aws_eks_eu-west-1_1234_cluster_prod.yaml"},
		{"admin@a b", "admin_a_b.yaml"},
		{"../../etc/passwd", "_.._etc_passwd.yaml"},
		{"...", "context.yaml"},
		{"", "context-2.yaml"},
		{".hidden", "hidden.yaml"},
		{"snapshot", "snapshot-2.yaml"},
		{"evil\x1b[31m\u202e\xff", "evil__31m__.yaml"},
		{"größe", "größe.yaml"},
		{strings.Repeat("ö", 100), strings.Repeat("ö", 40) + ".yaml"},
		{strings.Repeat("ö", 101), strings.Repeat("ö", 40) + "-2.yaml"},
	} {
		assert.Equal(t, fileName(tt.context, used), tt.want)
	}
}

func TestAddress(t *testing.T) {
	for server, want := range map[string]string{
		"https://a.example:6443/path":           "https://a.example:6443/path",
		"https://user:password@a.example:6443/": "https://a.example:6443/",
		"user:password@a.example:6443":          "a.example:6443",
		"https://a.example/b@c":                 "https://a.example/b@c",
	} {
		assert.Equal(t, address(server), want)
	}
}

// TestUnusualLists checks that a List can be written in any way that YAML allows.
func TestUnusualLists(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: List\nitems:\n- {a: 1}\n- {b: 2}\n",
		"apiVersion: v1\nitems:\n- a: 1\n# more\n-\n  b: 2\nkind: List\nmetadata:\n  resourceVersion: ''\n",
		"---\napiVersion: v1\r\nkind: List\r\nitems:\r\n- a: 1\r\n- b: 2\r\n",
		"# a\n\n--- \napiVersion: v1\nkind: List\nitems:\n# b\n- a: 1\n\n- b: 2",
		"apiVersion: v1\nkind: List\nitems:\n  - a: 1\n  - b: 2\n",
		"apiVersion: v1\nkind: List\nitems:\n- {\"a\":1}\n-   {\"b\":2, \"c\": \"- {}\"} \n",
		"items:\n- a: &one 1\n- b: 2\n  c: *one\napiVersion: v1\nkind: List\n",
		"kind: List\napiVersion: v1\nmore:\n- x\nitems:\n- a: 1\n- b: 2\n",
		"kind: List\napiVersion: v1\nitems:\n- a: 1\n- b: 2\nmore:\n- x\n",
		`{"apiVersion": "v1", "kind": "List", "items": [{"a": 1}, {"b": 2}]}`,
	} {
		items, err := decodeList([]byte(text))
		assert.NilError(t, err, text)
		assert.Equal(t, len(items), 2, text)
		assert.Equal(t, string(items[0]), `{"a":1}`, text)
		assert.Assert(t, strings.HasPrefix(string(items[1]), `{"b":2`), text)
	}
	items, err := decodeList([]byte("apiVersion: v1\nkind: List\nitems: []\n"))
	assert.NilError(t, err)
	assert.Equal(t, len(items), 0)
}

// FuzzWriteItem checks that every value is read as it was written.
func FuzzWriteItem(f *testing.F) {
	for _, text := range []string{
		"", " ", "yes", "no", "y", "on", "null", "~", "1", "1.0", "1e3", "0x10", "0o7", "0777", "1_000", "0x_1", "1:20", "-", "- a", "---", "...", "=", "<<",
		"2026-01-31T12:00:00Z", "2026-01-31", "a\nb", "a\n", "\na", " a\nb", "a \nb ", "\n\n", "a\n- b\n---\n", "\ta", "a\t", "\t\n\t", "#", "a #b", "a: b", "{", "[",
		"&a", "*a", "!a", "|", ">", "'", `"`, "%", "@", "`", "\u0085", "a\u0085b", "\u2028\n", "\ufeff", "\x1b[31m", "\x00", "\u202e", "é", "😀", ".inf", ".nan", "+.5", "\r", "a\rb", "\r\n", "a\r\nb",
		strings.Repeat("long ", 100), strings.Repeat("x", 300),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("JSON strings are valid UTF-8: this input cannot be in a snapshot")
		}
		whole, err := json.Marshal(map[string]any{"apiVersion": "", "kind": "", "a": text, "b": map[string]any{text: []any{text, 1, 1.5, true, nil, []any{}, map[string]any{}}}, "c": []any{[]any{text}}})
		assert.NilError(t, err)
		var b bytes.Buffer
		assert.NilError(t, writeList(t.Context(), &b, []*record{{json: whole}, {json: whole}}))
		items, err := decodeList(b.Bytes())
		assert.NilError(t, err, "%s", &b)
		assert.Equal(t, len(items), 2)
		for _, item := range items {
			var got, want any
			assert.NilError(t, json.Unmarshal(item, &got))
			assert.NilError(t, json.Unmarshal(whole, &want))
			assert.DeepEqual(t, got, want)
		}
	})
}
