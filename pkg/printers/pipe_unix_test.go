//go:build !windows

package printers_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestTemplateFromPipe: a template can come from a pipe, which can be read only once.
func TestTemplateFromPipe(t *testing.T) {
	j := newJob("train", "example.com/a", delegation.Running)
	for _, tt := range []struct{ format, template, want string }{
		{"jsonpath-file", "{.name}", "train"},
		{"go-template-file", "{{.name}}", "train"},
		{"templatefile", "{{.name}}", "train"},
		{"custom-columns-file", "NAME\n.name\n", "NAME\ntrain\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			reader, writer, err := os.Pipe()
			assert.NilError(t, err)
			t.Cleanup(func() { _ = reader.Close() })
			_, err = writer.WriteString(tt.template)
			assert.NilError(t, err)
			assert.NilError(t, writer.Close())
			f, err := printers.NewFormat(reflect.TypeFor[inspect.Job](), fmt.Sprintf("%s=/dev/fd/%d", tt.format, reader.Fd()), false)
			assert.NilError(t, err)
			out := printed(t, func(out *bytes.Buffer) error { return f.PrintJobs(out, []*inspect.Job{&j}) })
			assert.Equal(t, out, tt.want)
		})
	}
}
