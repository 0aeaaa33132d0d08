package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestUsageMessages: messages of usage errors name the flag, and what to do.
func TestUsageMessages(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"trace train --queue q", "--queue requires --filename"},
		{"trace -f a.yaml train", "trace takes either a NAME or --filename"},
		{"cancel", "cancel takes either NAMEs of Jobs or --selector"},
		{"cancel a --kinds job", "--kinds requires --selector. With a NAME, write KIND/NAME"},
		{"dispatch a", "--to is required: one or more contexts to run the Jobs on"},
		{"ls --color no", `--color must be auto, always or never, not "no"`},
		{"ls --all-contexts --contexts a", "To exclude a context, use --contexts '^NAME'"},
		{"check --fail-on none,", `unknown --fail-on "none,"; choose one of error, warning, info, none`},
		{"ls --contexts /[/ --from " + exampleFleet, "missing closing ]: '['\nSee 'kubectl jobs-managedby ls -h' for help"},
		{"ls --contexts a[ --from " + exampleFleet, `context pattern "a[": syntax error in pattern`},
		{"recreate a --managed-by b/c --all-contexts", "Use --context, not --contexts or --all-contexts"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			_, stderr, code := invoke(t, strings.Fields(tt.args)...)
			assert.Equal(t, code, util.ExitUsage, stderr)
			assert.Assert(t, strings.HasPrefix(stderr, "error: ") && strings.Contains(stderr, tt.want), stderr)
		})
	}
}
