// Command completion measures how long a shell waits for the names of a great many Jobs when TAB
// is pressed, compared to a raw download of the same Jobs' metadata and to kubectl's own
// completion, all in one run on one real cluster. It prints medians and ratios.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

const (
	cluster   = "one"
	namespace = "team"
	plugin    = "kubectl-jobs_managedby"
)

func main() {
	programs := flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	binary := flag.String("plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	file := flag.String("figures", "", "file to keep what was measured in")
	runs := flag.Int("runs", 15, "how often each thing is measured")
	jobs := flag.Int("jobs", 10000, "how many Jobs there are in the namespace")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *programs, *binary, *file, *runs, *jobs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, programs, binary, file string, runs, jobs int) (err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	set, err := clusters.Up(ctx, clusters.Config{Programs: programs, Dir: filepath.Join(dir, "clusters"), Names: []string{cluster}, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	config, err := set.Config(cluster)
	if err != nil {
		return err
	}
	config.QPS = -1
	if err := fill(ctx, config, jobs); err != nil {
		return err
	}
	s, err := newShell(ctx, set, dir, binary)
	if err != nil {
		return err
	}
	// It accepts connections, and never answers.
	hangs, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangs.Close()) }()

	fmt.Printf("%d Jobs of about 3 kB in one namespace; medians of %d runs, taken in turn\n\n", jobs, runs)
	figs, err := compare(runs,
		measurement{"raw download of their metadata", func() (int, error) { return download(ctx, config) }},
		measurement{"the plugin: trace -n team <TAB>", s.complete(plugin, "__complete", "trace", "-n", namespace, "")},
		measurement{"the same with all the time it needs", s.patient().complete(plugin, "__complete", "trace", "-n", namespace, "")},
		measurement{"the plugin through kubectl: trace -n team <TAB>", s.complete("kubectl", "__complete", "jobs-managedby", "trace", "-n", namespace, "")},
		measurement{"the plugin: cancel -n team <TAB>", s.complete(plugin, "__complete", "cancel", "-n", namespace, "")},
		measurement{"the plugin: ls -n <TAB>", s.complete(plugin, "__complete", "ls", "-n", "")},
		measurement{"the plugin: trace <TAB>, of a server that hangs", s.complete(plugin, "__complete", "trace", "--server", "https://"+hangs.Addr().String(), "")},
		measurement{"the plugin: explain <TAB>, without requests", s.complete(plugin, "__complete", "explain", "")},
	)
	if err != nil {
		return err
	}
	fmt.Println("what kubectl itself takes for the same, once")
	fmt.Println()
	others, err := compare(1,
		measurement{"raw download of their metadata", func() (int, error) { return download(ctx, config) }},
		measurement{"kubectl get jobs -n team <TAB>", s.complete("kubectl", "__complete", "get", "jobs", "-n", namespace, "")},
	)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d Jobs in one namespace, on TAB; medians of %d runs, taken in turn; kubectl itself ran once.", jobs, runs)
	return figures.Save(file, figures.Section{Title: "completion", How: how, Figures: append(figs, others...)})
}

// fill creates Jobs that do not run.
func fill(ctx context.Context, config *rest.Config, n int) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "creating %d Jobs\n", n)
	var jobs []*batchv1.Job
	for i := range n {
		jobs = append(jobs, fixture.New(namespace, fmt.Sprintf("job-%05d", i), fixture.Suspended(), fixture.Realistic()))
	}
	return fixture.Create(ctx, client, jobs...)
}

// shell runs the programs that a shell runs when TAB is pressed.
type shell struct {
	ctx context.Context
	// path is the directory of the plugin and its script, programs that of kubectl.
	path, programs string
	env            []string
}

// newShell installs the plugin and its script in a separate directory.
func newShell(ctx context.Context, set *clusters.Set, dir, binary string) (*shell, error) {
	s := &shell{ctx: ctx, path: filepath.Join(dir, "bin"), programs: set.Programs}
	s.env = append(os.Environ(), "PATH="+s.path+string(os.PathListSeparator)+set.Programs+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+set.Kubeconfig)
	target, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(s.path, 0o755), os.Symlink(target, filepath.Join(s.path, plugin))); err != nil {
		return nil, err
	}
	if out, err := s.command(plugin, "completion", "--install").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install the script: %w: %s", err, out)
	}
	return s, nil
}

// patient returns a shell without a time limit.
func (s *shell) patient() *shell {
	p := *s
	p.env = append(slices.Clone(s.env), "KUBECTL_JOBS_MANAGEDBY_COMPLETION_TIMEOUT=1m")
	return &p
}

func (s *shell) command(program string, args ...string) *exec.Cmd {
	folder := s.path
	if program == "kubectl" {
		folder = s.programs
	}
	cmd := exec.CommandContext(s.ctx, filepath.Join(folder, program), args...)
	cmd.Env = s.env
	return cmd
}

// complete runs a program from start to end, and counts choices.
func (s *shell) complete(program string, args ...string) func() (int, error) {
	return func() (int, error) {
		out, err := s.command(program, args...).Output()
		// The last line is the directive.
		return bytes.Count(out, []byte("\n")) - 1, err
	}
}

// measurement is a named measurement; run returns the number of choices.
type measurement struct {
	name string
	run  func() (int, error)
}

// compare runs all measurements in turn, and prints them next to the first. The number of choices
// is the least of all runs, because a run that reaches the time limit has fewer.
func compare(runs int, measurements ...measurement) (figs []figures.Figure, err error) {
	walls := make([][]time.Duration, len(measurements))
	least := make([]int, len(measurements))
	for round := range runs + 1 {
		for i, m := range measurements {
			if runs == 1 && round == 0 {
				continue // a run of minutes is not warmed up
			}
			start := time.Now()
			n, err := m.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			wall := time.Since(start)
			if round == 0 {
				continue // the first run warms up caches
			}
			if len(walls[i]) == 0 || n < least[i] {
				least[i] = n
			}
			walls[i] = append(walls[i], wall)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tWALL\tMIN\tMAX\tOF THE FIRST\tCHOICES, OR BYTES")
	var first float64
	for i, m := range measurements {
		slices.Sort(walls[i])
		median := walls[i][len(walls[i])/2].Seconds()
		if i == 0 {
			first = median
		} else {
			figs = append(figs, figures.Figure{
				What: m.name, Value: fmt.Sprintf("%.2f s", median), Baseline: fmt.Sprintf("%s: %.2f s", measurements[0].name, first),
				Is: median / first, Unit: "times as long",
			})
		}
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f\t%.3f\t%.2f\t%d\n", m.name, median, walls[i][0].Seconds(), walls[i][len(walls[i])-1].Seconds(), median/first, least[i])
	}
	fmt.Fprintln(w)
	return figs, w.Flush()
}

// download reads the metadata of the Jobs as one protobuf document, over a separate connection,
// and discards it. It is compressed in transit, as for every client.
func download(ctx context.Context, config *rest.Config) (int, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/apis/batch/v1/namespaces/"+namespace+"/jobs?resourceVersion=0", http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, response.Body)
	return int(n), errors.Join(err, response.Body.Close())
}
