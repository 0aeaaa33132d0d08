// Command bench measures ls on real API servers beside kubectl and a raw
// download of the same list, all in one run, and prints medians and ratios.
//
// It takes some minutes: it brings up three clusters and creates 80,000 Jobs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

func main() {
	programs := flag.String("programs", "bin/clusters", "folder with the control plane's programs")
	plugin := flag.String("plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	runs := flag.Int("runs", 7, "how often each thing is measured")
	jobs := flag.Int("jobs", 10000, "how many Jobs each cluster has")
	order := flag.String("fill", "", "only create Jobs: CLUSTER,FROM,TO of -kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "for -fill")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *order != "" {
		err = fill(ctx, *kubeconfig, *order)
	} else {
		err = run(ctx, *programs, *plugin, *runs, *jobs)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, programs, plugin string, runs, jobs int) (err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	set, err := clusters.Up(ctx, clusters.Config{Programs: programs, Dir: dir, Names: []string{"one", "two", "three"}, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	for _, name := range []string{"one", "two", "three"} {
		if err := fillApart(ctx, set, name, 0, jobs); err != nil {
			return err
		}
	}
	b := &bench{ctx: ctx, kubeconfig: set.Kubeconfig, runs: runs}
	one, err := set.Config("one")
	if err != nil {
		return err
	}
	columns := "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,MANAGED-BY:.spec.managedBy"

	fmt.Printf("%d Jobs of about 3 kB in each of three clusters; medians of %d runs, taken in turn\n\n", jobs, runs)
	err = b.compare(
		measurement{"ls -A", b.command(plugin, "ls", "-A")},
		measurement{"kubectl get jobs -A -o custom-columns", b.command(filepath.Join(set.Programs, "kubectl"), "get", "jobs", "-A", "-o", columns)},
		measurement{"raw protobuf download", func() (sample, error) { return download(ctx, one) }},
		measurement{"ls -A -o json", b.command(plugin, "ls", "-A", "-o", "json")},
		measurement{"ls -A --summary", b.command(plugin, "ls", "-A", "--summary")},
	)
	if err != nil {
		return err
	}
	if err := b.compareContexts(plugin); err != nil {
		return err
	}
	b.kubeconfig, err = far(ctx, set, roundTrip)
	if err != nil {
		return err
	}
	fmt.Printf("the same with a round trip of %s to each cluster\n\n", roundTrip)
	if err := b.compareContexts(plugin); err != nil {
		return err
	}
	b.kubeconfig = set.Kubeconfig
	if err := fillApart(ctx, set, "one", jobs, 5*jobs); err != nil {
		return err
	}
	fmt.Printf("the same with %d Jobs\n\n", 5*jobs)
	return b.compare(
		measurement{"ls -A --summary", b.command(plugin, "ls", "-A", "--summary")},
		measurement{"ls -A", b.command(plugin, "ls", "-A")},
	)
}

// fillApart has another process create Jobs. A process that is started counts as
// its own peak what its parent's memory once was, so this one has to stay small.
func fillApart(ctx context.Context, set *clusters.Set, cluster string, from, to int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-kubeconfig", set.Kubeconfig, "-fill", fmt.Sprintf("%s,%d,%d", cluster, from, to))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// fill creates the Jobs number FROM to TO of an order "CLUSTER,FROM,TO": three in
// four built-in ones, all suspended so that nothing runs beside what is measured.
func fill(ctx context.Context, kubeconfig, order string) error {
	var from, to int
	cluster, numbers, _ := strings.Cut(order, ",")
	if _, err := fmt.Sscanf(numbers, "%d,%d", &from, &to); err != nil {
		return fmt.Errorf("what to fill is CLUSTER,FROM,TO, not %q: %w", order, err)
	}
	config, err := (&clusters.Set{Kubeconfig: kubeconfig}).Config(cluster)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "creating %d Jobs in cluster %s\n", to-from, cluster)
	const namespaces = 10
	for ns := range namespaces {
		namespace := fmt.Sprintf("team-%d-%d", ns, from)
		var jobs []*batchv1.Job
		for i := from + ns; i < to; i += namespaces {
			options := []fixture.Option{fixture.Suspended(), fixture.Realistic()}
			if i%4 == 0 {
				options = append(options, fixture.ManagedBy("example.com/batch-controller"))
			}
			jobs = append(jobs, fixture.New(namespace, fmt.Sprintf("job-%05d", i), options...))
		}
		if err := fixture.Create(ctx, client, jobs...); err != nil {
			return err
		}
	}
	return nil
}

// roundTrip is how far away clusters in other places are taken to be.
const roundTrip = 100 * time.Millisecond

// sample is what one run took.
type sample struct {
	wall time.Duration
	// peak is the largest resident set, in bytes; 0 where it was not a process.
	peak  int64
	bytes int64
}

type measurement struct {
	name string
	run  func() (sample, error)
}

type bench struct {
	ctx        context.Context
	kubeconfig string
	runs       int
}

// command measures a program from its start to its end.
func (b *bench) command(program string, args ...string) func() (sample, error) {
	args = append(args, "--kubeconfig", b.kubeconfig)
	return func() (sample, error) {
		cmd := exec.CommandContext(b.ctx, program, args...)
		var out counter
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return sample{}, fmt.Errorf("%s: %w", cmd, err)
		}
		s := sample{wall: time.Since(start), bytes: int64(out)}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			s.peak = usage.Maxrss * 1024
		}
		return s, nil
	}
}

// compareContexts measures three contexts at once beside each of them alone.
func (b *bench) compareContexts(plugin string) error {
	return b.compare(
		measurement{"ls -A, three contexts at once", b.command(plugin, "ls", "-A", "--all-contexts")},
		measurement{"ls -A, context one", b.command(plugin, "ls", "-A", "--context", "one")},
		measurement{"ls -A, context two", b.command(plugin, "ls", "-A", "--context", "two")},
		measurement{"ls -A, context three", b.command(plugin, "ls", "-A", "--context", "three")},
	)
}

// compare measures all of them in turn, and prints them beside the first.
func (b *bench) compare(measurements ...measurement) error {
	samples := make([][]sample, len(measurements))
	for round := range b.runs + 1 {
		for i, m := range measurements {
			s, err := m.run()
			if err != nil {
				return err
			}
			if round > 0 { // the first warms caches up
				samples[i] = append(samples[i], s)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tWALL\tMIN\tMAX\tOF THE FIRST\tPEAK MB\tOUTPUT MB")
	first := median(samples[0], func(s sample) float64 { return s.wall.Seconds() })
	for i, m := range measurements {
		wall := func(s sample) float64 { return s.wall.Seconds() }
		mid := median(samples[i], wall)
		lo := slices.MinFunc(samples[i], func(a, b sample) int { return int(a.wall - b.wall) })
		hi := slices.MaxFunc(samples[i], func(a, b sample) int { return int(a.wall - b.wall) })
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f\t%.3f\t%.2f\t%.0f\t%.1f\n", m.name, mid, lo.wall.Seconds(), hi.wall.Seconds(), mid/first,
			median(samples[i], func(s sample) float64 { return float64(s.peak) / 1e6 }),
			median(samples[i], func(s sample) float64 { return float64(s.bytes) / 1e6 }))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// download reads the list as one protobuf document, over a connection of its
// own, and throws it away.
func download(ctx context.Context, config *rest.Config) (sample, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return sample{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/apis/batch/v1/jobs", http.NoBody)
	if err != nil {
		return sample{}, err
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	request.Header.Set("Accept-Encoding", "identity")
	start := time.Now()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return sample{}, err
	}
	n, err := io.Copy(io.Discard, response.Body)
	return sample{wall: time.Since(start), bytes: n}, errors.Join(err, response.Body.Close())
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
