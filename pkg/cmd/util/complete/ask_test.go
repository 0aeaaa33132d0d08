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

// TestTimeIsBounded: a question that ignores its context is abandoned, with what it has found
// until then, and one that panics has found nothing.
func TestTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(util.Environment{LookupEnv: func(string) (string, bool) { return "", false }}, util.NewGlobalFlags())
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())

		hang := make(chan struct{})
		defer close(hang)
		start := time.Now()
		got, directive := c.Asks(func(_ context.Context, _ word, found *choices) {
			found.add("early")
			<-hang
		})(cmd, nil, "")
		assert.Equal(t, time.Since(start), completionTime)
		assert.DeepEqual(t, got, []string{"early"})
		assert.Equal(t, directive, cobra.ShellCompDirectiveNoFileComp)

		got, directive = c.Asks(func(context.Context, word, *choices) { panic("mad") })(cmd, nil, "")
		assert.Equal(t, len(got), 0)
		assert.Equal(t, directive, cobra.ShellCompDirectiveNoFileComp)
	})
}

func TestFold(t *testing.T) {
	var many []string
	for i := range 2 * mostChoices {
		many = append(many, fmt.Sprintf("ä-%d", i+1000))
	}
	for _, tt := range []struct {
		name  string
		names []string
		typed string
		want  int
		first string
	}{
		{"as long as possible", many, "", 100, "ä-100\t10 begin so"},
		{"no part of a character", []string{"ä", "ö"}, "", 2, "ä"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folded := fold(tt.names, len(tt.typed))
			assert.Equal(t, len(folded), tt.want)
			assert.Equal(t, folded[0], tt.first)
		})
	}
}
