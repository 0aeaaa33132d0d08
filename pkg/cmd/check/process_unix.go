//go:build !windows

package check

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// endWithChildren starts a command in a process group of its own, so that the end of its context asks the command
// and its children to end. The returned function kills what is left of them.
func endWithChildren(cmd *exec.Cmd) (kill func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	return func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
