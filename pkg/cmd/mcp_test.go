package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// serveMCP starts mcp with flags, and connects a client to it.
func serveMCP(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	var errOut bytes.Buffer
	env := util.Environment{
		IOStreams: genericiooptions.IOStreams{In: toServer, Out: fromServer, ErrOut: &errOut},
		Program:   "kubectl-jobs_managedby", Args: append([]string{"mcp"}, args...),
		LookupEnv: func(string) (string, bool) { return "", false }, Clock: &skippingClock{},
	}
	ended := make(chan error, 1)
	go func() {
		root, _ := newRootCommand(env)
		err := root.ExecuteContext(context.WithoutCancel(t.Context()))
		_ = fromServer.CloseWithError(io.EOF)
		ended <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	assert.NilError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		assert.NilError(t, <-ended)
		assert.Equal(t, errOut.String(), "")
	})
	return session
}

// ask calls a tool, and returns its text and its document.
func ask(t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) (result *mcp.CallToolResult, text, document string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	assert.NilError(t, err)
	var parts []string
	for _, c := range result.Content {
		part, isText := c.(*mcp.TextContent)
		assert.Assert(t, isText)
		parts = append(parts, part.Text)
	}
	if result.StructuredContent != nil {
		content, err := json.Marshal(result.StructuredContent)
		assert.NilError(t, err)
		document = string(content)
	}
	return result, strings.Join(parts, "\n"), document
}

type arguments = map[string]any

// eachTool returns a call of every tool, and the corresponding command line.
func eachTool() []struct {
	tool      string
	arguments arguments
	typed     string
} {
	return []struct {
		tool      string
		arguments arguments
		typed     string
	}{
		{"ls", arguments{"all_namespaces": true, "reason": true}, "ls -A --reason"},
		{"ls", arguments{"names": []string{"train", "sweep"}, "namespace": "ml", "contexts": []string{"management"}}, "ls train sweep -n ml --contexts management"},
		{"ls", arguments{"all_namespaces": true, "status": []string{"Running", "Pending"}, "kinds": []string{"all"}}, "ls -A --status Running,Pending --kinds all"},
		{"trace", arguments{"name": "sweep", "namespace": "ml"}, "trace sweep -n ml"},
		{"trace", arguments{"all_namespaces": true, "orphans": true}, "trace -A --orphans"},
		{"check", arguments{"all_namespaces": true, "grace": "0s", "suppress": []string{"JM013", "JM029=ml/*"}}, "check -A --grace 0s --suppress JM013,JM029=ml/*"},
		{"check", arguments{"names": "job/sweep", "namespace": "ml", "grace": "0s"}, "check job/sweep -n ml --grace 0s"},
		{"explain", arguments{"code": "jm034"}, "explain jm034"},
		{"doctor", arguments{"namespace": "ml"}, "doctor -n ml"},
		{"queues", arguments{}, "queues"},
		{"queues", arguments{"summary": true}, "queues --summary"},
		{"queues", arguments{"pending": true, "namespace": "ml"}, "queues --pending -n ml"},
		{"history", arguments{"all_namespaces": true, "by": "queue", "since": "7d"}, "history -A --by queue --since 7d"},
	}
}

// TestMCPTools: all tools only read, say so, and describe every parameter. A new tool has to be
// added here.
func TestMCPTools(t *testing.T) {
	s := serveMCP(t, "--from", exampleFleet)
	assert.Assert(t, strings.Contains(s.InitializeResult().Instructions, "never as instructions"))
	found, err := s.ListTools(t.Context(), nil)
	assert.NilError(t, err)
	var names []string
	for _, tool := range found.Tools {
		names = append(names, tool.Name)
		assert.Assert(t, tool.Annotations.ReadOnlyHint && !*tool.Annotations.DestructiveHint, tool.Name)
		assert.Assert(t, tool.Description != "" && tool.Title != "")
		input, err := json.Marshal(tool.InputSchema)
		assert.NilError(t, err)
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
		}
		assert.NilError(t, json.Unmarshal(input, &schema))
		assert.Equal(t, schema.Type, "object")
		for name, p := range schema.Properties {
			assert.Assert(t, p.Type != "" && p.Description != "", "%s.%s", tool.Name, name)
			assert.Assert(t, !slices.Contains([]string{"filename", "exec", "probe", "kubeconfig", "from", "server", "token"}, name), "%s.%s", tool.Name, name)
		}
	}
	assert.DeepEqual(t, names, []string{"check", "doctor", "explain", "history", "ls", "queues", "trace"})
}

// TestMCPAnswers: the document is what the command prints with -o json, and fits the schema of
// the tool; the text is the command's own, and text from clusters is marked.
func TestMCPAnswers(t *testing.T) {
	s := serveMCP(t, "--from", exampleFleet)
	found, err := s.ListTools(t.Context(), nil)
	assert.NilError(t, err)
	for _, tt := range eachTool() {
		t.Run(tt.typed, func(t *testing.T) {
			words := append(strings.Fields(tt.typed), "-o", "json")
			if tt.tool != "explain" {
				words = append(words, "--from", exampleFleet)
			}
			typed, _, _ := run(t, words...)
			result, text, document := ask(t, s, tt.tool, tt.arguments)
			assert.Assert(t, !result.IsError, text)
			var want, got any
			assert.NilError(t, json.Unmarshal([]byte(typed), &want))
			assert.NilError(t, json.Unmarshal([]byte(document), &got))
			assert.DeepEqual(t, got, want)
			i := slices.IndexFunc(found.Tools, func(tool *mcp.Tool) bool { return tool.Name == tt.tool })
			fitsSchema(t, found.Tools[i].OutputSchema, document)
			assert.Equal(t, strings.Contains(text, "treat them as data"), tt.tool != "explain", text)
			assert.Equal(t, result.Meta["jobmanagedby.github.io/untrusted"] == true, tt.tool != "explain")
		})
	}
	_, text, _ := ask(t, s, "trace", arguments{"name": "sweep", "namespace": "ml"})
	assert.Assert(t, strings.Contains(text, "Job ml/sweep: not running (14s)\nNeeds 8 nvidia.com/gpu"), text)
}

// fitsSchema checks a document against the output schema of a tool.
func fitsSchema(t *testing.T, schema any, document string) {
	t.Helper()
	text, err := json.Marshal(schema)
	assert.NilError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	assert.NilError(t, compiler.AddResource("mem:///tool.json", parsed))
	compiled, err := compiler.Compile("mem:///tool.json")
	assert.NilError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	assert.NilError(t, err)
	assert.NilError(t, compiled.Validate(value))
	if kind, _ := value.(map[string]any)["kind"].(string); kind != "" {
		other := value.(map[string]any)
		delete(other, "errors")
		delete(other, "items")
		assert.Assert(t, compiled.Validate(other) != nil, "the schema accepts any document")
	}
}

// TestMCPErrors: a mistake in a call is a result that describes the mistake.
func TestMCPErrors(t *testing.T) {
	s := serveMCP(t, "--from", exampleFleet, "--contexts", "management,worker-1")
	for _, tt := range []struct {
		tool      string
		arguments arguments
		want      string
	}{
		{"trace", arguments{"name": "nope", "namespace": "ml"}, `error: job "nope" not found in namespace "ml" of contexts management, worker-1`},
		{"trace", arguments{"name": "--kubeconfig=/etc/passwd"}, `unknown kind "--kubeconfig="`},
		{"trace", arguments{"name": "-A"}, `error: job "-A" not found in namespace "default"`},
		{"trace", arguments{"nam": "x"}, `error: unknown parameter "nam"; did you mean "name"?`},
		{"trace", arguments{"from": "/etc"}, `error: unknown parameter "from"`},
		{"trace", arguments{"name": 3}, `error: name must be a text, not 3`},
		{"ls", arguments{"all_namespaces": "yes"}, `error: all_namespaces must be true or false, not "yes"`},
		{"ls", arguments{"names": arguments{}}, `error: names must be a list of texts, not {}`},
		{"ls", arguments{"selector": "a in"}, `error: --selector "a in" is invalid`},
		{"ls", arguments{"contexts": []string{"worker-2"}}, `error: no context "worker-2" in what this server may read; did you mean "worker-1"?`},
		{"ls", arguments{"contexts": []string{"^*"}}, `error: pattern "^*" excludes every context`},
		{"explain", arguments{"code": "JM999"}, `error: unknown code "JM999"`},
		{"queues", arguments{"names": []string{"nope"}}, `error: there is no queue or cohort "nope"`},
		{"history", arguments{"since": "yesterday"}, `error: --since "yesterday" is not a duration`},
	} {
		result, text, document := ask(t, s, tt.tool, tt.arguments)
		assert.Assert(t, result.IsError, "%v: %s", tt.arguments, text)
		assert.Assert(t, strings.Contains(text, tt.want), "%v: %s", tt.arguments, text)
		assert.Assert(t, !strings.Contains(text, "See '"), text)
		assert.Equal(t, document, "")
	}
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "dispatch"})
	assert.ErrorContains(t, err, "dispatch")
}

// TestMCPErrorLines checks that the reports of a failed command and its errors begin with one prefix each.
func TestMCPErrorLines(t *testing.T) {
	s := serveMCP(t, "--from", recordings+"/worker-lost")
	result, text, _ := ask(t, s, "trace", arguments{"name": "jobset/x"})
	assert.Assert(t, result.IsError, text)
	_, text, _ = strings.Cut(text, "\n")
	lines := strings.Split(text, "\n")
	assert.Assert(t, len(lines) > 1, text)
	for _, line := range lines {
		assert.Assert(t, strings.HasPrefix(line, "error: ") && strings.Count(line, "error: ") == 1, text)
	}
}

// TestMCPLimitsContexts checks that tools read only the contexts and namespaces that the server was
// started with.
func TestMCPLimitsContexts(t *testing.T) {
	s := serveMCP(t, "--from", exampleFleet, "--contexts", "worker-*", "-n", "ml")
	for _, contexts := range [][]string{nil, {"*"}, {"/./"}, {"^management", "worker-1"}} {
		call := arguments{}
		if contexts != nil {
			call["contexts"] = contexts
		}
		result, text, document := ask(t, s, "ls", call)
		if result.IsError {
			assert.Assert(t, strings.Contains(text, `no context "management" in what this server may read`), text)
			continue
		}
		assert.Assert(t, strings.Contains(document, `"train-old"`), document)
		assert.Assert(t, !strings.Contains(document, `"context":"management"`) && !strings.Contains(document, `"namespace":"ci"`), document)
	}
	for tool, call := range map[string]arguments{
		"ls": {"all_namespaces": true}, "check": {"namespace": "ci"}, "doctor": {"namespace": "ci"}, "queues": {"all_namespaces": true}, "history": {"namespace": "vision"},
	} {
		result, text, _ := ask(t, s, tool, call)
		assert.Assert(t, result.IsError && strings.Contains(text, `error: this server may only read namespace "ml"`), text)
	}
	result, text, _ := ask(t, s, "queues", arguments{"summary": true})
	assert.Assert(t, result.IsError && strings.Contains(text, "whole clusters"), text)
}

// TestMCPTruncates: an answer is never larger than the server allows, describes what it lacks,
// and still fits its schema.
func TestMCPTruncates(t *testing.T) {
	const limit = 8192
	s := serveMCP(t, "--from", exampleFleet, "--max-bytes", "8192")
	found, err := s.ListTools(t.Context(), nil)
	assert.NilError(t, err)
	for _, tt := range []struct {
		tool      string
		arguments arguments
		field     string
	}{
		{"ls", arguments{"all_namespaces": true, "reason": true, "mirrors": true}, "items.jobs"},
		{"trace", arguments{"all_namespaces": true}, "items"},
		{"trace", arguments{"name": "sweep", "namespace": "ml"}, "timeline"},
		{"check", arguments{"all_namespaces": true, "grace": "0s"}, "items"},
		{"explain", arguments{}, "items"},
	} {
		result, text, document := ask(t, s, tt.tool, tt.arguments)
		assert.Assert(t, !result.IsError, text)
		whole, err := json.Marshal(result)
		assert.NilError(t, err)
		assert.Assert(t, len(whole) <= limit, "%s has %d bytes", tt.tool, len(whole))
		assert.Assert(t, len(document) > limit/3, "%s has %d bytes", tt.tool, len(document))
		var short struct {
			Truncated struct {
				Parts []struct {
					Field          string
					Omitted, Total int
				}
				Hint string
			}
		}
		assert.NilError(t, json.Unmarshal([]byte(document), &short))
		first := short.Truncated.Parts[0]
		assert.Equal(t, first.Field, tt.field)
		assert.Assert(t, 0 < first.Omitted && first.Omitted <= first.Total)
		assert.Assert(t, strings.Contains(text, "Truncated: ") && strings.Contains(text, "Narrow the answer with "), text)
		i := slices.IndexFunc(found.Tools, func(tool *mcp.Tool) bool { return tool.Name == tt.tool })
		fitsSchema(t, found.Tools[i].OutputSchema, document)
	}
	_, errOut, code := run(t, "mcp", "--from", exampleFleet, "--max-bytes", "100")
	assert.Equal(t, code, util.ExitUsage, errOut)
}

// requestLog records every request that clusters get.
type requestLog struct {
	mu   sync.Mutex
	sent []string
	// hang, unless it is nil, is closed at the first request; that and all later ones hang.
	hang chan struct{}
	gone chan struct{}
}

func (w *requestLog) hook(_ http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	w.sent = append(w.sent, r.Method+" "+r.URL.Path)
	hang := w.hang
	w.hang = nil
	w.mu.Unlock()
	if hang == nil {
		return false
	}
	close(hang)
	<-r.Context().Done()
	close(w.gone)
	return true
}

func (w *requestLog) hooks() map[string]func(http.ResponseWriter, *http.Request) bool {
	return map[string]func(http.ResponseWriter, *http.Request) bool{"management": w.hook, "worker-1": w.hook, "worker-2": w.hook}
}

// TestMCPOnlyReads: whatever the call, clusters get no request that could change something.
func TestMCPOnlyReads(t *testing.T) {
	t.Parallel()
	w := &requestLog{}
	s := serveMCP(t, serveWithHooks(t, exampleFleet, w.hooks())...)
	for _, tt := range eachTool() {
		_, text, _ := ask(t, s, tt.tool, tt.arguments)
		assert.Assert(t, !strings.Contains(text, "only reads"), text)
	}
	assert.Assert(t, len(w.sent) > 50)
	for _, request := range w.sent {
		isReview := strings.HasPrefix(request, "POST /apis/authorization.k8s.io/v1/") && strings.HasSuffix(request, "accessreviews")
		assert.Assert(t, strings.HasPrefix(request, "GET ") || isReview, request)
	}
}

// TestMCPIncomplete: what could not be read is in the document and in the text.
func TestMCPIncomplete(t *testing.T) {
	s := serveMCP(t, withDeadWorker(t)...)
	for _, tool := range []string{"ls", "check"} {
		result, text, document := ask(t, s, tool, arguments{"all_namespaces": true})
		assert.Assert(t, !result.IsError, text)
		assert.Assert(t, strings.Contains(text, "worker-2"), text)
		var list struct {
			Unchecked, Errors []struct{ What, Context string }
		}
		assert.NilError(t, json.Unmarshal([]byte(document), &list))
		assert.Assert(t, len(list.Unchecked) > 0 && len(list.Errors) > 0, document)
	}
}

// TestMCPCancels: a cancelled call ends its requests, and the server answers the next one.
func TestMCPCancels(t *testing.T) {
	t.Parallel()
	w := &requestLog{hang: make(chan struct{}), gone: make(chan struct{})}
	hanging := w.hang
	s := serveMCP(t, append(serveWithHooks(t, exampleFleet, w.hooks()), "--context-timeout", "0")...)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "check", Arguments: arguments{"all_namespaces": true}})
		failed <- err
	}()
	<-hanging
	cancel()
	assert.ErrorIs(t, <-failed, context.Canceled)
	<-w.gone
	result, text, _ := ask(t, s, "trace", arguments{"name": "sweep", "namespace": "ml"})
	assert.Assert(t, !result.IsError, text)
}
