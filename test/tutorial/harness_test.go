package tutorial

import (
	"testing"

	"gotest.tools/v3/assert"
)

const sample = `# A page

Text.

` + "```" + `console
$ one
a
b

$ two
$ three
` + "```" + `

<!-- until: look --at it contains 4 more -->
<!-- exits: 3 -->
` + "```" + `console
$ four | five
c
` + "```" + `

<!-- output: left out -->

` + "```" + `console
$ six
` + "```" + `

` + "```" + `yaml
$ no: command
` + "```" + `
`

func TestPage(t *testing.T) {
	p, err := parsePage(sample)
	assert.NilError(t, err)
	type seen struct {
		command, shown string
		hints          hints
	}
	var got []seen
	for _, s := range p.steps {
		got = append(got, seen{s.command, p.shown(s), s.hints})
	}
	want := []seen{
		{"one", "a\nb", hints{}},
		{"two", "", hints{}},
		{"three", "", hints{}},
		{"four | five", "c", hints{until: "look --at it", contains: "4 more", code: 3}},
		{"six", "", hints{leftOut: true}},
	}
	assert.Equal(t, len(got), len(want))
	for i := range want {
		assert.Equal(t, got[i], want[i])
	}

	assert.Equal(t, p.with(nil), sample)
	fresh, err := parsePage(p.with(map[int]string{0: "x\n", 1: "y\n\nz\n", 2: "w\n", 3: ""}))
	assert.NilError(t, err)
	for i, shown := range []string{"x", "y\n\nz", "w", "", ""} {
		assert.Equal(t, fresh.steps[i].command, want[i].command)
		assert.Equal(t, fresh.shown(fresh.steps[i]), shown)
	}
	assert.Equal(t, fresh.lines[6], "x")
	assert.Equal(t, fresh.lines[7], "", "a blank line is in front of the next command")
}

func TestPageWithMistakes(t *testing.T) {
	block := "```console\n$ a\n```\n"
	for text, message := range map[string]string{
		"<!-- wait: a -->\n" + block:                     "line 1: unknown instruction",
		"<!-- exits: three -->\n" + block:                "line 1: unknown instruction",
		"<!-- until: a -->\n" + block:                    "line 1: unknown instruction",
		"<!-- exits: 3\n" + block:                        "line 1: unknown instruction",
		"<!-- exits: 3 -->\nText\n" + block:              "line 2: a comment for a block of commands is followed by",
		"<!-- exits: 3 -->\n```console\n$ a\n$ b\n```\n": "the block has 2 commands",
		"```console\n```\n":                              "the block has 0 commands",
		"```console\nNAME\n```\n":                        "line 2: a block of commands begins with",
		"```console\n$ a\n":                              "a block has no end",
	} {
		_, err := parsePage(text)
		assert.ErrorContains(t, err, message, "%s", text)
	}
}

func TestNormal(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"ages", "train  Running  14s       worker-1  2m5s", "train  Running  2m10s     worker-1  3h", true},
		{"times", "since 2026-11-21T19:27:36Z, and 08:39:46", "since 2027-01-01T00:00:00Z, and 23:00:01", true},
		{"uids", "of 9f2166e9-eee7-40b4-98eb-2d2657d1b126", "of fd284342-5aee-4685-a877-d7099bb586a9", true},
		{"Workloads", "├─ Workload/job-train-ca50b  x", "├─ Workload/job-train-0d0e1  x", true},
		{"the Workload of an orphan", "job-train-old-2143c", "job-train-old-2143d", true},
		{"a Workload that ends like an age", "├─ Workload/job-train-0341d  x", "├─ Workload/job-train-0d0e1  x", true},
		{"pods", "pod/nightly-f5hf7 annotated", "pod/nightly-s8gcv annotated", true},
		{"objects", "worker-1: 53 objects", "worker-1: 7 objects", true},
		{
			"how often a status is seen", "08:39:46  Running         2 ready, 0 succeeded, 0 failed of 2\n08:39:47  Complete  it is",
			"08:39:47  Complete  it is", true,
		},
		{"last events", "a\n\nLast events (2 more: --timeline)\nT  E\n08:39:46  b\n08:39:46  a\n\nz", "a\n\nLast events (3 more: --timeline)\nT  E\n08:39:46  a\n08:39:47  c\n\nz", true},
		{"a finding of five minutes", "JM013  ml/eval  the reason above (40s; check reports it after 5m)", "JM013  ml/eval  the reason above (6m2s)", true},
		{"a turn", "a\nworker-2: place 2 of 3 in ClusterQueue q (estimated), behind ml/sweep\nb", "a\nb", true},

		{"a status", "train  Running  14s", "train  Pending  14s", false},
		{"a count", "0/4  14s", "1/4  14s", false},
		{"a place", "14s       worker-1", "14s       worker-2", false},
		{"no age", "train  Running  14s", "train  Running  -", false},
		{"a column", "NAME   STATUS", "NAME  STATUS", false},
		{"another Workload", "job-export-2143c", "job-export-2143d", false},
		{"what follows the events", "Last events\nT  E\n\nz", "Last events\nT  E\n\ny", false},
		{"order anywhere else", "a\nb", "b\na", false},
		{"the end", "08:39:46  Complete  it is", "08:39:46  Failed  it is", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, normal(c.a) == normal(c.b), c.same, "%s\n%s", normal(c.a), normal(c.b))
		})
	}
}
