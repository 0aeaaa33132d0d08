package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// addClusters adds the MultiKueueConfig, the clusters that it names, and other clusters on which
// objects of this Job were found.
func (b *builder) addClusters(f *inspect.Facts, configName string, workloads []*kueue.Workload) {
	h := inspect.Hop{Kind: "MultiKueueConfig", Name: configName, Context: f.Context}
	config := f.Kueue.ConfigNamed(configName)
	var configured []string
	if config == nil {
		h = missing(h, f.Gaps[inspect.PartConfigs], "there is no such MultiKueueConfig")
	} else {
		configured = config.Spec.Clusters
		h.State, h.Health = fmt.Sprintf("%d clusters", len(configured)), inspect.HealthOK
		if len(configured) == 1 {
			h.State = "1 cluster"
		}
	}
	b.add(1, h)

	names := slices.Clone(configured)
	for _, workload := range workloads {
		for _, name := range append(slices.Clone(workload.Status.Nominated), workload.ChosenCluster()) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	// A worker may have another name in other configs.
	shown := sets.New("")
	for _, name := range names {
		shown.Insert(b.inventory.ContextOf(f, name))
	}
	for _, cluster := range f.Kueue.Clusters {
		if name := b.inventory.ContextOf(f, cluster.Name); !slices.Contains(names, cluster.Name) && !shown.Has(name) && b.hasObjectsOn(name) {
			names = append(names, cluster.Name)
			shown.Insert(name)
		}
	}
	for _, name := range names {
		b.addCluster(f, name, config != nil && !slices.Contains(configured, name), workloads)
	}
}

// Connected is the state of a MultiKueueCluster that its manager reaches.
const Connected = "Connected"

// hasObjectsOn reports whether a context's cluster has an object of this Job.
func (b *builder) hasObjectsOn(name string) bool {
	isThere := func(m inspect.Mirror) bool { return m.Job.Context == name }
	return slices.ContainsFunc(b.pair.Mirrors, isThere) || len(b.inventory.WorkloadsOf(b.pair, b.inventory.Facts(name))) > 0
}

// addCluster adds a MultiKueueCluster and the objects on its worker. isForeign is whether the
// MultiKueueConfig does not name it.
func (b *builder) addCluster(f *inspect.Facts, name string, isForeign bool, workloads []*kueue.Workload) {
	h := inspect.Hop{Kind: "MultiKueueCluster", Name: name, Context: f.Context}
	cluster := f.Kueue.ClusterNamed(name)
	if cluster == nil {
		h = missing(h, f.Gaps[inspect.PartClusters], "there is no such MultiKueueCluster")
	} else {
		setActive(&h, cluster.Status.Conditions)
		if active := meta.FindStatusCondition(cluster.Status.Conditions, kueue.Active); h.State == kueue.Active {
			h.State = Connected
		} else if active != nil {
			h.Message = kueue.Fault(active)
		}
	}
	target := b.inventory.ContextOf(f, name)
	notes := []string{h.Message}
	switch {
	case b.inventory.ClusterText(f, name) != name:
		notes = append([]string{"context " + target + ", or that of another worker: its Secret was not read"}, notes...)
	case target != "" && target != name:
		notes = append([]string{"context " + target}, notes...)
	case f.Kueue.HasInvalidKubeconfig(name):
		// The condition of the cluster says the same.
	case target == "":
		notes = append(notes, "no known context reaches it"+b.unknownReason(f, name))
	}
	if isForeign {
		h.Health = inspect.HealthBad
		notes = append(notes, "not in the MultiKueueConfig")
	}
	h.Message = strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
	b.add(1, h)
	if target != "" {
		b.addObjectsOn(target, name, workloads)
	}
}

func (b *builder) unknownReason(f *inspect.Facts, name string) string {
	if err := f.Gaps[inspect.PartSecrets]; err != nil && b.isSecretExplained {
		return ", for the same reason"
	} else if err != nil {
		b.isSecretExplained = true
		return ": " + kubecontext.InContext(f.Context, "", err).Message()
	}
	if address, ok := f.Kueue.Addresses[name]; ok {
		return ": none points to " + address.Server
	}
	return ""
}

// addObjectsOn adds the objects found on a worker cluster, and the missing ones.
func (b *builder) addObjectsOn(target, name string, workloads []*kueue.Workload) {
	isChosen := slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return o.ChosenCluster() == name })
	isWanted := isChosen || slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return slices.Contains(o.Status.Nominated, name) })
	f := b.inventory.Facts(target)
	if f == nil || f.Err != nil {
		if isWanted {
			b.add(2, b.unreadHop(target, f))
		}
		return
	}
	// MultiKueue removes the objects on workers once a Workload has finished, so none is missing
	// then.
	isOver := slices.ContainsFunc(workloads, func(o *kueue.Workload) bool { return o.Is(kueue.Finished) })
	copies := b.inventory.WorkloadsOf(b.pair, f)
	for _, copied := range copies {
		b.add(2, WorkloadHop(f, copied))
		if h, absent := b.missingQueueHop(f, copied); absent {
			b.add(3, h)
		}
	}
	if len(copies) == 0 && isWanted && !isOver {
		why := cmp.Or(f.Gaps[inspect.PartWorkloads], f.Gaps[inspect.PartKueue])
		b.add(2, missing(inspect.Hop{Kind: "Workload", Namespace: b.pair.Origin.Namespace, Name: workloads[0].Name, Context: target}, why,
			"no copy of the Workload exists there"))
	}
	if found := b.addJobsOn(target); isChosen && !found && !isOver && !b.pair.Origin.Status.IsFinished() {
		b.add(2, missing(inspect.Hop{Kind: b.pair.Origin.Kind, Namespace: b.pair.Origin.Namespace, Name: b.pair.Origin.Name, Context: target}, nil,
			"MultiKueue chose this cluster, but it has no mirror"))
	}
}

// addJobsOn adds the mirrors on a worker cluster, and the namesakes. found is whether it has a
// mirror.
func (b *builder) addJobsOn(target string) (found bool) {
	for i, m := range b.pair.Mirrors {
		if m.Job.Context == target {
			b.addMirror(2, i)
			found = true
		}
	}
	for _, j := range b.pair.Namesakes {
		if j.Context == target {
			b.addNamesake(2, j)
		}
	}
	return found
}

// unreadHop returns the hop of a cluster that was not read.
func (b *builder) unreadHop(target string, f *inspect.Facts) inspect.Hop {
	h := inspect.Hop{Kind: "Cluster", Name: target, Context: target, State: stateUnknown, Health: inspect.HealthUnknown, Message: inspect.NotSelected}
	if f != nil {
		h = missing(h, f.Err, "")
	}
	return h
}

// missingQueueHop returns a hop if a copy's queue does not exist on the worker. Kueue expects a queue
// of the same name there.
func (b *builder) missingQueueHop(f *inspect.Facts, copied *kueue.Workload) (h inspect.Hop, absent bool) {
	name := copied.Spec.QueueName
	if name == "" || !f.Lookup().Route(copied.Namespace, name).Local.IsMissing() {
		return h, false
	}
	h = inspect.Hop{Kind: "LocalQueue", Namespace: copied.Namespace, Name: name, Context: f.Context}
	return missing(h, nil, "does not exist"), true
}
