package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command measures a program from start to end. Its output is counted, and its errors are shown.
func Command(ctx context.Context, program string, args ...string) func() (Sample, error) {
	return Exits(ctx, 0, program, args...)
}

// Exits is Command for a program that ends with the given exit code.
func Exits(ctx context.Context, code int, program string, args ...string) func() (Sample, error) {
	return func() (Sample, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		var out counter
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		start := time.Now()
		err := cmd.Run()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			return Sample{}, fmt.Errorf("%s: %w", cmd, cmp.Or(err, errors.New("it succeeded")))
		}
		s := Sample{Wall: time.Since(start), Bytes: int64(out)}
		s.Peak, err = peakOf(cmd)
		return s, err
	}
}

// peakOf returns the largest resident set of a process that has ended, in bytes. A process
// inherits its parent's peak at its start, so the parent's has to be lower.
func peakOf(cmd *exec.Cmd) (int64, error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, err
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || usage.Maxrss <= own.Maxrss {
		return 0, fmt.Errorf("cannot measure how much memory %s took: the benchmark itself took more", cmd)
	}
	return usage.Maxrss * 1024, nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
