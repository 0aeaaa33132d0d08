// Command waiting measures ls, trace of one waiting Job, and check of all, while thousands of
// Jobs wait for MultiKueue: compared to raw downloads of the Jobs and Workloads that they have to
// read, in one run.
//
// It takes some minutes: it brings up three clusters and creates 40,000 objects.
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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

func workers() []string { return []string{"worker-1", "worker-2"} }

func main() {
	filled.Main(filled.Benchmark{
		Names: append([]string{manager}, workers()...), Jobs: "how many Jobs wait", Fill: fill,
		Measure: func(ctx context.Context, r filled.Run) error {
			return compare(ctx, r.Set, r.Plugin, r.File, r.Runs, r.HowMany)
		},
	})
}

// The names of the measurements.
const (
	ofWorkloads = "raw download of the Workloads of all three"
	ofAll       = "raw download of the Workloads and Jobs of all three"
	trace       = "trace of one of them"
	check       = "check -A"
	ofManager   = "raw download of the manager's Workloads and Jobs"
	ls          = "ls -A of the manager"
)

func compare(ctx context.Context, set *clusters.Set, plugin, file string, runs, howMany int) error {
	one := fmt.Sprintf("job-%05d", howMany/2)
	all := append([]string{manager}, workers()...)
	fmt.Printf("%d Jobs wait; medians of %d runs, taken in turn\n\n", howMany, runs)
	took, err := measure.Compare(runs,
		measure.Measurement{Name: ofManager, Run: func() (measure.Sample, error) { return download(ctx, set, all[:1], workloads, jobs) }},
		measure.Measurement{Name: ls, Run: measure.Command(ctx, plugin, "ls", "-A", "--context", manager, "--kubeconfig", set.Kubeconfig)},
		measure.Measurement{Name: ofWorkloads, Run: func() (measure.Sample, error) { return download(ctx, set, all, workloads) }},
		measure.Measurement{Name: trace, Run: measure.Command(ctx, plugin, "trace", one, "-n", namespace, "--kubeconfig", set.Kubeconfig)},
		measure.Measurement{Name: ofAll, Run: func() (measure.Sample, error) { return download(ctx, set, all, workloads, jobs) }},
		measure.Measurement{Name: check, Run: measure.Command(ctx, plugin, "check", "-A", "--fail-on", "none", "--kubeconfig", set.Kubeconfig)},
	)
	if err != nil {
		return err
	}
	s := figures.Section{
		Title: "ls, trace and check, where thousands wait",
		How:   fmt.Sprintf("%d of MultiKueue's Jobs wait for two workers, each with a Workload on all three clusters, of about 1.5 kB; downloads are of all clusters at once; medians of %d runs, taken in turn.", howMany, runs),
	}
	for _, f := range []struct {
		what, baseline string
		times, memory  float64
		why            string
	}{
		{ls, ofManager, 1.5, 96, "which Jobs were claimed, and which cluster they were given to, is looked up one after the other."},
		{trace, ofWorkloads, 1.5, 128, "it also reads and checks all Jobs of the namespace, so that trace and check agree."},
		{check, ofAll, 1.5, 160, "Jobs and Workloads are read one after the other, so that no Workload is older than its Job, and judged then."},
	} {
		s.Figures = append(s.Figures,
			figures.Figure{
				What: f.what, Value: took[f.what].Seconds(), Baseline: f.baseline + ": " + took[f.baseline].Seconds(),
				Is: took[f.what].Wall.Seconds() / took[f.baseline].Wall.Seconds(), Unit: "times as long", Goal: f.times, Why: f.why,
			},
			figures.Figure{What: f.what + ": most memory at once", Value: fmt.Sprintf("%.0f MB", took[f.what].Megabytes()), Is: took[f.what].Megabytes(), Unit: "MB", Goal: f.memory, Why: "what was read of all Workloads is kept until the end."})
	}
	return figures.Save(file, s)
}

// download reads the same lists of several clusters concurrently.
func download(ctx context.Context, set *clusters.Set, names []string, paths ...string) (all measure.Sample, err error) {
	samples := make([]measure.Sample, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		config, err := set.Config(name)
		if err != nil {
			return all, err
		}
		group.Go(func() (err error) {
			samples[i], err = measure.Download(ctx, config, measure.JSON, "identity", paths...)
			return err
		})
	}
	err = group.Wait()
	for _, s := range samples {
		all.Wall, all.Bytes = max(all.Wall, s.Wall), all.Bytes+s.Bytes
	}
	return all, err
}

// fill creates Jobs that wait because two workers have no free quota.
func fill(ctx context.Context, set *clusters.Set, howMany int) error {
	kueues := map[string]*multikueue.Cluster{}
	var config *rest.Config
	for _, name := range append(workers(), manager) {
		var err error
		if config, err = set.Config(name); err != nil {
			return err
		}
		if kueues[name], err = multikueue.NewCluster(ctx, name, config, "v1beta2"); err != nil {
			return err
		}
		if err := kueues[name].AddQueues(ctx, name == manager, namespace); err != nil {
			return err
		}
	}
	one, two := kueues["worker-1"], kueues["worker-2"]
	if err := kueues[manager].Manage(ctx, one, two); err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "creating %d Jobs that wait\n", howMany)
	waiting := make([]*batchv1.Job, howMany)
	for i := range waiting {
		waiting[i] = fixture.New(namespace, fmt.Sprintf("job-%05d", i), fixture.Pods(8), fixture.Suspended(), fixture.Realistic(),
			fixture.ManagedBy(string(delegation.MultiKueue)), fixture.Labels(delegation.QueueNameLabel, multikueue.Queue))
	}
	const why = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 8 more needed"
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for _, job := range waiting {
		group.Go(func() error {
			if _, err := client.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
				return err
			}
			return kueues[manager].HoldEach(ctx, namespace, job.Name, multikueue.Wait{On: one, Reason: "WaitingForQuota", Message: why}, multikueue.Wait{On: two, Reason: "WaitingForQuota", Message: why})
		})
	}
	return group.Wait()
}
