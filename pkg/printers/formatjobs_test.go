package printers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// someJobs returns Jobs that differ as much as possible.
func someJobs() []inspect.Job {
	list := everyStatus()
	return []inspect.Job{
		*list.Items[0].Jobs[0],
		*list.Items[2].Jobs[1],
		newJob(wide, delegation.BuiltIn, delegation.Running),
		with(newJob("py", "example.com/controller", delegation.Running), func(j *inspect.Job) {
			j.APIVersion, j.Kind, j.Ready = "kubeflow.org/v1", "PyTorchJob", ptr.To[int32](0)
		}),
		with(newJob("core", delegation.BuiltIn, delegation.Running), func(j *inspect.Job) { j.APIVersion, j.Kind = "v1", "Pod" }),
	}
}

func TestPrintJobs(t *testing.T) {
	dir := t.TempDir()
	file := func(content string) string {
		path := filepath.Join(dir, "template")
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	hostileJobs := []inspect.Job{
		newJob("job-"+evil, delegation.Owner("owner-"+evil), delegation.Running),
		newJob("mild", delegation.BuiltIn, delegation.Running),
	}
	// kubectl draws line breaks and tabs itself.
	harmful := strings.NewReplacer("\n", "", "\t", "", "\xff", "").Replace(evil)
	oneLine := []inspect.Job{newJob("job-"+harmful, delegation.Owner("owner-"+harmful), delegation.Running), hostileJobs[1]}
	const columns = "custom-columns=NAME:.name,READY:.ready,START:{.startTime},MIRRORS:.mirrors[*].context,NOTHING:.nothing,KIND:kind"
	for _, tt := range []struct {
		name, output string
		jobs         []inspect.Job
	}{
		{"jobs.json", "json", someJobs()[:2]},
		{"jobs.yaml", "yaml", someJobs()[:2]},
		{"jobs-name.txt", "name", someJobs()},
		{"jobs-name-hostile.txt", "name", hostileJobs},
		{"jobs-none.txt", "name", nil},
		{"jobs-jsonpath.txt", `jsonpath={.name} {.ready} {.startTime}{"\n"}`, someJobs()},
		{"jobs-go-template.txt", `go-template={{.name}} {{.ready}} {{.startTime}}{{"\n"}}`, someJobs()},
		{"jobs-custom-columns.txt", columns, someJobs()},
		{"jobs-custom-columns-none.txt", columns, nil},
		{"jobs-custom-columns-hostile.txt", "custom-columns=NAME:.name,OWNER:.managedBy,STATUS:.status", oneLine},
		{"jobs-custom-columns-file.txt", "custom-columns-file=" + file("NAME STATUS\n.name {.status}\n"), someJobs()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error { return newFormat(t, tt.output).PrintJobs(out, pointersTo(tt.jobs)) })
			golden.Assert(t, visible(out), "format-"+tt.name)
		})
	}
}

// TestCustomColumnsTitles: titles are written once, however often Jobs are printed, and never
// with noHeaders.
func TestCustomColumnsTitles(t *testing.T) {
	jobs := []inspect.Job{newJob("first", delegation.BuiltIn, delegation.Running), newJob("second", delegation.BuiltIn, delegation.Running)}
	for _, tt := range []struct {
		noHeaders bool
		want      string
	}{
		{false, "NAME\nfirst\nsecond\n"},
		{true, "first\nsecond\n"},
	} {
		f, err := printers.NewFormat(nil, "custom-columns=NAME:.name", tt.noHeaders)
		assert.NilError(t, err)
		var out bytes.Buffer
		assert.NilError(t, f.PrintJobs(&out, pointersTo(jobs[:1])))
		assert.NilError(t, f.PrintJobs(&out, pointersTo(jobs[1:])))
		assert.Equal(t, out.String(), tt.want)
	}
}

func TestPrintJobsDoesNotChangeJobs(t *testing.T) {
	jobs := someJobs()
	for _, output := range []string{"json", "yaml", "name", "jsonpath={.name}", "go-template={{.name}}", "custom-columns=NAME:.name"} {
		assert.NilError(t, newFormat(t, output).PrintJobs(&bytes.Buffer{}, pointersTo(jobs)))
		assert.DeepEqual(t, jobs, someJobs())
	}
}

func TestPrintEvent(t *testing.T) {
	for _, tt := range []struct {
		output string
		event  inspect.ChangeType
	}{
		{"json", inspect.Added},
		{"yaml", inspect.Deleted},
		{"kyaml", inspect.Modified},
	} {
		t.Run(tt.output, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error {
				return newFormat(t, tt.output).PrintEvent(out, tt.event, &someJobs()[0])
			})
			golden.Assert(t, out, "format-event."+tt.output)
		})
	}
}

// TestPrintEventStream: events are separate documents that a program can read as soon as
// each is written, with a Job in the same form as in a list.
func TestPrintEventStream(t *testing.T) {
	var out bytes.Buffer
	f := newFormat(t, "json")
	types := []inspect.ChangeType{inspect.Added, inspect.Modified, inspect.Deleted}
	for i, event := range types {
		assert.NilError(t, f.PrintEvent(&out, event, &someJobs()[i]))
	}
	decoder := json.NewDecoder(&out)
	for i, event := range types {
		var got struct {
			APIVersion, Kind, Type string
			Object                 inspect.Job
		}
		assert.NilError(t, decoder.Decode(&got))
		assert.Equal(t, got.APIVersion, inspect.APIVersion)
		assert.Equal(t, got.Kind, "WatchEvent")
		assert.Equal(t, got.Type, string(event))
		assert.Equal(t, got.Object.Name, someJobs()[i].Name)
		assert.Equal(t, got.Object.Status, someJobs()[i].Status)
	}
	_, err := decoder.Token()
	assert.Equal(t, err, io.EOF)

	out.Reset()
	f = newFormat(t, "yaml")
	for i, event := range types {
		assert.NilError(t, f.PrintEvent(&out, event, &someJobs()[i]))
	}
	assert.Equal(t, strings.Count(out.String(), "---\n"), len(types)-1)
}
