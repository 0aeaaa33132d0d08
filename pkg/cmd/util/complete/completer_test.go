package complete

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestFinderTimeLimit: a Finder that ignores its context is abandoned, and its choices until then
// are kept. A Finder that panics has no choices.
func TestFinderTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(util.Environment{LookupEnv: func(string) (string, bool) { return "", false }}, util.NewGlobalFlags())
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())

		hang := make(chan struct{})
		defer close(hang)
		start := time.Now()
		got, directive := c.Func(func(_ context.Context, _ word, found *choices) {
			found.add("early")
			<-hang
		})(cmd, nil, "")
		assert.Equal(t, time.Since(start), completionTime)
		assert.DeepEqual(t, got, []string{"early"})
		assert.Equal(t, directive, cobra.ShellCompDirectiveNoFileComp)

		got, directive = c.Func(func(context.Context, word, *choices) { panic("mad") })(cmd, nil, "")
		assert.Equal(t, len(got), 0)
		assert.Equal(t, directive, cobra.ShellCompDirectiveNoFileComp)
	})
}

func TestFold(t *testing.T) {
	var many []string
	for i := range 2 * maxChoices {
		many = append(many, fmt.Sprintf("ä-%d", i+1000))
	}
	for _, tt := range []struct {
		name  string
		names []string
		typed string
		want  int
		first string
	}{
		{"as long as possible", many, "", 100, "ä-100\t10 names"},
		{"no part of a character", []string{"ä", "ö"}, "", 2, "ä"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folded := fold(tt.names, len(tt.typed))
			assert.Equal(t, len(folded), tt.want)
			assert.Equal(t, folded[0], tt.first)
		})
	}
}
