package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
)

func TestReadManifestsBadSyntax(t *testing.T) {
	// above precedes the document in the second run: positions count from the start of the file.
	above := jobYAML("a") + "---\n# a comment\n" + jobYAML("b") + "---\n"
	for _, tt := range []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"indentation", "metadata:\n  name: x\n name: y\n", 3, 2, "did not find expected key, in a block mapping that begins at line "},
		{"a value in a value", "a: b: c\n", 1, 5, "mapping values are not allowed in this context"},
		{"a tab", "a:\n\tb: 1\n", 2, 1, "a tab, where only spaces are allowed"},
		{"a tab behind wide runes", "学: 習\n# 学\n学:\n\t習: 1\n", 4, 1, "a tab, where only spaces are allowed"},
		{"an open bracket", "a: 1\nb: [1, 2\nc: 3\n", 3, 2, "did not find expected ',' or ']', in a flow sequence that begins at line "},
		{"an open quote", "a: 1\nb: \"x\nc: 3\n", 2, 4, "a quote is opened here and never closed"},
		{"a key without a value", "a: 1\nb\nc: 2\n", 2, 1, "could not find expected ':'"},
		{"an unknown anchor", "a: *x\n", 1, 4, "unknown anchor 'x' referenced"},
		{"too many braces", "{a: 1}}\n", 1, 7, "did not find expected <document start>"},
		{"a key twice", "spec:\n  a: 1\n  list:\n  - b: 1\n    c: 2\n    b: 3\n", 6, 5, `duplicate key "spec.list[0].b"; first in line `},
		{"a number that is a key twice", "1: a\n\"1\": b\n", 2, 1, `duplicate key "1"`},
		{"two documents in one", "a: 1\n...\nb: 1\n", 3, 1, "another document begins here; put a line of --- in front of it"},
		{"a document behind its separator", "--- {a: 1}\n", 1, 4, "the separator --- must be alone on its line"},
		{"no base64", "a: !!binary ü\n", 0, 0, "!!binary value contains invalid base64 data"},
		{"a control character", "a: b\nc: \x1b[2J\n", 2, 4, "the control character U+001B is not allowed"},
		{"no UTF-8", "a: b\nü: \xff\n", 2, 4, "the byte 0xff is not UTF-8"},
		{"JSON with a comma too many", "{\"a\": 1,\n \"b\": [2,,3]}", 2, 10, "invalid character ',' looking for beginning of value"},
		{"JSON with a key twice", "{\"a\": {\"b\": 1, \"b\": 2}}", 0, 0, `duplicate field "a.b"`},
		{"JSON that ends early", "{\"a\": {\n\"b\": 1\n", 2, 7, "the text ends within an object"},
		{"JSON and more", "{\"a\": 1} x", 1, 10, "invalid character 'x' looking for beginning of value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, head := range []string{"", above} {
				entries, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(head+tt.text))
				assert.Equal(t, len(entries), 0)
				want := tt.want
				if tt.line > 0 {
					want = fmt.Sprintf(", line %d, column %d: %s", tt.line+strings.Count(head, "\n"), tt.column, tt.want)
				}
				assert.ErrorContains(t, err, want)
			}
		})
	}
	_, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader("\xff\xfea\x00"))
	assert.Error(t, err, "standard input, line 1, column 1: the file is in UTF-16; save it as UTF-8")
}

func TestReadManifestsNoJob(t *testing.T) {
	const name = "; give it a name, so that running the same command again finds the same Job"
	const head = "apiVersion: batch/v1\nkind: Job\n"
	for _, tt := range []struct{ name, text, want string }{
		{"text", "hello world", `found the text "hello world", not an object`},
		{"long text", strings.Repeat("hello ", 10), `found text, not an object`},
		{"a list", "- a\n- b\n", "found a list, not an object"},
		{"a number", "5", "found 5, not an object"},
		{"no type", "metadata: {name: a}\n", "apiVersion is missing. A Job has apiVersion batch/v1 and kind Job"},
		{"no kind", "apiVersion: batch/v1\n", "kind is missing. A Job has"},
		{"an empty kind", "apiVersion: batch/v1\nkind: ''\n", "kind is empty"},
		{"an invalid kind", "apiVersion: batch/v1\nkind: [Job]\n", "kind must be a string, not a list"},
		{"another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n", `"settings" of kind "ConfigMap" (v1) cannot be delegated: of the built-in kinds, only Jobs of batch/v1 can`},
		{"another kind without a name", "apiVersion: batch/v1\nkind: CronJob\nmetadata: 5\n", `an object of kind "CronJob" (batch/v1) cannot be delegated: of the built-in kinds, only Jobs`},
		{"a kind with control characters", "apiVersion: v1\nkind: \"\\e[2J\"\nmetadata: {name: \"\\e[1m\"}\n", `"\x1b[1m" of kind "\x1b[2J" (v1) cannot be delegated: of the built-in kinds, only Jobs`},
		{"another version", "apiVersion: batch/v1beta1\nkind: Job\n", `a Job of "batch/v1beta1" cannot be delegated: of the built-in kinds, only Jobs of batch/v1`},
		{"no metadata", head, "the Job has no name" + name},
		{"strange metadata", head + "metadata: [a]\n", "metadata must be an object, not a list"},
		{"no name", head + "metadata: {namespace: x}\n", "the Job has no name" + name},
		{"an empty name", head + "metadata: {name: ''}\n", "the Job has no name" + name},
		{"a generated name", head + "metadata: {generateName: pi-}\n", "the Job has generateName but no name" + name},
		{"a number for a name", head + "metadata: {name: 42}\n", "metadata.name must be a string, not 42: put it into quotes"},
		{"a boolean namespace", head + "metadata: {name: a, namespace: true}\n", "metadata.namespace must be a string, not true"},
		{"no name of another kind", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n", "the JobSet has no name; give it a name, so that running the same command again finds the same JobSet"},
		{"an empty list of another kind", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSetList\nitems: []\n", "the list has no items"},
		{"an empty list", "apiVersion: v1\nkind: List\nitems: []\n", "the list has no items"},
		{"an invalid list", "apiVersion: batch/v1\nkind: JobList\nitems: {a: b}\n", "the list has no items"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(tt.text))
			assert.ErrorContains(t, err, "standard input: "+tt.want)
			assert.Assert(t, !strings.ContainsAny(err.Error(), "\x1b\r"), "%q", err)
		})
	}
}

// TestReadManifestsReportsAll checks that one error lists all faults, and that no entry is
// returned.
func TestReadManifestsReportsAll(t *testing.T) {
	text := jobYAML("good") + "---\na: [\n---\n" + jobYAML("good") + "---\napiVersion: v1\nkind: List\nitems: [{}, " +
		jobJSON("other") + ", 5]\n---\n{\"a\": 1,,}\n"
	entries, err := manifest.Read(t.Context(), []string{"-", "none.yaml"}, strings.NewReader(text))
	assert.Equal(t, len(entries), 0)
	assert.Error(t, err, strings.Join([]string{
		`no such file: "none.yaml"`,
		"standard input, document 2, line 7, column 1: did not find expected node content",
		"standard input, document 4, item 1: apiVersion is missing. A Job has apiVersion batch/v1 and kind Job",
		"standard input, document 4, item 3: found 5, not an object",
		"standard input, document 5, line 17, column 9: invalid character ',' looking for beginning of object key string",
		`standard input, document 3: the Job "good" is also in standard input, document 1`,
	}, "\n"))
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", jobYAML("a"), jobJSON("a"), "a: &a [*a]", "{\"a\": {", "---\n...\n", "? - a\n: b", "\ufeff# x", "{\"a\": b}", "<<: [{}]", "a: !!binary x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text))
		assert.Assert(t, err != nil || len(entries) > 0)
		assert.Assert(t, err == nil || len(entries) == 0)
		for _, m := range entries {
			group := m.Object.GroupVersionKind().Group
			assert.Assert(t, m.Object.GetName() != "" && m.Object.GetKind() != "" && m.Source != "")
			assert.Assert(t, m.Object.GetKind() == "Job" || !scheme.Scheme.IsGroupRegistered(group), "%s", group)
		}
	})
}

// TestReadBomb checks that a small file cannot expand to more than the memory of a machine.
func TestReadBomb(t *testing.T) {
	text := "x: &x " + strings.Repeat("x", 1<<16) + "\ny: [" + strings.Repeat("*x,", 1<<16) + "]\n"
	_, err := manifest.Read(t.Context(), []string{"-"}, strings.NewReader(text))
	assert.Error(t, err, "standard input: YAML aliases (*name) expand the file too much; replace them with their values")
}
