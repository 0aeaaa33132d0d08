package kueue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

const (
	management = "management"
	worker1    = "worker-1"
	worker2    = "worker-2"
)

// queue is the LocalQueue of each namespace.
const queue = "batch"

// namespaces are the namespaces of the tests. Each has its own ClusterQueue on every cluster, so
// that tests can run in parallel.
var namespaces = []string{"burst", "too-large", "gone", "lost", "kueue-stopped", "idle", "churn", "churn-slow", "ended", "moved", "preempted", "mcp"}

// set are the clusters, and multiKueue runs on them.
var (
	set        *clusters.Set
	multiKueue *kueue.MultiKueue
)

// TestMain makes this test binary available as commands, so that kubectl finds the plugin on PATH.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cmd.Run(util.ThisProcess())) }
	testscript.Main(withKueue{m}, map[string]func(){"kubectl-jobs_managedby": plugin})
}

// withKueue starts clusters and runs the tests.
type withKueue struct{ m *testing.M }

func (w withKueue) Run() int {
	code, err := w.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (w withKueue) run(ctx context.Context) (code int, err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-kueue-")
	if err != nil {
		return 0, err
	}
	set, err = clusters.Up(ctx, clusters.Config{
		Programs: "../../bin/clusters", Dir: dir, Names: []string{management, worker1, worker2}, Nodes: 2,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	multiKueue, err = kueue.Start(ctx, set, kueue.Config{
		Program: cmp.Or(os.Getenv("KUEUE"), "../../bin/kueue/current"),
		Manager: management, Workers: map[string]string{worker1: worker1, worker2: worker2},
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, multiKueue.Stop(ctx)) }()
	var group errgroup.Group
	for _, ns := range namespaces {
		group.Go(func() error {
			return multiKueue.AddQueues(ctx, kueue.Queues{
				ClusterQueue: ns, LocalQueue: queue, Namespaces: []string{ns},
				Flavor: "default", Resource: "cpu", Quotas: map[string]string{management: "40", worker1: "8", worker2: "8"},
			})
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return w.m.Run(), nil
}

// kubectl runs kubectl, with the plugin on PATH.
func kubectl(ctx context.Context, stdin string, args ...string) (stdout string, err error) {
	c := set.Kubectl(ctx, args...)
	var out, errOut bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errOut
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, &errOut)
	}
	return out.String(), nil
}
