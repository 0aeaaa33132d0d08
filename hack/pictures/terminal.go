package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// end is written after the output to mark its end: what happens to unread output when a terminal
// is closed differs between systems.
const end = 0

// onTerminal runs the plugin on a terminal of that many columns, in colour, and returns its
// output.
func onTerminal(args []string, columns uint16) ([]byte, error) {
	screen, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer func() { _, _ = screen.Close(), tty.Close() }()
	if err := pty.Setsize(screen, &pty.Winsize{Rows: 50, Cols: columns}); err != nil {
		return nil, fmt.Errorf("size the terminal: %w", err)
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := bufio.NewReader(screen).ReadBytes(end)
		read <- result{text, err}
	}()
	if err := call(tty, append(args, "--color", "always")); err != nil {
		return nil, err
	}
	if _, err := tty.Write([]byte{end}); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	all := <-read
	if all.err != nil {
		return nil, fmt.Errorf("read from the terminal: %w", all.err)
	}
	// The terminal replaces each line feed by a carriage return and a line feed.
	return bytes.ReplaceAll(bytes.TrimSuffix(all.text, []byte{end}), []byte("\r\n"), []byte("\n")), nil
}

// output runs the plugin and returns its output.
func output(args []string) ([]byte, error) {
	var out bytes.Buffer
	err := call(&out, args)
	return out.Bytes(), err
}

// call runs the plugin.
func call(out io.Writer, args []string) error {
	var errOut bytes.Buffer
	code := cmd.Run(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: &errOut},
		Program:   "kubectl-jobs_managedby",
		Args:      args,
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock:     clock.RealClock{},
	})
	if code != util.ExitOK && code != util.ExitFindings {
		return fmt.Errorf("exit code %d: %s", code, errOut.String())
	}
	return nil
}
