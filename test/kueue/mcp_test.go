package kueue

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	queuelists "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
)

// assistant starts mcp through kubectl, as clients do.
func assistant(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	c := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(set.Programs, "kubectl"), append([]string{"jobs-managedby", "mcp"}, args...)...)
	c.Env = append(os.Environ(), "KUBECONFIG="+set.Kubeconfig)
	c.Stderr = os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}

// answer calls a tool and returns its document.
func answer[T any](t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) (document T, text string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	assert.NilError(t, err)
	for _, c := range result.Content {
		part, isText := c.(*mcp.TextContent)
		assert.Assert(t, isText)
		text += part.Text + "\n"
	}
	assert.Assert(t, !result.IsError, text)
	content, err := json.Marshal(result.StructuredContent)
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(content, &document))
	return document, text
}

// TestMCP checks that an assistant learns from a real MultiKueue why one Job waits and where
// another one runs, and gets the answers of the other tools.
func TestMCP(t *testing.T) {
	t.Parallel()
	const ns = "mcp"
	submit(t, ns, "1", "1h", "small")
	running(t, ns, 1)
	submit(t, ns, "20", "1h", "large")
	s := assistant(t, "-n", ns)
	eventually(t, "never, never", func() string {
		trace, text := answer[inspect.Trace](t, s, "trace", map[string]any{"name": "large"})
		if !strings.Contains(text, "Needs 20 cpu; the largest limit is 8") {
			return text
		}
		var verdicts []string
		for _, p := range trace.Placements {
			verdicts = append(verdicts, string(p.Verdict))
		}
		return strings.Join(verdicts, ", ")
	})
	trace, _ := answer[inspect.Trace](t, s, "trace", map[string]any{"name": "small"})
	assert.Equal(t, len(trace.Mirrors), 1)
	assert.Assert(t, slices.Contains([]string{worker1, worker2}, trace.Mirrors[0].Context))

	// Kueue on the workers reports it a moment after MultiKueue has offered the Job to them.
	eventually(t, "check finds JM029", func() string {
		findings, text := answer[inspect.FindingList](t, s, "check", map[string]any{"grace": "0s"})
		if slices.ContainsFunc(findings.Items, func(f inspect.Finding) bool { return f.Code == "JM029" && f.Name == "large" }) {
			return "check finds JM029"
		}
		return text
	})
	owners, _ := answer[inspect.OwnerList](t, s, "ls", map[string]any{"contexts": []string{management}})
	assert.Equal(t, len(owners.All()), 2)
	queues, _ := answer[queuelists.QueueList](t, s, "queues", nil)
	assert.Assert(t, len(queues.Items) > 0)
	eventually(t, "pending on a worker", func() string {
		pending, text := answer[queuelists.PendingList](t, s, "queues", map[string]any{"pending": true})
		if slices.ContainsFunc(pending.Items, func(j queuelists.PendingJob) bool { return j.Name == "large" && j.Context != management }) {
			return "pending on a worker"
		}
		return text
	})
	report, _ := answer[inspect.DoctorReport](t, s, "doctor", nil)
	assert.Equal(t, report.Summary.Managers, 1)
	past, _ := answer[inspect.HistoryList](t, s, "history", nil)
	assert.Equal(t, len(past.Items), 0)
}
