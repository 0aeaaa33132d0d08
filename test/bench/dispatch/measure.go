package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

const (
	management = "management"
	worker     = "worker"
	// beat is the type of the changed condition: the Job controller leaves it alone, and dispatch
	// copies it like any other.
	beat = "bench.example/Beat"
)

type measured struct {
	lags []time.Duration
	// peak is the largest resident set of the plugin, in bytes.
	peak int64
}

// dispatchRun is one dispatch of that many Jobs, with the times at which each change was seen.
type dispatchRun struct {
	namespace       string
	jobs            int
	origins, worker kubernetes.Interface

	mu sync.Mutex
	// there and here are the times at which the change with a number was seen on the mirror and
	// on the origin.
	there, here map[int]time.Time
	lags        []time.Duration
	all         chan struct{}
}

func measure(ctx context.Context, set *clusters.Set, n int) (*measured, error) {
	r := &dispatchRun{namespace: fmt.Sprintf("bench-%d", n), jobs: n, there: map[int]time.Time{}, here: map[int]time.Time{}, all: make(chan struct{})}
	var err error
	if r.origins, err = connect(set, management); err != nil {
		return nil, err
	}
	if r.worker, err = connect(set, worker); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	if _, err := r.worker.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	var jobs []*batchv1.Job
	for i := range n {
		jobs = append(jobs, fixture.New(r.namespace, fmt.Sprintf("job-%03d", i), fixture.Suspended(), fixture.Realistic(),
			func(j *batchv1.Job) {
				j.Spec.Template.Spec.Volumes = nil
				j.Spec.Template.Spec.Containers[0].VolumeMounts = nil
			},
			fixture.ManagedBy(string(delegation.Dispatch)), fixture.Labels("bench", "yes")))
	}
	if err := fixture.Create(ctx, r.origins, jobs...); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, *plugin, "dispatch", "--kubeconfig", set.Kubeconfig, "--context", management, "--to", worker,
		"-n", r.namespace, "-l", "bench=yes", "-o", "json")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = errors.Join(r.follow(ctx, out, n), cmd.Process.Signal(syscall.SIGINT))
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	m := &measured{lags: r.lags}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.peak = usage.Maxrss * 1024
	}
	return m, err
}

func connect(set *clusters.Set, name string) (kubernetes.Interface, error) {
	config, err := set.Config(name)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}

// follow waits until every mirror and its origin are reported as suspended, and then changes the
// mirrors, one after the other.
func (r *dispatchRun) follow(ctx context.Context, out io.Reader, n int) error {
	suspended := map[string]bool{}
	lines := bufio.NewScanner(out)
	for len(suspended) < n && lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, `"event":"StatusCopied"`) && strings.Contains(line, `"status":"Suspended"`) {
			_, name, _ := strings.Cut(line, `"name":"`)
			name, _, _ = strings.Cut(name, `"`)
			suspended[name] = true
		}
	}
	if len(suspended) < n {
		return fmt.Errorf("only %d of %d Jobs were dispatched", len(suspended), n)
	}
	go func() {
		for lines.Scan() {
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for _, side := range []struct {
		client kubernetes.Interface
		saw    func(number int, at time.Time)
	}{{r.worker, r.sawThere}, {r.origins, r.sawHere}} {
		if err := r.watch(ctx, side.client, side.saw); err != nil {
			return err
		}
	}
	if err := r.change(ctx, n); err != nil {
		return err
	}
	select {
	case <-r.all:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d changes came through: %w", len(r.lags), *changes, ctx.Err())
	}
}

// change changes one mirror after the other, at the given rate.
func (r *dispatchRun) change(ctx context.Context, n int) error {
	ticker := time.NewTicker(time.Second / time.Duration(*rate))
	defer ticker.Stop()
	for i := range *changes {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True","message":"%d"}]}}`, beat, i)
		if _, err := r.worker.BatchV1().Jobs(r.namespace).Patch(ctx, fmt.Sprintf("job-%03d", i%n), types.StrategicMergePatchType,
			[]byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}

func (r *dispatchRun) watch(ctx context.Context, client kubernetes.Interface, saw func(int, time.Time)) error {
	list, err := client.BatchV1().Jobs(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watching, err := client.BatchV1().Jobs(r.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, watching.Stop)
	go func() {
		for e := range watching.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok {
				continue
			}
			for _, c := range job.Status.Conditions {
				number, err := strconv.Atoi(c.Message)
				if c.Type == beat && err == nil {
					saw(number, time.Now())
				}
			}
		}
	}()
	return nil
}

func (r *dispatchRun) sawThere(number int, at time.Time) { r.saw(r.there, number, at) }

// sawHere records a change on the origin, and with it earlier changes of the same Job that it
// replaced.
func (r *dispatchRun) sawHere(number int, at time.Time) {
	for n := number % r.jobs; n <= number; n += r.jobs {
		r.saw(r.here, n, at)
	}
}

// saw records when a change was first seen on one of the sides. The two are watched
// independently, and the origin's change may arrive first.
func (r *dispatchRun) saw(side map[int]time.Time, number int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := side[number]; before {
		return
	}
	side[number] = at
	there, onMirror := r.there[number]
	here, onOrigin := r.here[number]
	if !onMirror || !onOrigin {
		return
	}
	r.lags = append(r.lags, here.Sub(there))
	if len(r.lags) == *changes {
		close(r.all)
	}
}
