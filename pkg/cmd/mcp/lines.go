package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineReader passes on the lines of an MCP client that are JSON-RPC messages. It answers any other line
// with an error, and continues, as JSON-RPC 2.0 wants it (https://www.jsonrpc.org/specification,
// section 5.1; MCP: one message per line). The protocol library would end at such a line.
type lineReader struct {
	in  *bufio.Reader
	out io.Writer
	// rest is the part of a line that was not read yet.
	rest []byte
}

// newLineReader returns a reader of the messages from in, which answers on out.
func newLineReader(in io.Reader, out io.Writer) *lineReader {
	return &lineReader{in: bufio.NewReader(in), out: out}
}

// Read reads from the next valid line. It returns the errors of in and out, and one for a line that is
// longer than the library accepts.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		if len(line) > 0 {
			if code, problem := problemOf(line); problem != "" {
				if err := r.refuse(code, problem); err != nil {
					return 0, err
				}
			} else {
				line = append(line, '\n')
				r.rest = line
				break
			}
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line returns the next line without white space around it.
func (r *lineReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > mcp.DefaultMaxLineLength {
			return nil, fmt.Errorf("a line is longer than %d bytes", mcp.DefaultMaxLineLength)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

// problemOf returns the code and the text of the error for a line, "" if it has one message.
func problemOf(line []byte) (code int64, problem string) {
	if !json.Valid(line) {
		return jsonrpc.CodeParseError, "Parse error: the line is not JSON"
	}
	if line[0] == '[' {
		// Newer versions of the protocol have no batches, and the library ends at one.
		return jsonrpc.CodeInvalidRequest, "Invalid Request: send one message per line, without a list"
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return jsonrpc.CodeInvalidRequest, "Invalid Request: the line is no JSON-RPC 2.0 message"
	}
	return 0, ""
}

// refuse answers a line whose id is unknown.
func (r *lineReader) refuse(code int64, problem string) error {
	// The library's Response cannot have the id null.
	answer, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, &jsonrpc.Error{Code: code, Message: problem}})
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(answer, '\n'))
	return err
}

// lockedWriter writes one message after the other. Close leaves its writer open.
type lockedWriter struct {
	lock sync.Mutex
	out  io.Writer
}

// Write writes a whole message.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.out.Write(p)
}

// Close does nothing.
func (w *lockedWriter) Close() error { return nil }
