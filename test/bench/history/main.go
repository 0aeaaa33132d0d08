// Command history measures history of thousands of Jobs that MultiKueue ran, compared to a raw
// download of the Jobs and Workloads that it reads, in one run.
//
// It takes some minutes: it brings up a cluster and creates 20,000 objects.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/filled"
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
	filled.Main(filled.Benchmark{
		Names: []string{manager}, Jobs: "how many Jobs finished", Fill: fill,
		Measure: func(ctx context.Context, r filled.Run) error {
			return compare(ctx, r.Set, r.Plugin, r.File, r.Runs, r.HowMany)
		},
	})
}

// The names of the measurements.
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
				What: what, Value: took[what].Seconds(), Baseline: raw + ": " + took[raw].Seconds(),
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
