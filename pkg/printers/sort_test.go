package printers_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// unsorted returns Jobs whose names are in the order of no field, two for each value.
func unsorted() []inspect.Job {
	values := []struct {
		name      string
		status    delegation.Status
		succeeded int32
		ready     *int32
		start     *metav1.Time
		age       time.Duration
		suspended bool
	}{
		{"m", delegation.Running, 10, ptr.To[int32](2), ago(time.Minute), time.Hour, true},
		{"z", delegation.Complete, 9, nil, nil, 3 * time.Hour, false},
		{"b", delegation.Running, 10, ptr.To[int32](0), ago(time.Hour), 2 * time.Hour, true},
		{"y", delegation.Pending, 9, ptr.To[int32](2), nil, time.Hour, false},
		{"a", delegation.Complete, -1, nil, ago(time.Minute), 3 * time.Hour, true},
	}
	var jobs []inspect.Job
	for _, v := range values {
		jobs = append(jobs, with(newJob(v.name, delegation.BuiltIn, v.status), func(j *inspect.Job) {
			j.Succeeded, j.Ready, j.StartTime, j.CreationTimestamp, j.Suspended = v.succeeded, v.ready, v.start, *ago(v.age), v.suspended
		}))
	}
	return jobs
}

func TestSort(t *testing.T) {
	for _, tt := range []struct{ expression, want string }{
		{"", "m z b y a"},
		{".name", "a b m y z"},
		{"name", "a b m y z"},
		{"{.name}", "a b m y z"},
		{"{name}", "a b m y z"},
		{".status", "z a y m b"},
		{".managedBy", "m z b y a"},
		{".succeeded", "a z y m b"},
		{".ready", "z a b m y"},
		{".startTime", "z y b m a"},
		{".creationTimestamp", "z a b m y"},
		{".suspended", "z y m b a"},
		{".completionTime", "m z b y a"},
		{".metadata.name", "a b m y z"},
		{"metadata.creationTimestamp", "z a b m y"},
		{"{.status.succeeded}", "a z y m b"},
		{".spec.managedBy", "m z b y a"},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			s, err := printers.NewSorter(tt.expression)
			assert.NilError(t, err)
			jobs := pointersTo(unsorted())
			s.Sort(jobs)
			var names []string
			for _, j := range jobs {
				names = append(names, j.Name)
			}
			assert.Equal(t, strings.Join(names, " "), tt.want)
		})
	}
}

func TestSortZeroValue(t *testing.T) {
	jobs := pointersTo(unsorted())
	(&printers.Sorter{}).Sort(jobs)
	assert.DeepEqual(t, jobs, pointersTo(unsorted()))
}

// TestSortIsStable: sorting keeps the order of equal Jobs. A dozen would stay in order with any
// algorithm, so there are more.
func TestSortIsStable(t *testing.T) {
	var jobs []*inspect.Job
	for i := range 200 {
		jobs = append(jobs, new(with(newJob(fmt.Sprintf("%03d", i), delegation.BuiltIn, delegation.Running), func(j *inspect.Job) { j.Succeeded = int32(i % 3) })))
	}
	s, err := printers.NewSorter(".succeeded")
	assert.NilError(t, err)
	s.Sort(jobs)
	for i := range jobs[1:] {
		a, b := jobs[i], jobs[i+1]
		assert.Assert(t, a.Succeeded < b.Succeeded || a.Succeeded == b.Succeeded && a.Name < b.Name, "%s before %s", a.Name, b.Name)
	}
}

// TestSortTimesOfSeveralZones: times are compared as times, in whatever zone they are.
func TestSortTimesOfSeveralZones(t *testing.T) {
	east := time.FixedZone("east", 9*60*60)
	at := func(name string, when time.Time) inspect.Job {
		return with(newJob(name, delegation.BuiltIn, delegation.Running), func(j *inspect.Job) { j.StartTime = ptr.To(metav1.NewTime(when)) })
	}
	jobs := pointersTo([]inspect.Job{at("later", now), at("earlier", now.Add(-time.Minute).In(east))})
	s, err := printers.NewSorter(".startTime")
	assert.NilError(t, err)
	s.Sort(jobs)
	assert.Equal(t, jobs[0].Name, "earlier")
}

// TestNewSorterAcceptsEveryField: every field of a Job that holds a single value can be sorted by.
func TestNewSorterAcceptsEveryField(t *testing.T) {
	for _, field := range strings.Fields(`context clusterUID apiVersion kind namespace name uid managedBy status completions
		parallelism succeeded failed active ready startTime completionTime finishedTime creationTimestamp suspended statusWrittenAt`) {
		_, err := printers.NewSorter("." + field)
		assert.NilError(t, err)
	}
}

func TestNewSorterErrors(t *testing.T) {
	for _, tt := range []struct{ expression, want string }{
		{".metadata.generateName", "Jobs have no such number, text or time"},
		{".metadata", "Jobs have no such number, text or time"},
		{".label", "Jobs have no such number, text or time"},
		{".mirrors", "Jobs have no such number, text or time"},
		{".findings", "Jobs have no such number, text or time"},
		{"{.name", "unexpected path string"},
		{".name[", "unterminated array"},
		{".name[?(@.x", "unterminated filter"},
		{"a b", "unrecognized identifier b"},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			s, err := printers.NewSorter(tt.expression)
			assert.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "cannot sort by ")
			assert.Assert(t, cmp.Nil(s))
		})
	}
}

// TestObjectPaths: columns accept paths as in kubectl get, with an error for a field that does
// not exist. Templates, whose lists differ from kubectl's, are refused at once.
func TestObjectPaths(t *testing.T) {
	j := newJob("train", "example.com/a", delegation.Running)
	const columns = "custom-columns=NAME:.metadata.name,OWNER:{.spec.managedBy},SUCCEEDED:.status.succeeded,STATUS:.status"
	out := printed(t, func(out *bytes.Buffer) error { return newFormat(t, columns).PrintJobs(out, []*inspect.Job{&j}) })
	assert.Equal(t, out, "NAME    OWNER           SUCCEEDED   STATUS\ntrain   example.com/a   0           Running\n")
	finding := inspect.Finding{Code: "JM101", Name: "train"}
	out = printed(t, func(out *bytes.Buffer) error {
		return newFormat(t, "custom-columns=NAME:.metadata.name").PrintFindings(out, []inspect.Finding{finding})
	})
	assert.Equal(t, out, "NAME\ntrain\n")

	for output, want := range map[string]string{
		"custom-columns=APP:.metadata.labels.app":        "unknown field .metadata.labels.app for a column; choose one of context, clusterUID, ",
		"custom-columns=A:.name,B:nosuch":                "unknown field .nosuch for a column; choose one of context, clusterUID, ",
		"custom-columns=A:{.mirrors[0].metadata.nosuch}": "unknown field .mirrors[0].metadata.nosuch for a column; choose one of context, ",
		"custom-columns=A:.name[":                        "unterminated array",
	} {
		_, err := printers.NewFormat(reflect.TypeFor[inspect.Job](), output, false)
		assert.ErrorContains(t, err, want)
	}
	for _, output := range []string{
		"custom-columns=JOB.metadata.name:.name", "custom-columns=A:.mirrors[*].name,B:.creationTimestamp,C:.mirrors[0].metadata.name",
		`jsonpath={"see .metadata.name of each"}`, "jsonpath=see .metadata.name of each",
	} {
		_, err := printers.NewFormat(reflect.TypeFor[inspect.Job](), output, false)
		assert.NilError(t, err)
	}
	out = printed(t, func(out *bytes.Buffer) error {
		return newFormat(t, "custom-columns=JOB.metadata.name:.name").PrintJobs(out, []*inspect.Job{&j})
	})
	assert.Equal(t, out, "JOB.metadata.name\ntrain\n")

	file := filepath.Join(t.TempDir(), "columns")
	assert.NilError(t, os.WriteFile(file, []byte("NAME OWNER\n.metadata.name {.spec.managedBy}\n"), 0o600))
	format, err := printers.NewFormat(reflect.TypeFor[inspect.Job](), "custom-columns-file="+file, true)
	assert.NilError(t, err)
	out = printed(t, func(out *bytes.Buffer) error { return format.PrintJobs(out, []*inspect.Job{&j}) })
	assert.Equal(t, out, "train   example.com/a\n")
	_, err = printers.NewFormat(reflect.TypeFor[inspect.Trace](), "custom-columns-file="+file, true)
	assert.ErrorContains(t, err, "unknown field .metadata.name for a column; choose one of kind, apiVersion, origin, mirrors, ")
	assert.NilError(t, os.WriteFile(file, []byte("{.items[*].metadata.name}"), 0o600))

	for _, output := range []string{
		"jsonpath-file=" + file, "go-template-file=" + file, "jsonpath={.items[*].metadata.name}", "jsonpath-as-json={.items[*].spec.managedBy}", "go-template={{range .items}}{{.status.succeeded}}{{end}}",
	} {
		_, err := printers.NewFormat(nil, output, false)
		assert.ErrorContains(t, err, "the printed objects have no ", output)
		_, err = printers.NewObjectFormat(output, false)
		assert.NilError(t, err)
	}
}
