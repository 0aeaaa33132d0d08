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

// deadly runs a dispatcher until its Jobs have ended, however often it dies.
type deadly struct {
	t      *testing.T
	chance *rand.Rand
	args   []string
	// left is how often it is to be killed, and release is called when it was.
	left    int
	release func()
	// atPin has a function called before the next mirror is noted on its origin, which does not
	// happen then; nil takes that back.
	atPin func(func())
}

// run says how often it was killed.
func (r *deadly) run(ctx context.Context) (killed int) {
	var releasing sync.WaitGroup
	defer releasing.Wait()
	for attempt := 0; ; attempt++ {
		if r.left == 0 && r.release != nil {
			releasing.Go(r.release)
			r.release = nil
		}
		var told bytes.Buffer
		cmd := command(r.t, r.args...)
		cmd.Stderr = &told
		// Somebody else, somewhere else.
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
			r.t.Errorf("it never came to its end: %d: %s", code, told.String())
			return killed
		case code != 1:
			r.t.Errorf("it ended with %d: %s", code, told.String())
			return killed
		default:
			// What it needs to begin with cannot be had now; it has said so.
			if strings.TrimSpace(told.String()) == "" {
				r.t.Errorf("it ended with 1 and did not say why")
			}
			pause(ctx, time.Second)
		}
	}
}

// dies has a process be killed: within four seconds of its beginning, or between the creation
// of a mirror and its note on the origin, or within four seconds of when what it returns is
// called, which is when it works; at the latest a while after the Lease of the last one has run
// out.
func (r *deadly) dies(cmd *exec.Cmd) (works func()) {
	sent := []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL}[r.chance.IntN(4)]
	within := time.Duration(r.chance.IntN(4000)) * time.Millisecond
	// That it may have ended is none of its concern.
	kill := func() { _ = cmd.Process.Signal(sent) }
	switch r.chance.IntN(3) {
	case 0:
		time.AfterFunc(within, kill)
		return func() {}
	case 1:
		// Between the creation of a mirror and the note of it.
		r.atPin(func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		time.AfterFunc(25*time.Second, kill)
		return func() {}
	}
	time.AfterFunc(25*time.Second, kill)
	return sync.OnceFunc(func() { time.AfterFunc(within, kill) })
}

// ended has the pods of a mirror succeed, as often as there are some, until it is complete.
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
