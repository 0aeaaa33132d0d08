package command_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// TestFixes checks that alternatives become fixes, and that further actions become steps of their
// fix.
func TestFixes(t *testing.T) {
	deletion := command.Kubectl("a", "ns", "delete", "job", "x")
	words := []string{"kubectl", "--context", "a", "-n", "ns", "delete", "job", "x"}
	for name, tt := range map[string]struct {
		text command.Prose
		want []command.Fix
	}{
		"none":      {"", nil},
		"text only": {"wait", []command.Fix{{Text: "wait", Command: []string{}}}},
		"one":       {command.Say("delete Job x: %s", deletion), []command.Fix{{Text: "delete Job x", Command: words}}},
		"steps": {
			command.Say("see it: %s, and then %s; restart it. Then ask; or wait", deletion, deletion),
			[]command.Fix{
				{Text: "see it", Command: words, Then: []command.Step{{Command: words}, {Text: "restart it. Then ask", Command: []string{}}}},
				{Text: "wait", Command: []string{}},
			},
		},
		"commands of one fix": {
			command.Say("delete all: %s; %s", deletion, deletion), []command.Fix{{Text: "delete all", Command: words, Then: []command.Step{{Command: words}}}},
		},
		"commands of two fixes": {
			command.Say("delete one: %s, or %s", deletion, deletion), []command.Fix{{Text: "delete one", Command: words}, {Command: words}},
		},
		"alternatives": {command.Say("wait, or delete it: %s; or ask", deletion), []command.Fix{{Text: "wait, or delete it", Command: words}, {Text: "ask", Command: []string{}}}},
		"alternatives without commands": {
			command.Say("wait; or run fewer Pods, or smaller ones; or delete it: %s", deletion),
			[]command.Fix{{Text: "wait", Command: []string{}}, {Text: "run fewer Pods, or smaller ones", Command: []string{}}, {Text: "delete it", Command: words}},
		},
		"command only": {deletion.Prose(), []command.Fix{{Command: words}}},
		"pipeline": {
			deletion.Fed("y").Prose(),
			[]command.Fix{{Command: []string{"sh", "-c", `printf '%s\n' y | kubectl --context a -n ns delete job x`}}},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.DeepEqual(t, tt.text.Fixes(), tt.want) })
	}
}

// TestFixShell checks that Shell returns the original command.
func TestFixShell(t *testing.T) {
	one := command.Kubectl("a b", "", "get", "it's", "$x")
	for _, c := range []command.Command{one, one.Fed("x | y"), command.Of("x")} {
		fixes := c.Prose().Fixes()
		assert.Equal(t, fixes[0].Shell(), c.Shell())
		assert.Equal(t, fixes[0].Prose(), c.Prose())
	}
	assert.Equal(t, command.Fix{Text: "wait"}.Shell(), "")
}

// TestAlternatives checks that joining fixes into one text is reversible.
func TestAlternatives(t *testing.T) {
	fixes := []command.Fix{
		{Text: "wait", Command: []string{}},
		{Text: "raise the quota", Command: []string{"kubectl", "edit", "x"}},
		{Text: "create it", Command: []string{"kubectl", "create"}, Then: []command.Step{{Command: []string{"kubectl", "bind"}}, {Text: "restart it", Command: []string{}}}},
		{Text: "ask", Command: []string{}},
	}
	assert.DeepEqual(t, command.Alternatives(fixes).Fixes(), fixes)
	assert.Equal(t, command.Alternatives(nil), command.Prose(""))
}

// FuzzWords checks that Words reverses the quoting for a shell.
func FuzzWords(f *testing.F) {
	f.Add("it's", "a | b")
	f.Add("=x", "\x00\n`")
	f.Add("", `\047"`)
	f.Fuzz(func(t *testing.T, one, two string) {
		// No word of a shell can contain NUL.
		if strings.ContainsRune(one+two, 0) {
			return
		}
		want := []string{"kubectl", one, two}
		assert.DeepEqual(t, command.Words(command.Of(want...).Shell()), want)
	})
}
