// Command bench runs all benchmarks, one after the other and each to its end, and makes
// docs/performance.md of what they have measured. It fails where one of them does, or where
// a goal is not met, when all have run.
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
	"strings"
	"syscall"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
)

// benchmarks are packages below this one, in the order in which the page has them.
func benchmarks() []string {
	return []string{"ls", "line", "twenty", "waiting", "history", "dispatch", "kinds", "completion"}
}

const head = `# How fast it is

<!-- Written by "make bench": change test/bench, not this page. -->

Each figure is told beside what a user would otherwise do, measured in the same run on the same
machine: that ratio is what other machines have in common with this one, times by themselves are
not. API servers run on the same processors as what is measured. Goals that are not met are told,
and why. The load tells how busy others have kept the machine: where it is several times the number
of processors, ratios of times are chance, whether they meet a goal or not, and memory is what counts.
`

func main() {
	page := flag.String("page", "docs/performance.md", "page to write")
	kept := flag.String("figures", "bin/bench", "folder with what was measured last")
	only := flag.String("only", strings.Join(benchmarks(), ","), "which benchmarks to run; the page has what the others have measured last")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *page, *kept, strings.Split(*only, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, page, kept string, only []string) error {
	var failed error
	var files []string
	for _, name := range benchmarks() {
		file := filepath.Join(kept, name+".json")
		files = append(files, file)
		if !slices.Contains(only, name) {
			continue
		}
		fmt.Printf("== %s\n\n", name)
		// Each is a process of its own, whose memory the next one does not have.
		args := []string{"run", "./test/bench/" + name, "-figures", file}
		switch name {
		case "line":
			args = []string{"run", "./test/bench/ls", "-only", "line", "-figures", file}
		case "twenty":
			args = []string{"run", "./test/bench/ls", "-only", "twenty", "-jobs", "5000", "-figures", file}
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		// What ends this ends that, which has clusters to take down.
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
		fmt.Println()
	}
	return errors.Join(failed, figures.Page(page, head, files))
}
