// Package filled is the frame of benchmarks that bring up clusters, fill them with Jobs in a
// separate process, and then measure the plugin there.
package filled

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

// Benchmark describes one benchmark.
type Benchmark struct {
	// Names are the clusters, and Jobs is the usage of the flag -jobs.
	Names []string
	Jobs  string
	// Fill creates that many Jobs, and Measure measures.
	Fill    func(ctx context.Context, set *clusters.Set, howMany int) error
	Measure func(ctx context.Context, run Run) error
}

// Run has the arguments of a benchmark, and its clusters.
type Run struct {
	Set *clusters.Set
	// Plugin is the plugin's binary, and File the file for the results, "" for none.
	Plugin, File string
	// Runs is the number of runs of each measurement, HowMany the number of Jobs.
	Runs, HowMany int
}

// Main runs a benchmark by the flags of the process, and exits if it fails.
func Main(b Benchmark) {
	run := Run{}
	programs := flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	flag.StringVar(&run.Plugin, "plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	flag.StringVar(&run.File, "figures", "", "file to keep what was measured in")
	flag.IntVar(&run.Runs, "runs", 5, "how often each thing is measured")
	flag.IntVar(&run.HowMany, "jobs", 10000, b.Jobs)
	kubeconfig := flag.String("fill", "", "kubeconfig of clusters to fill; for the benchmark itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *kubeconfig != "" {
		err = b.Fill(ctx, &clusters.Set{Kubeconfig: *kubeconfig}, run.HowMany)
	} else {
		err = b.run(ctx, *programs, run)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b Benchmark) run(ctx context.Context, programs string, run Run) (err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	run.Set, err = clusters.Up(ctx, clusters.Config{Programs: programs, Dir: dir, Names: b.Names, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Set.Down()) }()
	// A started process inherits its parent's peak memory as its own.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	filler := exec.CommandContext(ctx, self, "-fill", run.Set.Kubeconfig, "-jobs", strconv.Itoa(run.HowMany))
	filler.Stdout, filler.Stderr = os.Stdout, os.Stderr
	if err := filler.Run(); err != nil {
		return err
	}
	return b.Measure(ctx, run)
}
