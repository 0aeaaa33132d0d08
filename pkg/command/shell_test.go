package command_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// shells returns the shells of this machine, by the words that run one. sh is everywhere.
func shells(tb testing.TB) map[string][]string {
	tb.Helper()
	found := map[string][]string{}
	for _, name := range []string{"sh", "bash", "dash", "zsh", "ksh", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		found[name] = []string{path, "-c"}
		if name == "busybox" {
			found[name] = []string{path, "sh", "-c"}
		}
	}
	assert.Assert(tb, found["sh"] != nil, "no shell called sh is on PATH")
	return found
}

// wordsOf returns the words that a real shell passes to a program for a text.
func wordsOf(tb testing.TB, shell []string, text string) []string {
	tb.Helper()
	script := `printf '%s\0' ` + text
	out, err := exec.CommandContext(tb.Context(), shell[0], append(shell[1:], script)...).CombinedOutput()
	assert.NilError(tb, err, "%s: %s", script, out)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// FuzzRealShells checks that each real shell splits the text into the same number of words.
// Shells that know the POSIX syntax of 2024 also return the same words.
func FuzzRealShells(f *testing.F) {
	for _, seed := range []string{"", "a", "; exit 9 #", "$(exit 9)", "`exit 9`", "'\"\\", "a\nb\r\t", "-n", "~root", "{a,b}", "*", "!!", "\u202e\u00a0", "\xff\xfe", "=ls", "\\'", "a'\n!`", "%s%d", "$'x'", "&& exit 9", ">x", "a=b", "#", "\\", "'", "é", "a\\\nb"} {
		f.Add(seed, "x"+seed)
	}
	all := shells(f)
	hasEscapes := map[string]bool{}
	for name, shell := range all {
		hasEscapes[name] = wordsOf(f, shell, `$'\101'`)[0] == "A"
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		// No word can contain it.
		want := []string{strings.ReplaceAll(one, "\x00", ""), strings.ReplaceAll(other, "\x00", ""), strings.ReplaceAll(one+other, "\x00", "")}
		text := command.Of(want...).Shell()
		for name, shell := range all {
			got := wordsOf(t, shell, text)
			assert.Equal(t, len(got), len(want), "%s: %s", name, text)
			for i := range want {
				if hasEscapes[name] || !strings.ContainsFunc(want[i], func(r rune) bool { return r == '`' || !strconv.IsPrint(r) }) && strings.ToValidUTF8(want[i], "") == want[i] {
					assert.Equal(t, got[i], want[i], "%s: %s", name, text)
				}
			}
		}
	})
}
