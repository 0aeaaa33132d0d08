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

// TestAgain checks how a submitted object gets a change of its manifest, alone and together with others of the same
// finding, and that AgainForAll recognises what Again adds.
func TestAgain(t *testing.T) {
	const cron, other, third = "spec.jobTemplate of CronJob ml/a", "spec.jobTemplate of CronJob ml/b", "spec.jobTemplate of CronJob ml/c"
	for name, tt := range map[string]struct {
		template string
		all      []string
		// one and many follow a change; oneStep and manyStep are steps after a command.
		one, oneStep, many, manyStep string
	}{
		"by users": {
			"",
			[]string{"", ""},
			", then delete Job ml/a-1, and create it again", "delete Job ml/a-1, and create it again",
			", then delete the 4 Jobs, and create them again", "delete the 4 Jobs, and create them again",
		},
		"all by users": {
			"", nil, ", then delete Job ml/a-1, and create it again", "delete Job ml/a-1, and create it again",
			", then delete the 4 Jobs, and create them again", "delete the 4 Jobs, and create them again",
		},
		"by a CronJob": {
			cron,
			[]string{cron, cron},
			" in " + cron + ", then delete Job ml/a-1", "make the change in " + cron + ", and delete Job ml/a-1",
			" in " + cron + ", then delete the 4 Jobs", "make the change in " + cron + ", and delete the 4 Jobs",
		},
		"by three CronJobs": {
			cron,
			[]string{third, cron, other},
			" in " + cron + ", then delete Job ml/a-1", "make the change in " + cron + ", and delete Job ml/a-1",
			" in " + cron + " and 2 others, then delete the 4 Jobs", "make the change in " + cron + " and 2 others, and delete the 4 Jobs",
		},
		"the first by a CronJob": {
			cron,
			[]string{cron, "", other},
			" in " + cron + ", then delete Job ml/a-1", "make the change in " + cron + ", and delete Job ml/a-1",
			", then make the same change in " + cron + " and " + other + ", delete the 4 Jobs, and create the others again",
			"make the same change in " + cron + " and " + other + ", delete the 4 Jobs, and create the others again",
		},
		"another by a CronJob": {
			"",
			[]string{"", cron},
			", then delete Job ml/a-1, and create it again", "delete Job ml/a-1, and create it again",
			", then make the same change in " + cron + ", delete the 4 Jobs, and create the others again",
			"make the same change in " + cron + ", delete the 4 Jobs, and create the others again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain := command.Fix{Text: "request less", Command: []string{}}
			assert.Assert(t, !plain.IsAgain())
			one := plain.Again("Job ml/a-1", tt.template)
			assert.Assert(t, one.IsAgain())
			assert.DeepEqual(t, one, command.Fix{Text: "request less" + tt.one, Command: []string{}})
			assert.Equal(t, one.AgainForAll("the 4 Jobs", tt.all...).Text, "request less"+tt.many)

			withCommand := command.Fix{Text: "see it", Command: []string{"kubectl"}}
			one = withCommand.Again("Job ml/a-1", tt.template)
			assert.Assert(t, one.IsAgain())
			assert.DeepEqual(t, one.Then, []command.Step{{Text: tt.oneStep, Command: []string{}}})
			assert.Equal(t, one.AgainForAll("the 4 Jobs", tt.all...).Then[0].Text, tt.manyStep)
			assert.Equal(t, one.Then[0].Text, tt.oneStep)
		})
	}
}

// TestCreateAgain checks that the object that a template creates gets a change before its deletion.
func TestCreateAgain(t *testing.T) {
	deletion := command.Fix{Text: "delete the Job", Command: []string{"kubectl", "delete", "job", "a"}}
	const cron = "spec.jobTemplate of CronJob ml/a"
	for want, got := range map[string]command.Fix{
		"delete the Job: `kubectl delete job a`, and then create the Job again":                    command.CreateAgain(deletion, "Job", "", ""),
		"delete the Job: `kubectl delete job a`, and then create the Job again with a label":       command.CreateAgain(deletion, "Job", "", "with a label"),
		"delete the Job: `kubectl delete job a`, and then have the next one created from " + cron:  command.CreateAgain(deletion, "Job", cron, ""),
		"change " + cron + " to one with a label, and then delete the Job: `kubectl delete job a`": command.CreateAgain(deletion, "Job", cron, "with a label"),
		"delete Job ml/a, and create it again with a label":                                        command.CreateAgain(command.Fix{Text: "delete Job ml/a"}, "", "", "with a label"),
		"change " + cron + " to one with a label, and delete Job ml/a":                             command.CreateAgain(command.Fix{Text: "delete Job ml/a"}, "", cron, "with a label"),
	} {
		assert.Equal(t, string(got.Prose()), want)
	}
}

// TestFollowedBy checks that a fix gets each step of another one once, and shares no steps with it or with the original.
func TestFollowedBy(t *testing.T) {
	step := func(text string) command.Step { return command.Step{Text: text, Command: []string{"kubectl", text}} }
	fix := func(first string, then ...command.Step) command.Fix {
		return command.Fix{Text: first, Command: []string{"kubectl", first}, Then: then}
	}
	base := fix("a", append(make([]command.Step, 0, 4), step("b"))...)
	one, other := base.FollowedBy(fix("b", step("c"))), base.FollowedBy(fix("d"))
	assert.DeepEqual(t, one, fix("a", step("b"), step("c")))
	assert.DeepEqual(t, other, fix("a", step("b"), step("d")))
	assert.Assert(t, one.Includes(fix("c", step("a"))) && !one.Includes(other))
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
