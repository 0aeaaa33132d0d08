package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Stop kills the API server of a cluster, so that connections are refused until Start. The rest
// of the cluster continues, as in a real outage. Only one cluster at a time can be stopped.
func (s *Set) Stop(ctx context.Context, name string) error {
	return s.stop(ctx, name, apiServer)
}

// StopControllers does the same for the controller manager: until Start, nothing creates the pods
// of Jobs, or counts them.
func (s *Set) StopControllers(ctx context.Context, name string) error {
	return s.stop(ctx, name, "kube-controller-manager")
}

const apiServer = "kube-apiserver"

func (s *Set) stop(ctx context.Context, name, program string) error {
	// Otherwise a cluster that comes up meanwhile may take the port as unused.
	free, err := lockPorts(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(ctx, name, program); err != nil {
		free()
		return fmt.Errorf("stop %s of cluster %s: %w", program, name, err)
	}
	s.started = free
	return nil
}

func (s *Set) kill(ctx context.Context, name, program string) error {
	pid, file, err := s.pid(name, program)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	// It keeps its port until all its memory is released, which takes a while on a loaded machine;
	// a process started meanwhile ends, because the port is in use.
	err = wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return isGone(pid), nil })
	if err != nil {
		return fmt.Errorf("wait for the end of process %d: %w", pid, err)
	}
	// kwokctl starts programs without such a file.
	return os.Remove(file)
}

// isGone reports whether a process has ended. A zombie, whose parent has not waited for it, holds
// nothing, but only once all of its threads have ended: each of them keeps the ports open.
func isGone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := bytes.Cut(stat, []byte(") "))
	if err != nil || !found || !bytes.HasPrefix(state, []byte("Z")) {
		return false
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) <= 1
}

// Freeze stops the API server of a cluster from doing anything until thaw is called: connections
// stay open, and no data comes over them.
func (s *Set) Freeze(name string) (thaw func(), err error) {
	pid, _, err := s.pid(name, apiServer)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		return nil, fmt.Errorf("freeze the API server of cluster %s: %w", name, err)
	}
	// If it has died meanwhile, others notice.
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }, nil
}

// pid returns the process of a cluster's program, and the file with its ID.
func (s *Set) pid(name, program string) (pid int, file string, err error) {
	file = filepath.Join(workdir(s.dir), "clusters", name, "pids", program+".pid")
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, "", err
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return 0, "", fmt.Errorf("read %s: %w", file, err)
	}
	return pid, file, nil
}

// Start starts what Stop or StopControllers has ended, on the same port and with the same data,
// and waits until it answers.
func (s *Set) Start(ctx context.Context, name string) error {
	defer s.started()
	if err := s.kwokctl(ctx, name, "start", "cluster", "--wait", "2m"); err != nil {
		return err
	}
	// kwokctl does not report an API server that has ended again.
	config, err := s.Config(name)
	if err != nil {
		return err
	}
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = client.Get().AbsPath("/readyz").Do(ctx).Error()
		return last == nil, nil
	})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(workdir(s.dir), "clusters", name, "logs", apiServer+".log"))
		return fmt.Errorf("the API server of cluster %s is not ready: %w: %s", name, errors.Join(err, last), log[max(0, len(log)-1000):])
	}
	return nil
}

// lockPorts waits until no other process of this user reserves unused ports, or looks for some:
// two kwokctl that look for unused ports at the same time find the same ones. It excludes others
// until free is called, or this process has ended.
func lockPorts(ctx context.Context) (free func(), err error) {
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("jobmanagedby-clusters-%d.lock", os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Closing it releases the lock.
	free = func() { _ = lock.Close() }
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		free()
		return nil, fmt.Errorf("wait for others that bring up clusters, by %s: %w", lock.Name(), err)
	}
	return free, nil
}
