package tutorial

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// stage is a directory in which the commands of a reader find the same as in a clone: bin with the
// results of make build, the files that they name, and make itself.
type stage struct {
	t   *testing.T
	dir string
	// stdin and output belong to the shell of the reader.
	stdin  io.Writer
	output *bufio.Reader
}

// makeScript replaces make once everything is built. It does the rest of what the Makefile does, in
// this directory, and stores the process ID for cleanup.
const makeScript = `#!/bin/sh
case "$*" in
demo) ;;
demo-down) exec ./demo -down ;;
*) echo "make $*: the tutorial needs nothing but demo and demo-down" >&2; exit 2 ;;
esac
./demo &
echo $! >demo.pid
wait $!
code=$?
rm demo.pid
exit $code
`

// cleanup waits until its standard input ends, because it is closed or because the test has died,
// and then ends all processes that were started here.
const cleanup = `
cat >/dev/null
if [ -f demo.pid ]; then
	pid=$(cat demo.pid)
	kill "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
fi
./demo -down
`

// newStage builds the demo and creates the stage, which is removed after the test.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, dir: dir}
	root, err := filepath.Abs("../..")
	assert.NilError(t, err)
	for name, target := range map[string]string{"bin/clusters": "bin/clusters", "bin/kueue": "bin/kueue", "test/demo": "test/demo", "examples": "examples"} {
		link := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		assert.NilError(t, os.Symlink(filepath.Join(root, target), link))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "demo"), "./test/demo")
	build.Dir = root
	// As in make build: the race detector, with which this test is built, needs cgo.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "tools"), 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "tools", "make"), []byte(makeScript), 0o755))

	guard := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", cleanup)
	guard.Dir = dir
	// The Ctrl-C that ends the test must not reach it.
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := guard.StdinPipe()
	assert.NilError(t, err)
	assert.NilError(t, guard.Start())
	t.Cleanup(func() {
		assert.NilError(t, stdin.Close())
		assert.NilError(t, guard.Wait())
	})
	s.openShell()
	return s
}

// openShell starts the shell of the reader, which ends with the test.
func (s *stage) openShell() {
	s.t.Helper()
	shell := exec.CommandContext(s.t.Context(), "sh")
	shell.Dir = s.dir
	// No other variables of the user who runs the test, such as KUBECONFIG.
	shell.Env = []string{
		"HOME=" + s.dir, "TMPDIR=" + os.TempDir(), "TZ=UTC",
		"PATH=" + filepath.Join(s.dir, "tools") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	stdin, err := shell.StdinPipe()
	assert.NilError(s.t, err)
	output, err := shell.StdoutPipe()
	assert.NilError(s.t, err)
	assert.NilError(s.t, shell.Start())
	s.stdin, s.output = stdin, bufio.NewReader(output)
	s.t.Cleanup(func() {
		_ = stdin.Close()
		_ = shell.Wait()
	})
}

// over precedes the exit code that the shell prints after a command.
const over = "=== the command is over: "

// run runs a command in the shell of the reader, and returns its output as a terminal would show
// it, and its exit code.
func (s *stage) run(command string) (output string, code int) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.stdin, "{ %s\n} </dev/null 2>&1\nprintf '\\n%s%%d\\n' $?\n", command, over)
	assert.NilError(s.t, err)
	var all strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		assert.NilError(s.t, err, "the shell has ended in %s: %s", command, &all)
		if last, isOver := strings.CutPrefix(line, over); isOver {
			code, err := strconv.Atoi(strings.TrimSpace(last))
			assert.NilError(s.t, err)
			return strings.TrimSuffix(all.String(), "\n"), code
		}
		all.WriteString(line)
	}
}

// await runs a command until it prints a text.
func (s *stage) await(command, text string) {
	s.t.Helper()
	output := ""
	err := poll.Until(s.t.Context(), poll.Limit, func(context.Context) (bool, error) {
		output, _ = s.run(command)
		return strings.Contains(output, text), nil
	})
	assert.NilError(s.t, err, "%s did not print %q, but\n%s", command, text, output)
}

// read reads a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	assert.NilError(t, err)
	return string(text)
}
