package boundedyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/boundedyaml"
)

// lists returns a document in which each list has nine times the size of the one before.
func lists(depth int) string {
	text := "a0: &a0 [lol]\n"
	for i := range depth {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return text
}

func TestToJSON(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		bomb bool
	}{
		"no alias":          {"a: b\n", false},
		"one alias":         {"a: &x {b: c}\nd: *x\n", false},
		"one merge":         {"a: &x {b: c}\nd: {<<: *x, e: f}\n", false},
		"many small":        {"a: &x {cpu: 1}\nb: [" + strings.Repeat("*x,", 1000) + "]\n", false},
		"signs in a string": {"a: 'x & y * z'\n", false},
		"invalid YAML":      {"a: [&x *", false},
		"many of a string":  {"a: &x " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*x,", 10_000) + "]\n", true},
		"lists of lists":    {lists(9), true},
		"many merges":       {"a: &x {b: " + strings.Repeat("x", 10_000) + "}\nb: [" + strings.Repeat("{<<: *x},", 10_000) + "]\n", true},
		"in a flow mapping": {"{a: &x " + strings.Repeat("x", 10_000) + ", b: [" + strings.Repeat("*x,", 10_000) + "]}", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := boundedyaml.ToJSON([]byte(tt.text))
			if tt.bomb {
				assert.Assert(t, errors.Is(err, boundedyaml.ErrBomb), "%v, %d bytes", err, len(got))
				return
			}
			want, wantErr := yaml.YAMLToJSON([]byte(tt.text))
			assert.Equal(t, err == nil, wantErr == nil)
			assert.Equal(t, string(got), string(want))
		})
	}
}

// FuzzToJSON: no result is larger than allowed, and an accepted text becomes what kubectl reads.
func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"a: b", lists(3), lists(9), "a: &a [*a]", "&a a: *a", "? &a x\n: *a", "- &a\n- *a\n", "--- &a x\n--- *a\n", "<<: &a {b: c}\nd: *a", "a: &x !!binary aGk=\nb: *x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := boundedyaml.ToJSON(text)
		if err != nil {
			return
		}
		// A byte that is no text has six bytes in JSON, and a key of a list is a word.
		assert.Assert(t, len(got) <= 6*(16*len(text)+64<<10)+1, "%d bytes became %d", len(text), len(got))
		want, err := yaml.YAMLToJSON(text)
		assert.NilError(t, err)
		assert.Equal(t, string(got), string(want))
	})
}
