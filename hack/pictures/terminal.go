package main

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// end is written behind the output, so that the reader knows that it has all of
// it: what closing a terminal does to what nobody has read yet differs from system
// to system.
const end = 0

// onTerminal runs the plugin on a terminal of so many columns, in colour, and
// returns what it writes there.
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
	var told bytes.Buffer
	code := cmd.Run(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: tty, ErrOut: &told},
		Program:   "kubectl-jobs_managedby",
		Args:      append(args, "--color", "always"),
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock:     clock.RealClock{},
	})
	if code != util.ExitOK && code != util.ExitFindings {
		return nil, fmt.Errorf("exit code %d: %s", code, told.String())
	}
	if _, err := tty.Write([]byte{end}); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	all := <-read
	if all.err != nil {
		return nil, fmt.Errorf("read from the terminal: %w", all.err)
	}
	// The terminal makes each line feed a carriage return and a line feed.
	return bytes.ReplaceAll(bytes.TrimSuffix(all.text, []byte{end}), []byte("\r\n"), []byte("\n")), nil
}
