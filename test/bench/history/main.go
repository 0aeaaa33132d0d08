// Command history measures history of thousands of Jobs that MultiKueue ran, next to a raw download
// of the Jobs and Workloads that it reads, in one run.
//
// It takes some minutes: it brings up a cluster and creates 20,000 objects.
package main

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
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/measure"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/multikueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

const (
	manager   = "management"
	namespace = "bench"
	workloads = "/apis/kueue.x-k8s.io/v1beta2/workloads"
	jobs      = "/apis/batch/v1/jobs"
)

func main() {
	programs := flag.String("programs", "bin/clusters", "directory with the control plane's programs")
	plugin := flag.String("plugin", "bin/kubectl-jobmanagedby", "the plugin's binary")
	file := flag.String("figures", "", "file to keep what was measured in")
	runs := flag.Int("runs", 5, "how often each thing is measured")
	howMany := flag.Int("jobs", 10000, "how many Jobs finished")
	kubeconfig := flag.String("fill", "", "kubeconfig of a cluster to fill; for the benchmark itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *kubeconfig != "" {
		err = fill(ctx, &clusters.Set{Kubeconfig: *kubeconfig}, *howMany)
	} else {
		err = run(ctx, *programs, *plugin, *file, *runs, *howMany)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, programs, plugin, file string, runs, howMany int) (err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-bench-")
	if err != nil {
		return err
	}
	set, err := clusters.Up(ctx, clusters.Config{Programs: programs, Dir: dir, Names: []string{manager}, Nodes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	// A process that is started counts as its own peak what its parent's memory once was.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	filler := exec.CommandContext(ctx, self, "-fill", set.Kubeconfig, "-jobs", strconv.Itoa(howMany))
	filler.Stdout, filler.Stderr = os.Stdout, os.Stderr
	if err := filler.Run(); err != nil {
		return err
	}
	return compare(ctx, set, plugin, file, runs, howMany)
}

// What is measured, by its name.
const (
	raw     = "raw download of the Workloads and Jobs"
	history = "history -A"
	sums    = "history -A --by queue"
)

func compare(ctx context.Context, set *clusters.Set, plugin, file string, runs, howMany int) error {
	config, err := set.Config(manager)
	if err != nil {
		return err
	}
	fmt.Printf("%d Jobs finished; medians of %d runs, taken in turn\n\n", howMany, runs)
	took, err := measure.Compare(runs,
		measure.Measurement{Name: raw, Run: func() (measure.Sample, error) {
			return measure.Download(ctx, config, measure.JSON, "identity", workloads, jobs)
		}},
		measure.Measurement{Name: history, Run: measure.Command(ctx, plugin, "history", "-A", "--kubeconfig", set.Kubeconfig)},
		measure.Measurement{Name: sums, Run: measure.Command(ctx, plugin, "history", "-A", "--by", "queue", "--kubeconfig", set.Kubeconfig)},
	)
	if err != nil {
		return err
	}
	s := figures.Section{
		Title: "history, where thousands have finished",
		How:   fmt.Sprintf("MultiKueue ran %d Jobs, each of which is still there with its Workload, of about 2 kB; the download is of both as JSON; medians of %d runs, taken in turn.", howMany, runs),
	}
	for _, what := range []string{history, sums} {
		s.Figures = append(s.Figures,
			figures.Figure{
				What: what, Value: took[what].Seconds(), Beside: raw + ": " + took[raw].Seconds(),
				Is: took[what].Wall.Seconds() / took[raw].Wall.Seconds(), Unit: "times as long", Goal: 1.5, Why: "the machine was busy: both are read at once, and cut down while they arrive.",
			},
			figures.Figure{What: what + ": most memory at once", Value: fmt.Sprintf("%.0f MB", took[what].Megabytes()), Is: took[what].Megabytes(), Unit: "MB", Goal: 96, Why: "each row is kept until the last one has arrived, since the latest comes first."})
	}
	return figures.Save(file, s)
}

// fill creates Jobs that finished on two workers, with their Workloads.
func fill(ctx context.Context, set *clusters.Set, howMany int) error {
	config, err := set.Config(manager)
	if err != nil {
		return err
	}
	kueue, err := multikueue.NewCluster(ctx, manager, config, "v1beta2")
	if err != nil {
		return err
	}
	if err := kueue.AddQueues(ctx, true, namespace); err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "creating %d Jobs that finished\n", howMany)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for i := range howMany {
		group.Go(func() error {
			job := fixture.New(namespace, fmt.Sprintf("job-%05d", i), fixture.Pods(8), fixture.Realistic(),
				fixture.ManagedBy(string(delegation.MultiKueue)), fixture.Labels(delegation.QueueNameLabel, multikueue.Queue))
			created, err := client.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			now := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
			created.Status = batchv1.JobStatus{
				StartTime: &created.CreationTimestamp, CompletionTime: &now, Succeeded: 8,
				Conditions: []batchv1.JobCondition{
					{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastTransitionTime: now},
					{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastTransitionTime: now},
				},
			}
			if _, err := client.BatchV1().Jobs(namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
				return err
			}
			return kueue.Finish(ctx, created, []string{"worker-1", "worker-2"}[i%2])
		})
	}
	return group.Wait()
}
