package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// clusters adds the MultiKueueConfig, the clusters that it names, and other clusters on which
// objects of this Job were found.
func (c *chain) clusters(f *Facts, configName string, workloads []*kueue.Workload) {
	h := Hop{Kind: "MultiKueueConfig", Name: configName, Context: f.Context}
	config := f.Kueue.ConfigNamed(configName)
	var configured []string
	if config == nil {
		h = missing(h, f.Gaps[PartConfigs], "there is no such MultiKueueConfig")
	} else {
		configured = config.Spec.Clusters
		h.State, h.Health = fmt.Sprintf("%d clusters", len(configured)), HealthOK
		if len(configured) == 1 {
			h.State = "1 cluster"
		}
	}
	c.add(1, h)

	names := slices.Clone(configured)
	for _, cluster := range f.Kueue.Clusters {
		name := c.inventory.ContextOf(f, cluster.Name)
		if !slices.Contains(names, cluster.Name) && name != "" && c.isSomethingOn(name) {
			names = append(names, cluster.Name)
		}
	}
	for _, workload := range workloads {
		for _, name := range append(slices.Clone(workload.Status.Nominated), workload.ChosenCluster()) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		c.cluster(f, name, config != nil && !slices.Contains(configured, name), workloads)
	}
}

// Connected is the state of a MultiKueueCluster that its manager reaches.
const Connected = "Connected"

// isSomethingOn says whether a context's cluster has an object of this Job.
func (c *chain) isSomethingOn(name string) bool {
	isThere := func(m Mirror) bool { return m.Job.Context == name }
	return slices.ContainsFunc(c.pair.Mirrors, isThere) || len(c.inventory.WorkloadsOf(c.pair, c.inventory.Facts(name))) > 0
}

// cluster adds a MultiKueueCluster and the objects on its worker.
func (c *chain) cluster(f *Facts, name string, removed bool, workloads []*kueue.Workload) {
	h := Hop{Kind: "MultiKueueCluster", Name: name, Context: f.Context}
	cluster := f.Kueue.ClusterNamed(name)
	if cluster == nil {
		h = missing(h, f.Gaps[PartClusters], "there is no such MultiKueueCluster")
	} else {
		h.active(cluster.Status.Conditions)
		if h.State == kueue.Active {
			h.State = Connected
		}
	}
	target := c.inventory.ContextOf(f, name)
	notes := []string{h.Message}
	switch {
	case target != "" && target != name:
		notes = append([]string{"context " + target}, notes...)
	case target == "":
		notes = append(notes, "no known context reaches it"+c.whyUnknown(f, name))
	}
	if removed {
		h.Health = HealthBad
		notes = append(notes, "no longer in the MultiKueueConfig")
	}
	h.Message = strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
	c.add(1, h)
	if target != "" {
		c.onCluster(target, name, workloads)
	}
}

func (c *chain) whyUnknown(f *Facts, name string) string {
	if err := f.Gaps[PartSecrets]; err != nil && c.explainedSecrets {
		return ", for the same reason"
	} else if err != nil {
		c.explainedSecrets = true
		return ": " + kubecontext.InContext(f.Context, "", err).Message()
	}
	if address, ok := f.Kueue.Addresses[name]; ok {
		return ": none points to " + address.Server
	}
	return ""
}

// onCluster adds the objects found on a worker cluster, and the missing ones.
func (c *chain) onCluster(target, name string, workloads []*kueue.Workload) {
	isChosen := slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return o.ChosenCluster() == name })
	isWanted := isChosen || slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return slices.Contains(o.Status.Nominated, name) })
	f := c.inventory.Facts(target)
	if f == nil || f.Err != nil {
		if isWanted {
			c.add(2, c.unread(target, f))
		}
		return
	}
	// MultiKueue removes the objects on workers once a Workload has finished, so none is missing
	// then.
	isOver := slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return o.Is(kueue.Finished) })
	copies := c.inventory.WorkloadsOf(c.pair, f)
	for _, copied := range copies {
		c.add(2, WorkloadHop(f, copied))
		if h, absent := c.remoteQueue(f, copied); absent {
			c.add(3, h)
		}
	}
	if len(copies) == 0 && isWanted && !isOver {
		why := cmp.Or(f.Gaps[PartWorkloads], f.Gaps[PartKueue])
		c.add(2, missing(Hop{Kind: "Workload", Namespace: c.pair.Origin.Namespace, Name: workloads[0].Name, Context: target}, why,
			"no copy of the Workload exists there"))
	}
	if found := c.jobsOn(target); isChosen && !found && !isOver && !c.pair.Origin.Status.IsFinished() {
		c.add(2, missing(Hop{Kind: c.pair.Origin.Kind, Namespace: c.pair.Origin.Namespace, Name: c.pair.Origin.Name, Context: target}, nil,
			"MultiKueue chose this cluster, but it has no mirror"))
	}
}

// jobsOn adds the mirrors on a worker cluster, and the namesakes. found is whether it has a mirror.
func (c *chain) jobsOn(target string) (found bool) {
	for i, m := range c.pair.Mirrors {
		if m.Job.Context == target {
			c.mirror(2, i)
			found = true
		}
	}
	for _, j := range c.pair.Namesakes {
		if j.Context == target {
			c.namesake(2, j)
		}
	}
	return found
}

// unread returns the hop of a cluster that was not read.
func (c *chain) unread(target string, f *Facts) Hop {
	h := Hop{Kind: "Cluster", Name: target, Context: target, State: stateUnknown, Health: HealthUnknown, Message: NotSelected}
	if f != nil {
		h = missing(h, f.Err, "")
	}
	return h
}

// remoteQueue returns a hop if a copy's queue does not exist on the worker. Kueue expects a queue
// of the same name there.
func (c *chain) remoteQueue(f *Facts, copied *kueue.Workload) (h Hop, absent bool) {
	name := copied.Spec.QueueName
	if name == "" || f.Kueue.LocalQueueNamed(copied.Namespace, name) != nil || f.Gaps[PartQueues] != nil {
		return h, false
	}
	h = Hop{Kind: "LocalQueue", Namespace: copied.Namespace, Name: name, Context: f.Context}
	return missing(h, nil, "does not exist"), true
}
