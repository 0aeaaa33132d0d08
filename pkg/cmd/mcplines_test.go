package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestMCPAnswersInvalidLines: mcp answers a line that is no message with the error of JSON-RPC 2.0, and
// answers the messages after it.
func TestMCPAnswersInvalidLines(t *testing.T) {
	const ping = `{"jsonrpc": "2.0", "id": 7, "method": "ping"}`
	for line, want := range map[string]string{
		"hello":                       `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the line is not JSON"}}`,
		`{"jsonrpc": "2.0", "id": 1`:  `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the line is not JSON"}}`,
		ping + " " + ping:             `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the line is not JSON"}}`,
		"42":                          `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the line is no JSON-RPC 2.0 message"}}`,
		`{"id": 1, "method": "ping"}`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the line is no JSON-RPC 2.0 message"}}`,
		"[" + ping + "]":              `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: send one message per line, without a list"}}`,
		"":                            "",
	} {
		for _, end := range []string{"\n", "\r\n"} {
			in, client := io.Pipe()
			server, out := io.Pipe()
			env := util.Environment{
				IOStreams: genericiooptions.IOStreams{In: in, Out: out, ErrOut: io.Discard},
				Program:   "kubectl-jobs_managedby", Args: []string{"mcp", "--from", exampleFleet},
				LookupEnv: func(string) (string, bool) { return "", false }, Clock: &skippingClock{},
			}
			ended := make(chan error, 1)
			go func() {
				root, _ := newRootCommand(env)
				err := root.ExecuteContext(context.WithoutCancel(t.Context()))
				_ = out.Close()
				ended <- err
			}()
			go func() { _, _ = io.WriteString(client, line+end+ping+end) }()
			answers := bufio.NewScanner(server)
			if want != "" {
				assert.Assert(t, answers.Scan(), line)
				assert.Equal(t, answers.Text(), want, line)
			}
			assert.Assert(t, answers.Scan(), line)
			var pong struct {
				ID    int
				Error any
			}
			assert.NilError(t, json.Unmarshal(answers.Bytes(), &pong))
			assert.Assert(t, pong.ID == 7 && pong.Error == nil, answers.Text())
			assert.NilError(t, client.Close())
			assert.Assert(t, !answers.Scan(), answers.Text())
			assert.NilError(t, <-ended)
		}
	}
}
