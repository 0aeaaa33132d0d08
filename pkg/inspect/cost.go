package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Cost is the quota on the management cluster that a Job holds although no cluster can run it.
type Cost struct {
	// Context is the context of the management cluster.
	Context string `json:"context"`
	// ClusterQueue is the ClusterQueue whose quota the Job uses.
	ClusterQueue string `json:"clusterQueue"`
	// Holds is how much of each resource the Job holds, as the sum over all flavors.
	Holds map[string]string `json:"holds"`
	// Blocks are the Jobs that wait for this quota, in the ClusterQueue or its cohort, as
	// NAMESPACE/NAME.
	Blocks []string `json:"blocks"`
	// BlocksKnown is false if the Workloads of the cluster could not be read, so that more Jobs may
	// wait.
	BlocksKnown bool `json:"blocksKnown"`
	// Release is a command that frees the quota. It does not make the Job run.
	Release command.Fix `json:"release"`
}

// Text says how much the Job holds, and which Jobs wait for it.
func (c *Cost) Text() string {
	var holds []string
	for _, name := range slices.Sorted(maps.Keys(c.Holds)) {
		holds = append(holds, c.Holds[name]+" "+name)
	}
	text := fmt.Sprintf("%s of ClusterQueue %s on %s", strings.Join(holds, " and "), c.ClusterQueue, c.Context)
	switch {
	case len(c.Blocks) == 1:
		text += ", for which " + c.Blocks[0] + " waits"
	case len(c.Blocks) > 1:
		text += fmt.Sprintf(", for which %d Jobs wait: %s", len(c.Blocks), Some(c.Blocks))
	case !c.BlocksKnown:
		text += "; whether others wait for it is unknown"
	}
	return text
}

func (c *Cost) deepCopy() *Cost {
	if c == nil {
		return nil
	}
	d := *c
	d.Holds, d.Blocks, d.Release.Command = maps.Clone(c.Holds), slices.Clone(c.Blocks), slices.Clone(c.Release.Command)
	return &d
}
