package printers_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestColumnPaths: a column whose path leads nowhere is an error, not an empty column.
func TestColumnPaths(t *testing.T) {
	for path, want := range map[string]string{
		".mirrors.name":                    "unknown field .mirrors.name for a column; mirrors is a list: choose all its elements with mirrors[*]",
		".mirrors['name']":                 "; mirrors is a list: ",
		".mirrors[*].name.x":               "; name has no fields",
		".mirrors[0][1]":                   "; mirrors[*] is not a list",
		".mirrors[0,1].nosuch":             "; choose one of context, ",
		".mirrors.*.nosuch":                "; choose one of context, ",
		`.mirrors[?(@.nosuch=="a")].name`:  "; choose one of context, ",
		".name[0]":                         "unknown field .name[0] for a column; name is not a list",
		".name[0,1]":                       "; name is not a list",
		`.name[?(@=="a")]`:                 "; name is not a list",
		".dispatcher[*].nosuch":            "; dispatcher is not a list",
		".name.foo":                        "; name has no fields",
		".completions.x":                   "; completions has no fields",
		".startTime.*":                     "; startTime has no fields",
		".metadata.creationTimestamp.nano": "; creationTimestamp has no fields",
		"{[0]}":                            "; choose one of context, ",
		".mirrors":                         "",
		".mirrors.*.name":                  "",
		".mirrors[0,1].name":               "",
		".mirrors[*]['name','context']":    "",
		`.mirrors[?(@.context=="a")].name`: "",
		`.findings[?(@=="JM101")]`:         "",
		".findings[-1:]":                   "",
		"..name":                           "",
		".*":                               "",
	} {
		checkColumn(t, reflect.TypeFor[inspect.Job](), path, want)
	}
	for path, want := range map[string]string{
		".labels.team":                  "",
		".labels['team']":               "",
		`.labels.example\.com/team`:     "",
		".resourceHours.*":              "",
		".evictionReasons.Preempted":    "",
		".labels.team.x":                "; team has no fields",
		".labels[*]":                    "; labels is not a list",
		".evictionReasons.Preempted[0]": "; Preempted is not a list",
	} {
		checkColumn(t, reflect.TypeFor[inspect.PastJob](), path, want)
	}
	checkColumn(t, reflect.TypeFor[inspect.Trace](), ".mirrors[*].inStep", "")
	checkColumn(t, reflect.TypeFor[inspect.Trace](), ".mirrors[*].metadata.name", "")
	checkColumn(t, reflect.TypeFor[inspect.Trace](), ".origin[0].name", "; origin is not a list")
}

// checkColumn checks the error about a column of rows; "" for none. The column is in a file: elsewhere, a comma
// begins another one.
func checkColumn(t *testing.T, rows reflect.Type, path, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "columns")
	assert.NilError(t, os.WriteFile(file, []byte("A\n"+path+"\n"), 0o600))
	_, err := printers.NewFormat(rows, "custom-columns-file="+file, false)
	if want == "" {
		assert.NilError(t, err, path)
		return
	}
	assert.ErrorContains(t, err, want, path)
}
