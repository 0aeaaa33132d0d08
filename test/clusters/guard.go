package clusters

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// remove ends the adopted processes, takes down all clusters of the directory $2 with the
// programs in $1, then removes the directory $3. It waits for a kwokctl that was still creating a
// cluster when its parent died, because it would miss the processes that kwokctl starts later.
const remove = `
export KWOK_WORKDIR="$2"
runs() {
	state=$(ps -o stat= -p "$1")
	test -n "$state" && test "${state#Z}" = "$state"
}
end() {
	kill "$1" 2>/dev/null
	tries=0
	while runs "$1"; do
		tries=$((tries + 1))
		[ "$tries" -lt 50 ] || kill -9 "$1" 2>/dev/null
		sleep 0.1
	done
}
for file in "$3"/adopted/*; do
	[ -f "$file" ] && end "$(cat "$file")"
done
if [ -f "$3/kwokctl.pid" ]; then
	while kill -0 "$(cat "$3/kwokctl.pid")" 2>/dev/null; do sleep 0.2; done
fi
for cluster in "$2"/clusters/*/; do
	[ -d "$cluster" ] || continue
	"$1/kwokctl" --name "$(basename "$cluster")" delete cluster --kubeconfig "$3/kubeconfig" >/dev/null 2>&1
done
rm -rf "$3"
`

func removal(programs, dir string) *exec.Cmd {
	return exec.CommandContext(context.Background(), "sh", "-c", remove, "sh", programs, workdir(dir), dir)
}

// guard is a process that takes the clusters down when its standard input ends: when release
// closes it, or when this process dies by a panic, a signal or a test's timeout, after which no
// deferred call runs.
type guard struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	output bytes.Buffer
}

func newGuard(s *Set) (*guard, error) {
	g := &guard{cmd: exec.CommandContext(context.Background(), "sh", "-c", "cat >/dev/null\n"+remove, "sh", s.Programs, workdir(s.dir), s.dir)}
	// Not reached by the Ctrl-C that ends this process.
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	g.cmd.Stdout, g.cmd.Stderr = &g.output, &g.output
	stdin, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	g.stdin = stdin
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the clusters: %w", err)
	}
	return g, nil
}

func (g *guard) release() error {
	_ = g.stdin.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("take down the clusters: %w: %s", err, &g.output)
	}
	return nil
}
