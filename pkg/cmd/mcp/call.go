package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Caller runs a command in this process, and returns the messages of its error and its exit code.
type Caller func(ctx context.Context, env util.Environment, flags *util.GlobalFlags) (messages []string, code int)

// toolHandler is a tool with what its calls need.
type toolHandler struct {
	*server
	tool tool
	// command is the command that the tool runs, for its flags; each call creates its own.
	command *cobra.Command
}

// handle answers a call.
func (o *toolHandler) handle(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	given, err := parse(o.command, o.tool.parameters, request.Params.Arguments)
	if err != nil {
		return o.failure(err), nil
	}
	within, err := o.contextsFor(given)
	if err == nil {
		err = o.stayInNamespace(given)
	}
	if err != nil {
		return o.failure(err), nil
	}
	result := o.run(ctx, given, within)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return result, nil
}

// contextsFor returns the contexts that a call may read.
func (o *toolHandler) contextsFor(given values) ([]string, error) {
	patterns := given.list(contextsParameter)
	if len(patterns) == 0 {
		return o.contexts, nil
	}
	selected, err := fleet.Select(patterns, o.contexts)
	if unknown := (*fleet.UnknownContextError)(nil); errors.As(err, &unknown) {
		unknown.Where = "what this server may read"
	}
	return selected, err
}

// stayInNamespace returns an error for a call that would leave the namespace that the server was
// started for. It sets that namespace in all other calls.
func (o *toolHandler) stayInNamespace(given values) error {
	takes := slices.ContainsFunc(o.tool.parameters, func(p parameter) bool { return p.name == "namespace" })
	if o.namespace == "" || !takes {
		return nil
	}
	other := given.text("namespace")
	switch {
	case given.isTrue("all_namespaces"), other != "" && other != o.namespace:
		return fmt.Errorf("this server may only read namespace %q", o.namespace)
	case o.tool.name == "queues" && given.isTrue("summary"):
		return fmt.Errorf("summary shows whole clusters, and this server may only read namespace %q", o.namespace)
	}
	given["namespace"] = o.namespace
	return nil
}

// run runs the tool's command and returns its output as a result.
func (o *toolHandler) run(ctx context.Context, given values, within []string) *mcp.CallToolResult {
	var document, table bytes.Buffer
	notes := &lockedBuffer{}
	flags, arguments := given.words(o.tool.parameters)
	env := o.env
	env.In, env.Out, env.ErrOut, env.TableOut = strings.NewReader(""), &document, notes, &table
	env.Args = slices.Concat([]string{o.tool.name}, serverFlagWords(o.given, o.command), flags, []string{"--output=json", "--"}, arguments)
	global := util.NewGlobalFlags()
	global.Within, global.ReadOnly = within, true
	messages, code := o.call(ctx, env, global)
	isAnswer := code == util.ExitOK || code == util.ExitFindings || code == util.ExitPartial
	if !isAnswer || document.Len() == 0 {
		reports := []string{strings.TrimSuffix(notes.String(), "\n")}
		for _, m := range messages {
			// The reference to help is for people at a terminal.
			m, _, _ = strings.Cut(m, "\nSee '")
			reports = append(reports, "error: "+m)
		}
		return o.failureText(strings.TrimSpace(strings.Join(reports, "\n")))
	}
	return o.answer(document.Bytes(), table.String(), notes.String())
}

// lockedBuffer is a buffer that several contexts may write to at once.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
