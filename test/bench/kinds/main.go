// Command kinds measures how long ls takes to list twenty kinds on three contexts, compared to
// raw downloads of the same lists, all in one run, and prints medians and the ratio.
//
// It takes some minutes: it brings up three clusters and creates 12,000 objects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

func main() {
	programs := flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	plugin := flag.String("plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	fixtures := flag.String("fixtures", "pkg/delegation/testdata/kinds", "directory with objects of each kind")
	file := flag.String("figures", "", "file to keep what was measured in")
	runs := flag.Int("runs", 7, "how often each thing is measured")
	objects := flag.Int("objects", 200, "how many objects of each kind a cluster has")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *programs, *plugin, *fixtures, *file, *runs, *objects)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// names is the value of --kinds: all kinds with managedBy, and one without.
const names = "all,leaderworkerset"

func run(ctx context.Context, programs, plugin, fixtures, file string, runs, objects int) (err error) {
	samples, err := kinds.Samples(os.DirFS(fixtures))
	if err != nil {
		return err
	}
	// The kinds that names selects.
	samples = slices.DeleteFunc(samples, func(s kinds.Sample) bool { return s.Kind.IsUnmanaged() && s.Kind.Name != "leaderworkerset" })
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	contexts := []string{"one", "two", "three"}
	set, err := clusters.Up(ctx, clusters.Config{Programs: programs, Dir: dir, Names: contexts, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	var downloads []*downloads
	for _, name := range contexts {
		config, err := set.Config(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "creating %d objects of %d kinds in cluster %s\n", objects*len(samples), len(samples), name)
		if err := fill(ctx, config, samples, objects); err != nil {
			return err
		}
		downloads = append(downloads, newDownloads(config, samples))
	}
	b := &bench{ctx: ctx, plugin: plugin, kubeconfig: set.Kubeconfig, cache: filepath.Join(dir, "cache"), runs: runs}
	b.file = file
	return b.compare(len(samples), objects, len(contexts), downloads)
}

type bench struct {
	ctx                       context.Context
	plugin, kubeconfig, cache string
	runs                      int
	// file is the file for the results.
	file string
}

// sample has the duration of one run, and the bytes that it read or printed.
type sample struct {
	wall  time.Duration
	bytes int64
}

// compare measures ls and the downloads in turn.
func (b *bench) compare(howMany, objects, contexts int, downloads []*downloads) error {
	measurements := []struct {
		name string
		run  func() (sample, error)
	}{
		{"raw downloads, one after the other", func() (all sample, err error) {
			for _, d := range downloads {
				one, err := d.run(b.ctx)
				if err != nil {
					return sample{}, err
				}
				all.wall, all.bytes = all.wall+one.wall, all.bytes+one.bytes
			}
			return all, nil
		}},
		{"ls --kinds " + names, b.ls},
		{"the same, with nothing cached of what clusters serve", func() (sample, error) {
			if err := os.RemoveAll(b.cache); err != nil {
				return sample{}, err
			}
			return b.ls()
		}},
	}
	samples := make([][]sample, len(measurements))
	for round := range b.runs + 1 {
		for i, m := range measurements {
			s, err := m.run()
			if err != nil {
				return err
			}
			if round > 0 { // the first run warms up caches
				samples[i] = append(samples[i], s)
			}
		}
	}
	fmt.Printf("%d objects of each of %d kinds in each of %d clusters; medians of %d runs, taken in turn\n\n", objects, howMany, contexts, b.runs)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tWALL\tMIN\tMAX\tOF THE DOWNLOADS\tMB")
	first := median(samples[0])
	for i, m := range measurements {
		mid := median(samples[i])
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f\t%.3f\t%.2f\t%.1f\n", m.name, mid.wall.Seconds(),
			slices.MinFunc(samples[i], byWall).wall.Seconds(), slices.MaxFunc(samples[i], byWall).wall.Seconds(),
			mid.wall.Seconds()/first.wall.Seconds(), float64(mid.bytes)/1e6)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s := figures.Section{Title: "ls of many kinds", How: fmt.Sprintf("%d objects of each of %d kinds in each of %d clusters; medians of %d runs, taken in turn.", objects, howMany, contexts, b.runs)}
	for i := range measurements[1:] {
		mid := median(samples[i+1])
		s.Figures = append(s.Figures, figures.Figure{
			What: measurements[i+1].name, Value: fmt.Sprintf("%.2f s", mid.wall.Seconds()), Baseline: fmt.Sprintf("%s: %.2f s", measurements[0].name, first.wall.Seconds()),
			Is: mid.wall.Seconds() / first.wall.Seconds(), Unit: "times as long",
		})
	}
	return figures.Save(b.file, s)
}

func byWall(a, b sample) int { return int(a.wall - b.wall) }

func median(samples []sample) sample {
	sorted := slices.SortedFunc(slices.Values(samples), byWall)
	return sorted[len(sorted)/2]
}

// ls measures the plugin from start to end.
func (b *bench) ls() (sample, error) {
	cmd := exec.CommandContext(b.ctx, b.plugin, "ls", "-A", "--all-contexts", "--kinds", names, "--kubeconfig", b.kubeconfig, "--cache-dir", b.cache)
	var out counter
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w", cmd, err)
	}
	return sample{wall: time.Since(start), bytes: int64(out)}, nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
