package util

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

func TestCheckKindName(t *testing.T) {
	for name, want := range map[string]string{
		"job": "", "JobSets": "", "pr": "", "rayjobs.ray.io": "", "pod": "",
		// Some cluster may serve these.
		"workflow": "", "Workflows.argoproj.io": "", "jobs.batch.volcano.sh": "", "jobst.example.com": "",
		"jobb":   `unknown kind "jobb"; did you mean "job"? For another kind of that name, add its group: jobb.GROUP`,
		"rayjbo": `unknown kind "rayjbo"; did you mean "rayjob"?`,
		"alll":   `unknown kind "alll"; did you mean "all"?`,
		// These cannot be names.
		"": `unknown kind "". Known kinds: job, cronjob, jobset`, "a/b": `unknown kind "a/b". Known kinds:`, "my_kind": `unknown kind "my_kind"`,
		"widgets.": `unknown kind "widgets."`, ".example.com": `unknown kind ".example.com"`, "w i": "and all; the kinds command lists all",
	} {
		err := checkKindName(name)
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	seen := map[string]bool{}
	for _, name := range kindNames() {
		assert.Assert(t, !seen[name], "%s is named twice", name)
		seen[name] = true
	}
}

func TestParseJobName(t *testing.T) {
	for _, tt := range []struct {
		argument string
		want     read.Wanted
		err      string
	}{
		{argument: "train", want: read.Wanted{Name: "train"}},
		{argument: "job/train", want: read.Wanted{Name: "train"}},
		{argument: "Jobs.batch/train", want: read.Wanted{Name: "train"}},
		{argument: "JobSet/train", want: read.Wanted{Kind: "jobset", Name: "train"}},
		{argument: "widgets.example.com/train", want: read.Wanted{Kind: "widgets.example.com", Name: "train"}},
		{argument: "jobst/train", err: `did you mean "jobset"?`},
		{argument: "job/", err: "is not of the form [KIND/]NAME"},
		{argument: "", err: `"" is not of the form [KIND/]NAME`},
		{argument: " ", err: `" " is not of the form [KIND/]NAME`},
		{argument: "/train", err: `"/train" is not of the form [KIND/]NAME`},
		{argument: "ns/job/train", err: "is not of the form [KIND/]NAME"},
	} {
		wanted, err := ParseJobName([]string{tt.argument})
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err)
			continue
		}
		assert.NilError(t, err)
		assert.DeepEqual(t, wanted, tt.want)
	}
}
