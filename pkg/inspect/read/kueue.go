package read

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// factReader reads parts of one cluster into facts, several in parallel. The facts are only
// accessed under its lock.
type factReader struct {
	cluster *fleet.Cluster
	facts   *inspect.Facts
	version string
	// waiting are the names of Workloads whose positions in queues are wanted.
	waiting []string
	// known is what an earlier reading found, nil if there was none.
	known *inspect.KueueFacts
	// isWhole is whether everything is read, and not only objects related to certain Jobs.
	isWhole bool
	// hasOthers is whether the fleet has several clusters.
	hasOthers bool
	// podWarnings are the warnings about the start of Pods, by UID. Only the request for warnings
	// accesses them until all requests have ended.
	podWarnings map[string]*inspect.Event

	mu sync.Mutex
	wg sync.WaitGroup
}

// openKueue finds the version of Kueue's API that the cluster serves, and returns a reader for it.
func openKueue(ctx context.Context, c *fleet.Cluster, f *inspect.Facts) *factReader {
	r := &factReader{cluster: c, facts: f}
	version, err := KueueVersion(ctx, c)
	f.AddGap(inspect.PartKueue, err)
	f.NoKueue = err == nil && version == ""
	if version != "" {
		served, _ := servedVersions(ctx, c, kueue.Group)
		f.Kueue = &inspect.KueueFacts{
			Version: version, ServesOld: slices.Contains(served, delegation.OldKueueVersion), Addresses: map[string]kubecontext.Address{},
		}
		r.version = version
	}
	return r
}

// hasKueue reports whether the cluster serves Kueue's API.
func (r *factReader) hasKueue() bool { return r.version != "" }

func (r *factReader) resource(plural string) schema.GroupVersionResource {
	return kueueResource(r.version, plural)
}

func kueueResource(version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kueue.Group, Version: version, Resource: plural}
}

// read reads a part in parallel with others.
func (r *factReader) read(part inspect.Part, do func() error) {
	r.wg.Go(func() {
		if err := do(); err != nil {
			r.gap(part, err)
		}
	})
}

func (r *factReader) gap(part inspect.Part, err error) {
	r.store(func() { r.facts.AddGap(part, err) })
}

func (r *factReader) store(put func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	put()
}

// readList reads all objects of a kind.
func readList[T any](ctx context.Context, r *factReader, part inspect.Part, resource schema.GroupVersionResource, namespace string, into *[]*T) {
	r.read(part, func() error {
		return listObjects(ctx, r.cluster, resource, namespace, metav1.ListOptions{}, func(o *T) {
			r.store(func() { *into = append(*into, o) })
		})
	})
}

// readConfig reads the configuration of MultiKueue: where a manager dispatches to. These objects
// are few, so it reads all.
func (r *factReader) readConfig(ctx context.Context) {
	k := r.facts.Kueue
	readList(ctx, r, inspect.PartChecks, r.resource("admissionchecks"), "", &k.Checks)
	readList(ctx, r, inspect.PartConfigs, r.resource("multikueueconfigs"), "", &k.Configs)
	r.read(inspect.PartClusters, func() error {
		var clusters []*kueue.MultiKueueCluster
		err := listObjects(ctx, r.cluster, r.resource("multikueueclusters"), "", metav1.ListOptions{}, func(c *kueue.MultiKueueCluster) {
			clusters = append(clusters, c)
		})
		if err != nil {
			return err
		}
		r.store(func() { k.Clusters = clusters })
		for _, c := range clusters {
			if err := r.readAddress(ctx, c); err != nil {
				r.gap(inspect.PartSecrets, err)
				r.noteNoCredential(c.Name, err)
			}
		}
		return nil
	})
}

// readAddress reads the address of a MultiKueueCluster. A missing or wrong Secret or ClusterProfile
// is not a gap, because the MultiKueueCluster's own condition reports it.
func (r *factReader) readAddress(ctx context.Context, c *kueue.MultiKueueCluster) error {
	if profile := c.ProfileName(); profile != "" {
		address, err := addressInProfile(ctx, r.cluster, profile)
		if address != nil {
			r.store(func() { r.facts.Kueue.Addresses[c.Name] = *address })
		}
		return err
	}
	name := c.SecretName()
	if name == "" {
		r.noteNoCredential(c.Name, errNoSecret)
		return nil
	}
	// Secrets are not watched, so that credentials do not stay in memory for hours. The address is
	// read again when the MultiKueueCluster changes.
	key := "address\n" + name + "\n" + c.ResourceVersion
	facts, err := cache.Keep(r.cluster.Cache(ctx), key, cache.Rarely, func() (kubeconfigFacts, error) {
		secret, kubeconfig, err := KubeconfigSecret(ctx, r.cluster, name)
		if err != nil {
			return kubeconfigFacts{}, err
		}
		return factsIn(secret, kubeconfig), nil
	})
	r.store(func() {
		if facts.address != nil {
			r.facts.Kueue.Addresses[c.Name] = *facts.address
		}
		if facts.namespace != "" && r.facts.Kueue.Home == nil {
			// Kueue reads these Secrets in its own namespace.
			home := kueue.HomeIn(facts.namespace)
			r.facts.Kueue.Home = &home
		}
		if err == nil {
			r.storeCredential(c.Name, facts)
		}
	})
	return err
}

// readQueue reads the LocalQueue that an object is submitted to, and its ClusterQueue. If it does not exist, readQueue
// reads the other LocalQueues of the namespace: the name may be a typo.
func (r *factReader) readQueue(ctx context.Context, namespace, name string) {
	if name == "" {
		return
	}
	r.store(func() { r.facts.Kueue.RequestedQueues = append(r.facts.Kueue.RequestedQueues, namespace+"/"+name) })
	r.read(inspect.PartQueues, func() error {
		local, err := Get[kueue.LocalQueue](ctx, r.cluster, r.resource("localqueues"), namespace, name)
		if err != nil {
			return err
		}
		if local == nil {
			r.readOtherQueues(ctx, namespace)
			return nil
		}
		r.store(func() { r.facts.Kueue.LocalQueues = append(r.facts.Kueue.LocalQueues, local) })
		r.readOrder(ctx, local)
		if local.Spec.ClusterQueue == "" {
			return nil
		}
		queue, err := Get[kueue.ClusterQueue](ctx, r.cluster, r.resource("clusterqueues"), "", local.Spec.ClusterQueue)
		if err != nil || queue == nil {
			return err
		}
		r.store(func() { r.facts.Kueue.ClusterQueues = append(r.facts.Kueue.ClusterQueues, queue) })
		return nil
	})
}

// readOtherNamed reads the LocalQueues that only the Workloads name, because the Jobs have lost the label.
func (r *factReader) readOtherNamed(ctx context.Context) {
	k := r.facts.Kueue
	requested := sets.New(k.RequestedQueues...)
	for _, w := range k.Workloads {
		if key := w.Namespace + "/" + w.Spec.QueueName; !requested.Has(key) {
			requested.Insert(key)
			r.readQueue(ctx, w.Namespace, w.Spec.QueueName)
		}
	}
	r.wg.Wait()
}

// readOtherQueues reads the LocalQueues of a namespace. They only improve a fix, so a denial is not a gap.
func (r *factReader) readOtherQueues(ctx context.Context, namespace string) {
	var found []*kueue.LocalQueue
	err := listObjects(ctx, r.cluster, r.resource("localqueues"), namespace, metav1.ListOptions{}, func(q *kueue.LocalQueue) { found = append(found, q) })
	if err != nil {
		return
	}
	r.store(func() {
		for _, q := range found {
			if r.facts.Kueue.LocalQueueNamed(q.Namespace, q.Name) == nil {
				r.facts.Kueue.LocalQueues = append(r.facts.Kueue.LocalQueues, q)
			}
		}
	})
}

// readWorkloads reads the Workloads of a Job, and those with the given names.
func (r *factReader) readWorkloads(ctx context.Context, namespace, jobUID string, names []string) {
	r.read(inspect.PartWorkloads, func() error {
		var found []*kueue.Workload
		byUID := metav1.ListOptions{LabelSelector: labels.Set{delegation.JobUIDLabel: jobUID}.String()}
		if jobUID != "" {
			err := listObjects(ctx, r.cluster, r.resource("workloads"), namespace, byUID, func(w *kueue.Workload) { found = append(found, w) })
			if err != nil {
				return err
			}
		}
		for _, name := range names {
			if slices.ContainsFunc(found, func(w *kueue.Workload) bool { return w.Name == name }) {
				continue
			}
			w, err := Get[kueue.Workload](ctx, r.cluster, r.resource("workloads"), namespace, name)
			if err != nil {
				return err
			}
			if w != nil {
				found = append(found, w)
			}
		}
		r.store(func() {
			for _, w := range found {
				if !slices.ContainsFunc(r.facts.Kueue.Workloads, func(o *kueue.Workload) bool { return o.UID == w.UID }) {
					r.facts.Kueue.Workloads = append(r.facts.Kueue.Workloads, w)
				}
			}
		})
		return nil
	})
}

// readAllWorkloads reads the Workloads of a namespace or, with their claims, of all.
func (r *factReader) readAllWorkloads(ctx context.Context, namespace string) {
	k, share := r.facts.Kueue, newSharer()
	resource := r.resource("workloads")
	if r.cluster.IsWatched() {
		// Other readers share the same Workloads, so they must not be modified.
		readList(ctx, r, inspect.PartWorkloads, resource, namespace, &k.Workloads)
		return
	}
	r.read(inspect.PartWorkloads, func() error {
		err := listObjects(ctx, r.cluster, resource, namespace, metav1.ListOptions{}, func(o *listedWorkload) {
			share.workload(&o.Workload)
			w := o.Workload
			claim := o.claimed().Claim()
			r.store(func() {
				k.Workloads = append(k.Workloads, &w)
				if claim != nil && namespace == metav1.NamespaceAll {
					share.claim(claim)
					k.Claims = append(k.Claims, claim)
				}
			})
		})
		r.store(func() { k.ListsClaims = err == nil && namespace == metav1.NamespaceAll })
		return err
	})
}

// readNeighbours reads the other Workloads of a namespace if Kueue ignores one of the Workloads
// read. If Kueue runs, that one waits for one of these.
func (r *factReader) readNeighbours(ctx context.Context) {
	k := r.facts.Kueue
	silent, known := sets.New[string](), sets.New[types.UID]()
	for _, w := range k.Workloads {
		known.Insert(w.UID)
		if inspect.IsIgnored(w) {
			silent.Insert(w.Namespace)
		}
	}
	add := func(w *kueue.Workload) {
		if !known.Has(w.UID) {
			r.store(func() { k.Workloads = append(k.Workloads, w) })
		}
	}
	for _, namespace := range sets.List(silent) {
		if all, ok := k.Capacity.WorkloadsOf(namespace); ok {
			for _, w := range all {
				add(w)
			}
			continue
		}
		r.read(inspect.PartWorkloads, func() error {
			return listObjects(ctx, r.cluster, r.resource("workloads"), namespace, metav1.ListOptions{}, add)
		})
	}
}

// readBeyond reads what waits for quota in other namespaces if Kueue ignores a Workload and nothing
// in its own namespace explains that. Users without the right for it get no error: then nothing
// follows from Kueue's silence.
func (r *factReader) readBeyond(ctx context.Context) {
	f := r.facts
	isUnexplained := func(w *kueue.Workload) bool { return inspect.IsIgnored(w) && f.BlockerOf(w) == nil }
	if f.KnowsBlockers() || !slices.ContainsFunc(f.Kueue.Workloads, isUnexplained) {
		return
	}
	beyond := &inspect.Neighbours{}
	err := listObjects(ctx, r.cluster, r.resource("localqueues"), metav1.NamespaceAll, metav1.ListOptions{}, func(q *kueue.LocalQueue) {
		beyond.LocalQueues = append(beyond.LocalQueues, q)
	})
	if err != nil {
		return
	}
	err = listObjects(ctx, r.cluster, r.resource("workloads"), metav1.NamespaceAll, metav1.ListOptions{}, func(w *kueue.Workload) {
		if w.Namespace != f.Namespace && !w.Is(kueue.QuotaReserved) {
			beyond.Workloads = append(beyond.Workloads, w)
		}
	})
	if err == nil {
		f.Kueue.Neighbours = beyond
	}
}

// readPods reads the Pods of a Job: by its kind's label, otherwise those that it controls.
func (r *factReader) readPods(ctx context.Context, j *inspect.Job) {
	label := j.Row().PodLabel
	if label != "" && j.PodLabelValue() == "" {
		// The Job has no Pods so far.
		return
	}
	r.read(inspect.PartPods, func() error {
		var byLabel metav1.ListOptions
		if label != "" {
			byLabel.LabelSelector = labels.Set{label: j.PodLabelValue()}.String()
		}
		return listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("pods"), j.Namespace, byLabel, func(o *podObject) {
			if p := o.pod; label != "" || p.JobUID == j.UID {
				r.store(func() { r.facts.AddPod(&p) })
			}
		})
	})
}

// readEvents reads the events about objects with these names, and the warnings about Pods.
func (r *factReader) readEvents(ctx context.Context, namespace string, names ...string) {
	r.read(inspect.PartEvents, func() error {
		events := corev1.SchemeGroupVersion.WithResource("events")
		keep := func(o *eventObject) {
			e := o.event
			r.store(func() { r.facts.Events = append(r.facts.Events, &e) })
		}
		selectors := []string{"involvedObject.kind=Pod,type=Warning"}
		for _, name := range names {
			selectors = append(selectors, kfields.OneTermEqualSelector("involvedObject.name", name).String())
		}
		for _, selector := range selectors {
			// The other requests would fail for the same reason.
			if err := listObjects(ctx, r.cluster, events, namespace, metav1.ListOptions{FieldSelector: selector}, keep); err != nil {
				return err
			}
		}
		return nil
	})
}
