package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// killedRunner runs a dispatcher until its Jobs have ended, however often it is killed.
type killedRunner struct {
	t      *testing.T
	chance *rand.Rand
	args   []string
	// left is how often it is still to be killed, and release is called after the last time.
	left    int
	release func()
	// atPin sets a function to call instead of the next patch that names a mirror on its origin;
	// nil removes it.
	atPin func(func())
}

// run returns how often it was killed.
func (r *killedRunner) run(ctx context.Context) (killed int) {
	var releasing sync.WaitGroup
	defer releasing.Wait()
	for attempt := 0; ; attempt++ {
		if r.left == 0 && r.release != nil {
			releasing.Go(r.release)
			r.release = nil
		}
		var stderr bytes.Buffer
		cmd := command(r.t, r.args...)
		cmd.Stderr = &stderr
		// Another user on another machine.
		cmd.Env = append(cmd.Env, fmt.Sprintf("USER=user-%d", attempt), "TZ="+[]string{"UTC", "Asia/Tokyo", "America/New_York"}[attempt%3])
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			r.t.Errorf("start: %v", err)
			return killed
		}
		die := func() {}
		if r.left > 0 {
			die = r.dies(cmd)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e dispatch.Event
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == dispatch.LeaseTaken {
				die()
			}
		}
		_ = cmd.Wait()
		switch code := cmd.ProcessState.ExitCode(); {
		case code == 0:
			return killed
		case r.left > 0 && (code == -1 || code > 128):
			killed++
			r.left--
		case ctx.Err() != nil || attempt > 500:
			r.t.Errorf("the dispatch did not end in time: %d: %s", code, stderr.String())
			return killed
		case code != 1:
			r.t.Errorf("the dispatch ended with %d: %s", code, stderr.String())
			return killed
		default:
			// It could not start because of the fault, and has printed an error.
			if strings.TrimSpace(stderr.String()) == "" {
				r.t.Errorf("exit code 1 without an error message")
			}
			pause(ctx, time.Second)
		}
	}
}

// dies kills a process: within four seconds after its start, or between the creation of a mirror
// and the patch that names it on the origin, or within four seconds after works was called, which
// means that it dispatches. The kill comes at the latest a while after the last Lease has expired.
func (r *killedRunner) dies(cmd *exec.Cmd) (works func()) {
	sent := []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL}[r.chance.IntN(4)]
	within := time.Duration(r.chance.IntN(4000)) * time.Millisecond
	// The process may have ended already.
	kill := func() { _ = cmd.Process.Signal(sent) }
	switch r.chance.IntN(3) {
	case 0:
		time.AfterFunc(within, kill)
		return func() {}
	case 1:
		// Between the creation of a mirror and the patch that names it.
		r.atPin(func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		time.AfterFunc(25*time.Second, kill)
		return func() {}
	}
	time.AfterFunc(25*time.Second, kill)
	return sync.OnceFunc(func() { time.AfterFunc(within, kill) })
}

// ended ends the Pods of a mirror with success, whenever there are some, until it is complete.
func ended(ctx context.Context, t *testing.T, ns, name string) {
	t.Helper()
	c := client(t, worker1)
	_ = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := c.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
		if err != nil {
			return false, nil //nolint:nilerr // The API server may be away.
		}
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning {
				const over = `{"status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": {"running": null, "terminated": {"exitCode": 0}}}]}}`
				_, _ = c.CoreV1().Pods(ns).Patch(ctx, p.Name, types.StrategicMergePatchType, []byte(over), metav1.PatchOptions{}, "status")
			}
		}
		job, err := c.BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
		return err == nil && job.Status.CompletionTime != nil, nil
	})
}
