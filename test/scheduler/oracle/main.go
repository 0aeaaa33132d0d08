// Command oracle schedules the Job of each world that it reads, with the code of Kueue's scheduler
// (kueue: pkg/scheduler, getInitialAssignments and processEntry), and prints the verdicts. Worlds and
// verdicts are streams of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	cache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/workload"
)

// world is a cluster, and the Workload that waits in it.
type world struct {
	Flavors   []*kueue.ResourceFlavor `json:"flavors"`
	Cohorts   []*kueue.Cohort         `json:"cohorts"`
	Queues    []*kueue.ClusterQueue   `json:"queues"`
	Workloads []*kueue.Workload       `json:"workloads"`
	Waiting   *kueue.Workload         `json:"waiting"`
	// Queue is the ClusterQueue in which the Workload waits.
	Queue kueue.ClusterQueueReference `json:"queue"`
}

// verdict is what Kueue does with the Workload.
type verdict struct {
	// Mode is Fit, Preempt or NoFit.
	Mode string `json:"mode"`
	// Pods is with how many Pods it starts, in Flavors.
	Pods    int32                           `json:"pods"`
	Flavors []kueue.ResourceFlavorReference `json:"flavors"`
	// Victims are the Workloads that it preempts.
	Victims []string `json:"victims"`
}

func main() {
	klog.SetLogger(logr.Discard())
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	reader, err := newClient()
	if err != nil {
		return err
	}
	worlds, verdicts := json.NewDecoder(in), json.NewEncoder(out)
	worlds.DisallowUnknownFields()
	for {
		var w world
		if err := worlds.Decode(&w); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		v, err := w.schedule(context.Background(), reader)
		if err != nil {
			return err
		}
		if err := verdicts.Encode(v); err != nil {
			return err
		}
	}
}

// newClient returns a client of a cluster without objects: each world is put into Kueue's cache
// directly.
func newClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&kueue.LocalQueue{}, indexer.QueueClusterQueueKey, indexer.IndexQueueClusterQueue).
		WithIndex(&kueue.Workload{}, indexer.WorkloadClusterQueueKey, indexer.IndexWorkloadClusterQueue).Build(), nil
}

// snapshot returns the world as Kueue's scheduler sees it.
func (w *world) snapshot(ctx context.Context, reader client.Client) (*cache.Snapshot, error) {
	c := cache.New(reader)
	for _, f := range w.Flavors {
		c.AddOrUpdateResourceFlavor(logr.Discard(), f)
	}
	for _, cohort := range w.Cohorts {
		if err := c.AddOrUpdateCohort(cohort); err != nil {
			return nil, err
		}
	}
	for _, q := range w.Queues {
		if err := c.AddClusterQueue(ctx, q); err != nil {
			return nil, err
		}
	}
	for _, wl := range w.Workloads {
		if !c.AddOrUpdateWorkload(logr.Discard(), wl) {
			return nil, fmt.Errorf("workload %s holds no quota", wl.Name)
		}
	}
	return c.Snapshot(ctx)
}

// attempt is an assignment of flavors, and the Workloads to preempt for it.
type attempt struct {
	assignment flavorassigner.Assignment
	targets    []*preemption.Target
}

func (w *world) schedule(ctx context.Context, reader client.Client) (*verdict, error) {
	snapshot, err := w.snapshot(ctx, reader)
	if err != nil {
		return nil, err
	}
	info := workload.NewInfo(w.Waiting)
	info.ClusterQueue = w.Queue
	queue := snapshot.ClusterQueue(w.Queue)
	preemptor := preemption.New(reader, workload.Ordering{}, nil, nil, false, clock.RealClock{}, nil, expectations.New(), nil)
	assigner := flavorassigner.New(info, queue, snapshot.ResourceFlavors, false, preemption.NewOracle(preemptor, snapshot), nil, "", resources.NewResourceFormatter(), 0)
	try := func(counts []int32) (*attempt, bool) {
		a := &attempt{assignment: assigner.Assign(ctx, counts)}
		mode := a.assignment.RepresentativeMode()
		if mode == flavorassigner.Preempt {
			a.targets = preemptor.GetTargets(ctx, *info, a.assignment, snapshot)
		}
		return a, mode == flavorassigner.Fit || len(a.targets) > 0
	}
	a, isFound := try(nil)
	if !isFound && info.CanBePartiallyAdmitted() {
		a, isFound = flavorassigner.NewPodSetReducer(w.Waiting.Spec.PodSets, try).Search()
	}
	if !isFound || !a.fits(snapshot, queue) {
		return &verdict{Mode: flavorassigner.NoFit.String()}, nil
	}
	return a.verdict(), nil
}

// fits reports whether the quota is there once the targets are preempted. Kueue checks this before
// it acts, and finds flavors that it had misjudged.
func (a *attempt) fits(snapshot *cache.Snapshot, queue *cache.ClusterQueueSnapshot) bool {
	var victims []*workload.Info
	for _, t := range a.targets {
		victims = append(victims, t.WorkloadInfo)
	}
	defer snapshot.SimulateWorkloadUsageRemoval(victims)()
	return queue.Fits(a.assignment.Usage) == cache.FitsCheckOk
}

func (a *attempt) verdict() *verdict {
	v := &verdict{Mode: a.assignment.RepresentativeMode().String()}
	for _, t := range a.targets {
		v.Victims = append(v.Victims, t.WorkloadInfo.Obj.Name)
	}
	for _, set := range a.assignment.PodSets {
		v.Pods += set.Count
		for _, f := range set.Flavors {
			v.Flavors = append(v.Flavors, f.Name)
		}
	}
	return v
}
