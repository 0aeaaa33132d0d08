package e2e

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
)

// TestMCP checks that the configuration in docs/mcp.md starts a server that answers for clusters,
// says what it could not read, and stays within its contexts.
func TestMCP(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mcp.md")
	assert.NilError(t, err)
	_, after, isThere := strings.Cut(string(page), "```json\n")
	assert.Assert(t, isThere)
	text, _, isThere := strings.Cut(after, "```")
	assert.Assert(t, isThere)
	var config struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	assert.NilError(t, json.Unmarshal([]byte(text), &config))
	entry := config.Servers["jobs"]
	assert.Equal(t, entry.Command, "kubectl")

	const ns = "mcp"
	origin(t, ns, "train")
	s := assistant(t, entry.Args...)
	result, trace := askTool[inspect.Trace](t, s, "trace", map[string]any{"name": "train", "namespace": ns})
	assert.Assert(t, !result.IsError)
	assert.Equal(t, trace.Origin.Name, "train")
	assert.Equal(t, trace.Origin.Context, management)
	var typed inspect.Trace
	out, err := command(t, append(slices.Clone(entry.Args[:1]), "trace", "train", "-n", ns, "--contexts", "management,worker-1,worker-2", "-o", "json")...).Output()
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(out, &typed))
	assert.DeepEqual(t, trace, typed)

	result, _ = askTool[any](t, s, "ls", map[string]any{"namespace": ns, "contexts": []string{"dead"}})
	assert.Assert(t, result.IsError)

	s = assistant(t, "jobs-managedby", "mcp", "--contexts", "management,dead")
	result, list := askTool[inspect.OwnerList](t, s, "ls", map[string]any{"namespace": ns})
	assert.Assert(t, !result.IsError)
	assert.Equal(t, len(list.All()), 1)
	assert.Equal(t, list.Errors[0].Context, "dead")
	assert.Assert(t, len(list.Unchecked) > 0)
}

// assistant starts a server as MCP clients do.
func assistant(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	// It ends when the client leaves, after the test.
	c := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(set.Programs, "kubectl"), args...)
	c.Env, c.Stderr = append(os.Environ(), "KUBECONFIG="+set.Kubeconfig), os.Stderr
	transport := &mcp.CommandTransport{Command: c}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}

// askTool calls a tool.
func askTool[T any](t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) (result *mcp.CallToolResult, document T) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	assert.NilError(t, err)
	if result.StructuredContent != nil {
		content, err := json.Marshal(result.StructuredContent)
		assert.NilError(t, err)
		assert.NilError(t, json.Unmarshal(content, &document))
	}
	return result, document
}
