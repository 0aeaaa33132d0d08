// Command bench runs benchmarks one after the other, and writes their figures to
// docs/performance.md. It fails at the end if one of them failed or missed a goal.
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

// benchmarks returns the packages below this one, in the order of the page.
func benchmarks() []string {
	return []string{"ls", "line", "twenty", "waiting", "history", "dispatch", "kinds", "completion"}
}

const head = `# Speed and memory

<!-- Written by "make bench": change test/bench, not this page. -->

Most results are ratios to what users would otherwise do, measured in the same run on the same machine. Others are
memory, requests or delays. Compare ratios, not times: times depend on the machine, and API servers run on the same
processors as the plugin. If a goal is not met, the reason is below its table.

The load shows how busy the machine was. If nothing else runs, the API servers and the plugin cause a load of up to 7 on
two processors. If the load was higher, ignore the ratios of times; compare only memory.

The first result of each benchmark:
`

func main() {
	page := flag.String("page", "docs/performance.md", "page to write")
	only := flag.String("only", strings.Join(benchmarks(), ","), "which benchmarks to run; the page keeps the sections of the others")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *page, strings.Split(*only, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, page string, only []string) (failed error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, os.RemoveAll(dir)) }()
	for _, name := range only {
		if !slices.Contains(benchmarks(), name) {
			return fmt.Errorf("unknown benchmark %q: one of %s", name, strings.Join(benchmarks(), ", "))
		}
	}
	for _, name := range benchmarks() {
		file := filepath.Join(dir, name+".json")
		if !slices.Contains(only, name) {
			continue
		}
		fmt.Printf("== %s\n\n", name)
		// Each is a process of its own, so that the next one does not inherit its memory.
		args := []string{"run", "./test/bench/" + name, "-figures", file}
		switch name {
		case "line":
			args = []string{"run", "./test/bench/ls", "-only", "line", "-figures", file}
		case "twenty":
			args = []string{"run", "./test/bench/ls", "-only", "twenty", "-jobs", "5000", "-figures", file}
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		// GOGC and GOMEMLIMIT would change the memory that the plugin takes.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=")
		})
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		// An interrupted benchmark stops its clusters.
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
		fmt.Println()
	}
	return errors.Join(failed, figures.Page(page, head, dir, benchmarks()))
}
