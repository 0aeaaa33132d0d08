package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/multikueue"
)

// playMultiKueue does what MultiKueue would: it gives train to worker-1, finds no
// room for others, and has left a mirror on worker-2 whose origin was deleted.
func playMultiKueue(ctx context.Context, set *clusters.Set, onWorker1 kubernetes.Interface) error {
	kueue := map[string]*multikueue.Cluster{}
	for cluster, name := range map[string]string{management: "management", worker1: "paris", worker2: "tokyo"} {
		config, err := set.Config(cluster)
		if err != nil {
			return err
		}
		if kueue[cluster], err = multikueue.NewCluster(ctx, name, config, "v1beta1", "v1beta2"); err != nil {
			return err
		}
		if err := kueue[cluster].AddQueues(ctx, cluster == management, "ml", "vision"); err != nil {
			return err
		}
	}
	manager, paris, tokyo := kueue[management], kueue[worker1], kueue[worker2]
	if err := errors.Join(manager.Manage(ctx, paris, tokyo), enlarge(ctx, tokyo)); err != nil {
		return err
	}
	mirror, err := manager.Dispatch(ctx, "ml", "train", paris)
	if err != nil {
		return err
	}
	if err := holdBack(ctx, manager, paris, tokyo); err != nil {
		return err
	}
	if err := tokyo.Orphan(ctx, "ml", "train-old", mirror); err != nil {
		return err
	}
	if err := waitFor(ctx, onWorker1, "ml", "train", areReady(4)); err != nil {
		return err
	}
	return manager.CopyStatus(ctx, "ml", "train", paris)
}

// enlarge gives a worker more room than the others have: two GPUs more, and racks for
// pods that want to be near each other.
func enlarge(ctx context.Context, c *multikueue.Cluster) error {
	if err := c.Add(ctx, `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racks}
spec: {nodeLabels: {accelerator: h100}, topologyName: racks}
`); err != nil {
		return err
	}
	return c.Patch(ctx, "ClusterQueue", "", multikueue.ClusterQueue, `{spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [
		{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 6}]},
		{name: racks, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}`)
}

// holdBack leaves a Job for each answer to "where could it run": sweep nowhere, finetune
// when something else has ended, score where nobody asked so far; and of align, which
// wants a rack for itself, nobody outside of Kueue can know it.
func holdBack(ctx context.Context, manager, paris, tokyo *multikueue.Cluster) error {
	const tooMuch, taken, unfit, unplaced = "ExceedsMaxQuota", "WaitingForQuota", "NoMatchingFlavor", "TopologyPlacementFailed"
	say := func(format string, arguments ...any) string {
		return "couldn't assign flavors to pod set main: " + fmt.Sprintf(format, arguments...)
	}
	most := func(asked, quota int) string {
		return say("insufficient quota for nvidia.com/gpu in flavor a100, previously considered podsets requests (0) + current podset request (%d) > maximum capacity (%d)", asked, quota)
	}
	more := func(n int) string {
		return say("insufficient unused quota for nvidia.com/gpu in flavor a100, %d more needed", n)
	}
	const noTopology = `Flavor "a100" does not support TopologyAwareScheduling`
	return errors.Join(
		manager.HoldEach(ctx, "ml", "sweep",
			multikueue.Wait{On: paris, Reason: tooMuch, Message: most(8, 4)},
			multikueue.Wait{On: tokyo, Reason: tooMuch, Message: most(8, 6)}),
		manager.HoldEach(ctx, "vision", "finetune",
			multikueue.Wait{On: paris, Reason: tooMuch, Message: most(6, 4)},
			multikueue.Wait{On: tokyo, Reason: taken, Message: more(4)}),
		// Whoever nominates clusters has nominated this one alone so far.
		manager.HoldEach(ctx, "vision", "score",
			multikueue.Wait{On: paris, Reason: taken, Message: more(2)}),
		manager.HoldEach(ctx, "vision", "align",
			multikueue.Wait{On: paris, Reason: unfit, Message: say(noTopology)},
			multikueue.Wait{On: tokyo, Reason: unplaced, Message: say(`topology "racks" allows to fit only 2 out of 4 pod(s)`)}),
	)
}
