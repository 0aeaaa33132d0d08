package writing_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
)

// TestConfirm checks that only a yes confirms, and that a question without a terminal is a usage error.
func TestConfirm(t *testing.T) {
	for answer, want := range map[string]string{"y\n": "", "YES\n": "", "yes": "", "n\n": "not confirmed", "\n": "not confirmed", "": "not confirmed", "yess\n": "not confirmed"} {
		var errOut bytes.Buffer
		env := util.Environment{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(answer), ErrOut: &errOut}}
		err := writing.Confirm(t.Context(), env, "Delete it?")
		assert.Equal(t, errOut.String(), "Delete it? [y/N] ")
		assert.Assert(t, (err == nil) == (want == ""), answer)
		if err != nil {
			assert.ErrorContains(t, err, want)
		}
	}
	var usage *util.UsageError
	err := writing.CanConfirm(strings.NewReader(""), false, writing.DryRunNone, "x must ask")
	assert.Assert(t, errors.As(err, &usage))
	assert.NilError(t, writing.CanConfirm(strings.NewReader(""), true, writing.DryRunNone, "x must ask"))
	assert.NilError(t, writing.CanConfirm(strings.NewReader(""), false, writing.DryRunClient, "x must ask"))
}
