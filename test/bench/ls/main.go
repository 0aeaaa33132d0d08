// Command ls measures ls on real API servers compared to kubectl and to a raw download of the
// same list, all in one run, and prints medians and ratios.
//
// It takes some minutes: it brings up three clusters and creates 50,000 Jobs.
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
	"strings"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/measure"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

func main() {
	programs := flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	plugin := flag.String("plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	runs := flag.Int("runs", 7, "how often each thing is measured")
	jobs := flag.Int("jobs", 10000, "how many Jobs each cluster has")
	order := flag.String("fill", "", "only create Jobs: CLUSTER,FROM,TO of -kubeconfig")
	changes := flag.Duration("change", 0, "only change Jobs of cluster one of -kubeconfig, 200 a second, for so long")
	kubeconfig := flag.String("kubeconfig", "", "for -fill and -change")
	only := flag.String("only", "", "only measure this, of one cluster: line, ls over a slow line; twenty, ls of so many contexts")
	file := flag.String("figures", "", "file to keep what was measured in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case *order != "":
		err = fill(ctx, *kubeconfig, *order)
	case *changes > 0:
		err = change(ctx, *kubeconfig, *changes)
	default:
		err = run(ctx, *programs, *plugin, *file, *runs, *jobs, *only)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	ctx        context.Context
	kubeconfig string
	runs       int
}

func run(ctx context.Context, programs, plugin, file string, runs, jobs int, only string) (err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	names := []string{"one", "two", "three"}
	if only != "" {
		names = names[:1]
	}
	set, err := clusters.Up(ctx, clusters.Config{Programs: programs, Dir: dir, Names: names, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	for _, name := range names {
		if err := fillApart(ctx, set, name, 0, jobs); err != nil {
			return err
		}
	}
	b := &bench{ctx: ctx, kubeconfig: set.Kubeconfig, runs: runs}
	switch only {
	case "":
		return b.all(set, plugin, file, jobs)
	case "line":
		return b.overLine(set, plugin, file, jobs)
	case "twenty":
		return b.overMany(set, plugin, file, jobs)
	}
	return fmt.Errorf("no measurement is called %q", only)
}

// all measures everything except slow lines.
func (b *bench) all(set *clusters.Set, plugin, file string, jobs int) error {
	one, err := set.Config("one")
	if err != nil {
		return err
	}
	columns := "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,MANAGED-BY:.spec.managedBy"

	fmt.Printf("%d Jobs of about 3 kB in each of three clusters; medians of %d runs, taken in turn\n\n", jobs, b.runs)
	few, err := measure.Compare(b.runs,
		measure.Measurement{Name: table, Run: b.command(plugin, "ls", "-A")},
		measure.Measurement{Name: byKubectl, Run: b.command(filepath.Join(set.Programs, "kubectl"), "get", "jobs", "-A", "-o", columns)},
		measure.Measurement{Name: raw, Run: func() (measure.Sample, error) {
			return measure.Download(b.ctx, one, measure.Protobuf, "identity", allJobs)
		}},
		measure.Measurement{Name: asJSON, Run: b.command(plugin, "ls", "-A", "-o", "json")},
		measure.Measurement{Name: summary, Run: b.command(plugin, "ls", "-A", "--summary")},
	)
	if err != nil {
		return err
	}
	three, err := b.compareContexts(plugin)
	if err != nil {
		return err
	}
	followed, err := b.watch(set, plugin)
	if err != nil {
		return err
	}
	b.kubeconfig, err = far(b.ctx, set, roundTrip)
	if err != nil {
		return err
	}
	fmt.Printf("three contexts with a round trip of %s to each cluster\n\n", roundTrip)
	if _, err := b.compareContexts(plugin); err != nil {
		return err
	}
	b.kubeconfig = set.Kubeconfig
	if err := fillApart(b.ctx, set, "one", jobs, 3*jobs); err != nil {
		return err
	}
	fmt.Printf("the same with %d Jobs\n\n", 3*jobs)
	many, err := measure.Compare(b.runs,
		measure.Measurement{Name: summary, Run: b.command(plugin, "ls", "-A", "--summary")},
		measure.Measurement{Name: table, Run: b.command(plugin, "ls", "-A")},
	)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d Jobs of about 3.5 kB in each of three clusters on the same machine; medians of %d runs, taken in turn.", jobs, b.runs)
	return figures.Save(file, figures.Section{Title: "ls", How: how, Figures: append(listed(few, three, many, 2*jobs), followed...)})
}

// overLine measures ls over a slow line.
func (b *bench) overLine(set *clusters.Set, plugin, file string, jobs int) error {
	figs, err := b.slowly(set, plugin)
	if err != nil {
		return err
	}
	return figures.Save(file, figures.Section{
		Title: "ls over a slow line", How: fmt.Sprintf("%d Jobs of about 3.5 kB behind toxiproxy, a proxy that slows connections down; medians of %d runs, taken in turn.", jobs, b.runs), Figures: figs,
	})
}

// overMany measures ls of many contexts.
func (b *bench) overMany(set *clusters.Set, plugin, file string, jobs int) error {
	figs, err := b.ofTwenty(set, plugin)
	if err != nil {
		return err
	}
	return figures.Save(file, figures.Section{
		Title: "ls of twenty contexts", Figures: figs,
		How: fmt.Sprintf("%d Jobs of about 3.5 kB in each; all are one cluster, by %d names; two answer each request after %s, and one refuses connections; medians of %d runs, taken in turn.", jobs, twenty, late, b.runs),
	})
}

// The names of the measurements.
const (
	table     = "ls -A"
	asJSON    = "ls -A -o json"
	summary   = "ls -A --summary"
	atOnce    = "ls -A, three contexts at once"
	byKubectl = "kubectl get jobs -A -o custom-columns"
	raw       = "raw protobuf download"
)

// listed returns the figures of lists: of few Jobs, of three clusters, and of many Jobs, which
// are further more than few.
func listed(few, three, many map[string]measure.Sample, further int) []figures.Figure {
	figs := []figures.Figure{
		timed(table, few[table], raw, few[raw], 1.25),
		{
			What: byKubectl, Value: few[byKubectl].Seconds(), Baseline: table + ": " + few[table].Seconds(),
			Is: few[byKubectl].Wall.Seconds() / few[table].Wall.Seconds(), Unit: "times as long", Goal: 13, AtLeast: true,
		},
	}
	for _, f := range []struct {
		what string
		of   measure.Sample
		goal float64
	}{{table, few[table], 84}, {asJSON, few[asJSON], 84}, {atOnce, three[atOnce], 128}} {
		figs = append(figs, figures.Figure{
			What: f.what + ": most memory at once", Value: inMB(f.of), Baseline: byKubectl + ": " + inMB(few[byKubectl]),
			Is: f.of.Megabytes(), Unit: "MB", Goal: f.goal, Why: programItself,
		})
	}
	for _, f := range []struct {
		what string
		goal float64
	}{{table, 2.2}, {summary, 0.1}} {
		figs = append(figs, figures.Figure{
			What: f.what + ": memory for each further Job", Value: fmt.Sprintf("%s, then %s", inMB(few[f.what]), inMB(many[f.what])),
			Is: (many[f.what].Megabytes() - few[f.what].Megabytes()) * 1e3 / float64(further), Unit: "kB", Goal: f.goal,
		})
	}
	return figs
}

// programItself is the reason for the memory figure.
const programItself = "about 50 MB are pages of the program itself, most of them Kubernetes' client libraries, which the kernel maps as they are run and may drop at any time; the rest is what was read."

// timed returns the figure of a duration compared to another.
func timed(what string, took measure.Sample, baseline string, other measure.Sample, goal float64) figures.Figure {
	return figures.Figure{
		What: what, Value: took.Seconds(), Baseline: baseline + ": " + other.Seconds(),
		Is: took.Wall.Seconds() / other.Wall.Seconds(), Unit: "times as long", Goal: goal,
	}
}

func inMB(s measure.Sample) string { return fmt.Sprintf("%.0f MB", s.Megabytes()) }

// allJobs is the API path of all Jobs of a cluster.
const allJobs = "/apis/batch/v1/jobs"

// command measures a program with the benchmark's kubeconfig.
func (b *bench) command(program string, args ...string) func() (measure.Sample, error) {
	return measure.Command(b.ctx, program, append(args, "--kubeconfig", b.kubeconfig)...)
}

// fillApart creates Jobs in another process. A started process inherits its parent's peak memory
// as its own, so this one has to stay small.
func fillApart(ctx context.Context, set *clusters.Set, cluster string, from, to int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-kubeconfig", set.Kubeconfig, "-fill", fmt.Sprintf("%s,%d,%d", cluster, from, to))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// fill creates the Jobs number FROM to TO of an order "CLUSTER,FROM,TO": three in four have the
// built-in controller, and all are suspended so that nothing runs during the measurement.
func fill(ctx context.Context, kubeconfig, order string) error {
	var from, to int
	cluster, numbers, _ := strings.Cut(order, ",")
	if _, err := fmt.Sscanf(numbers, "%d,%d", &from, &to); err != nil {
		return fmt.Errorf("fill takes CLUSTER,FROM,TO, not %q: %w", order, err)
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

// roundTrip is the assumed round-trip time of clusters in other places.
const roundTrip = 100 * time.Millisecond

// compareContexts measures three contexts concurrently, compared to each of them alone.
func (b *bench) compareContexts(plugin string) (map[string]measure.Sample, error) {
	return measure.Compare(b.runs,
		measure.Measurement{Name: atOnce, Run: b.command(plugin, "ls", "-A", "--all-contexts")},
		measure.Measurement{Name: "ls -A, context one", Run: b.command(plugin, "ls", "-A", "--context", "one")},
		measure.Measurement{Name: "ls -A, context two", Run: b.command(plugin, "ls", "-A", "--context", "two")},
		measure.Measurement{Name: "ls -A, context three", Run: b.command(plugin, "ls", "-A", "--context", "three")},
	)
}
