package cmd

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestHistory: rows and sums of a recorded MultiKueue, in all formats.
func TestHistory(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "many-edits-one-timed-out")
	for name, args := range map[string][]string{
		"history.txt":          {"-A"},
		"history-wide.txt":     {"-A", "-o", "wide"},
		"history-by.txt":       {"-A", "--by", "cluster"},
		"history-markdown.txt": {"-A", "-o", "markdown"},
		"history-names.txt":    {"-A", "-o", "name"},
		"history-csv.txt":      {"-A", "-o", "csv"},
		"history-by-csv.txt":   {"-A", "-o", "csv", "--by", "queue"},
		"history-sorted.txt":   {"-A", "--no-headers", "--sort-by", ".waitSeconds"},
		"history-columns.txt":  {"-n", "default", "-o", "custom-columns=JOB:.name,RAN:.runSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"history", "--from", dir}, args...)...)
			assert.Equal(t, code, util.ExitOK, errOut)
			golden.Assert(t, out, name)
			if strings.Contains(name, "csv") {
				rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
				assert.Assert(t, err == nil && len(rows) > 1, "%v", err)
			}
		})
	}
	for _, c := range []struct{ args, want string }{
		{"--by queue -o svg", "-o svg draws Jobs and cannot be combined with --by"},
		{"--by user", `unknown --by "user"; choose one of namespace, queue, owner, cluster, label=KEY`},
		{"--since yesterday", `--since "yesterday" is not a duration; write it as 7d, 36h or 90m`},
		{"--since 0d", "--since must be more than zero, not 0d"},
		{"--sort-by .none", `cannot sort by ".none": Jobs have no such number, text or time`},
		{"--by queue --sort-by .name", `cannot sort by ".name": groups have no such number or text`},
	} {
		_, errOut, code := run(t, append([]string{"history", "--from", dir}, strings.Fields(c.args)...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.Contains(errOut, c.want), errOut)
	}
}

// TestHistoryUnknown: a group whose Jobs have no Workload claims neither evictions nor that there were none.
func TestHistoryUnknown(t *testing.T) {
	for args, want := range map[string]string{
		"":        "flows.example.com/runner 1 - 19s 19s 2s ? ? ? ?",
		"-o csv":  "flows.example.com/runner,1,0,0,1,19,19,1,2,,,,0",
		"-o json": `"evictions": null, "lostSeconds": null, "measured": 0, "resourceHours": {}, "clusters": null`,
	} {
		out, errOut, code := run(t, append([]string{"history", "-A", "--by", "owner", "--from", "../../examples/fleet"}, strings.Fields(args)...)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Assert(t, strings.Contains(strings.Join(strings.Fields(out), " "), want), out)
	}
}

// TestHistoryDocument: the document follows its schema, and --since and a selector leave out the
// right Jobs.
func TestHistoryDocument(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "many-edits-one-timed-out")
	read := func(args ...string) *inspect.HistoryList {
		out, errOut, code := run(t, append([]string{"history", "-A", "-o", "json", "--from", dir}, args...)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		fits(t, "historylist", out)
		list := &inspect.HistoryList{}
		assert.NilError(t, json.Unmarshal([]byte(out), list))
		return list
	}
	all := read()
	assert.Equal(t, len(all.Items), 5)
	assert.Equal(t, all.Total.Failed, 2)
	assert.Equal(t, all.Total.Deleted, 1)
	// The recording has its own time, and everything in it was created in less than a year.
	assert.Equal(t, len(read("--since", "52w").Items), 5)
	assert.Equal(t, len(read("--since", "1s").Items), 0)
	selected := read("-l", "batch.kubernetes.io/cronjob-scheduled-timestamp!=x")
	assert.Equal(t, len(selected.Items)+selected.Omitted[0].Count, 5)
	assert.Equal(t, len(read("--by", "label=team").Groups), 1)
}

// TestHistoryPicture: the picture is XML that refers to no other file, with a mark for each Job,
// whose shape is its result.
func TestHistoryPicture(t *testing.T) {
	out, errOut, code := run(t, "history", "-A", "-o", "svg", "--from", filepath.Join(recordings, "many-edits-one-timed-out"))
	assert.Equal(t, code, util.ExitOK, errOut)
	golden.Assert(t, out, "history.svg")
	var picture struct {
		XMLName xml.Name
		Title   string `xml:"title"`
		Paths   []struct {
			D     string `xml:"d,attr"`
			Title string `xml:"title"`
		} `xml:"path"`
	}
	assert.NilError(t, xml.Unmarshal([]byte(out), &picture))
	assert.Equal(t, picture.XMLName.Local, "svg")
	assert.Assert(t, strings.HasPrefix(picture.Title, "5 delegated Jobs ended: 2 failed, 1 deleted"), picture.Title)
	shapes := map[string]string{}
	for _, p := range picture.Paths[1:] {
		name, result, _ := strings.Cut(p.Title, ": ")
		result, _, _ = strings.Cut(result, ",")
		shapes[name] = result + strings.Trim(p.D, "M0123456789. ")[:1]
	}
	assert.DeepEqual(t, shapes, map[string]string{
		"default/a13-pfp": "Failedl", "default/a12-backoff": "Failedl", "default/a15-cron-29924346": "Completea", "default/a15-cron-29924345": "Completea",
		"default/job-a09-orphan-bce6a": "Deletedh",
	})
	for _, other := range []string{"href", "url(", "<script", "<style", "<image"} {
		assert.Assert(t, !strings.Contains(out, other), other)
	}
	// Without Jobs there is a picture, too.
	out, _, code = run(t, "history", "-A", "-o", "svg", "--from", filepath.Join(recordings, "running"))
	assert.Equal(t, code, util.ExitOK)
	assert.NilError(t, xml.Unmarshal([]byte(out), &picture))
}

// TestHistoryIncomplete: what could not be read comes first, and the exit code shows it.
func TestHistoryIncomplete(t *testing.T) {
	for name, want := range map[string]string{
		"worker-lost":       "No delegated Jobs finished, in what was read\nnot checked: context kwok-w1 (",
		"workers-only-user": "No delegated Jobs finished, in what was read\nnot checked: origins of mirrors (no manager was read)\n",
	} {
		out, _, code := run(t, "history", "-A", "--from", filepath.Join(recordings, name))
		assert.Equal(t, code, util.ExitPartial)
		begins := strings.HasPrefix(out, want)
		assert.Assert(t, begins, out)
		out, errOut, code := run(t, "history", "-A", "--no-headers", "--from", filepath.Join(recordings, name))
		assert.Equal(t, code, util.ExitPartial)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errOut, "not checked: "), errOut)
	}
}

// TestHistoryOfUnreadCluster: if no cluster was read, history does not say that no Jobs finished.
func TestHistoryOfUnreadCluster(t *testing.T) {
	out, _, code := run(t, "history", "-A", "--context", "kwok-w1", "--from", filepath.Join(recordings, "worker-lost"))
	assert.Equal(t, code, util.ExitPartial)
	begins := strings.HasPrefix(out, "No cluster was read, so it is unknown which Jobs finished\nnot checked: context kwok-w1 (")
	assert.Assert(t, begins, out)
}

// TestHistoryKinds: MultiKueue's objects of other kinds are known from their Workloads, and are
// read themselves with --kinds.
func TestHistoryKinds(t *testing.T) {
	skipIfShort(t)
	dir := filepath.Join(recordings, "jobsets")
	for _, args := range [][]string{nil, {"--kinds", "all"}} {
		var list inspect.HistoryList
		decode(t, &list, append([]string{"history", "-A", "-o", "json", "--from", dir}, args...)...)
		found := false
		for i := range list.Items {
			j := &list.Items[i]
			if j.Kind == "JobSet" && j.Name == "js-done" {
				found = true
				assert.Equal(t, j.Result, inspect.ResultComplete)
				assert.Equal(t, time.Duration(*j.RunSeconds)*time.Second, 11*time.Second)
			}
		}
		assert.Assert(t, found, "%v: %+v", args, list.Items)
	}
	// --kinds leaves out Workloads of other kinds, too, even if nothing controls them anymore.
	for kind, want := range map[string]string{"job": "workload.kueue.x-k8s.io/job-a09-orphan-bce6a\n", "jobset": "jobset.jobset.x-k8s.io/js-done\n"} {
		out, errOut, code := run(t, "history", "-A", "--kinds", kind, "-o", "name", "--from", dir)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Equal(t, out, want)
	}
}
