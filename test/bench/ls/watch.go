package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

const (
	// watched is how long a watch is measured, in two halves, which show growth.
	watched = time.Minute
	// settled is the time before that, for its list and the first changes.
	settled = 15 * time.Second
	// changeRate is the number of changes per second.
	changeRate = 200
)

// watch measures ls -w on a terminal while Jobs change.
func (b *bench) watch(set *clusters.Set, plugin string) ([]figures.Figure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	changing := exec.CommandContext(b.ctx, self, "-kubeconfig", set.Kubeconfig, "-change", (settled + watched + 10*time.Second).String())
	changing.Stderr = os.Stderr
	if err := changing.Start(); err != nil {
		return nil, err
	}
	defer func() { _, _ = changing.Process.Kill(), changing.Wait() }()

	cmd := exec.CommandContext(b.ctx, plugin, "ls", "-A", "-w", "--kubeconfig", set.Kubeconfig)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 160})
	if err != nil {
		return nil, err
	}
	defer func() { _ = terminal.Close() }()
	var screen draws
	go screen.count(terminal)

	var looks [3]usage
	for i, wait := range []time.Duration{settled, watched / 2, watched / 2} {
		if err := pause(b.ctx, wait); err != nil {
			return nil, err
		}
		if looks[i], err = usageOf(cmd.Process.Pid); err != nil {
			return nil, err
		}
		looks[i].draws = screen.soFar()
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return nil, err
	}
	_ = cmd.Wait()
	load := (looks[2].cpu - looks[0].cpu).Seconds() / watched.Seconds() * 100
	redraws := float64(looks[2].draws-looks[0].draws) / watched.Seconds()
	growth := float64(looks[2].resident-looks[1].resident) / 1e6
	fmt.Printf("ls -A -w, %d changes a second, for %s: %.0f %% of a core, %.1f redraws a second, %.0f MB, then %.0f MB\n\n",
		changeRate, watched, load, redraws, float64(looks[1].resident)/1e6, float64(looks[2].resident)/1e6)
	what := fmt.Sprintf("ls -A -w, %d changes a second, for %s: ", changeRate, watched)
	return []figures.Figure{
		{What: what + "computing", Value: fmt.Sprintf("%.0f %%", load), Is: load, Unit: "% of a core", Goal: 20, Why: "each redraw lists, pairs and lays out all Jobs again."},
		{What: what + "redraws", Value: fmt.Sprintf("%.1f", redraws), Is: redraws, Unit: "a second", Goal: 5},
		{
			What: what + "memory in its second half", Value: fmt.Sprintf("%.0f MB", float64(looks[2].resident)/1e6),
			Baseline: fmt.Sprintf("in its first half: %.0f MB", float64(looks[1].resident)/1e6), Is: growth, Unit: "MB more", Goal: 5,
		},
	}, nil
}

// usage has what a process has used so far.
type usage struct {
	cpu      time.Duration
	resident int64
	draws    int
}

// usageOf reads the kernel's figures of a process (proc_pid_stat(5), proc_pid_statm(5)).
func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	// The fields after the name, which may have any characters.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var user, system, pages int64
	if _, err := fmt.Sscan(string(bytes.Join([][]byte{fields[11], fields[12], fields[21]}, []byte(" "))), &user, &system, &pages); err != nil {
		return usage{}, err
	}
	const ticks = 100 // USER_HZ, on all Linux platforms of Go.
	return usage{cpu: time.Duration(user+system) * time.Second / ticks, resident: pages * int64(os.Getpagesize())}, nil
}

// draws counts how often a screen is drawn: each drawing ends with clearing the rest of the
// screen.
type draws struct {
	mu sync.Mutex
	n  int
}

func (d *draws) count(terminal *os.File) {
	end, buffer := []byte("\x1b[J"), make([]byte, 64<<10)
	var before []byte
	for {
		n, err := terminal.Read(buffer)
		text := slices.Concat(before, buffer[:n])
		d.mu.Lock()
		d.n += bytes.Count(text, end)
		d.mu.Unlock()
		before = bytes.Clone(text[max(0, len(text)-len(end)+1):])
		if err != nil {
			return
		}
	}
}

func (d *draws) soFar() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// change changes the status of Jobs of cluster one for some time.
func change(ctx context.Context, kubeconfig string, lasts time.Duration) error {
	config, err := (&clusters.Set{Kubeconfig: kubeconfig}).Config("one")
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	jobs, err := client.BatchV1().Jobs(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "team=research"})
	if err != nil {
		return err
	}
	names := make([]types.NamespacedName, len(jobs.Items))
	for i := range jobs.Items {
		names[i] = types.NamespacedName{Namespace: jobs.Items[i].Namespace, Name: jobs.Items[i].Name}
	}
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	ticker := time.NewTicker(time.Second / changeRate)
	defer ticker.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 32)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			at := names[rand.IntN(len(names))]
			patch := fmt.Sprintf(`{"spec":{"parallelism":%d}}`, n%50+1)
			_, _ = client.BatchV1().Jobs(at.Namespace).Patch(ctx, at.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		})
	}
}
