package read

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// All reads all that rules judge by, from every cluster at once: Jobs and,
// of those that are delegated or mirrors, the pods and the warnings, and of those
// that are dispatched, the Leases; Namespaces; and Kueue's objects. A part that may
// not be read is a gap.
func All(ctx context.Context, f *fleet.Fleet, q Query, addresses []kubecontext.Address, now func() time.Time) *inspect.Inventory {
	clusters := readAllFacts(ctx, f, q, nil)
	return inspect.NewInventory(now(), clusters, addresses)
}

// readAllFacts reads every cluster for ReadAll. What was read before, if anything, is not
// asked for again where it is a list of many.
func readAllFacts(ctx context.Context, f *fleet.Fleet, q Query, before *inspect.Inventory) []*inspect.Facts {
	var clusters []*inspect.Facts
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
		var known *inspect.Capacity
		if before != nil {
			if facts := before.Facts(c.Context); facts != nil && facts.Kueue != nil {
				known = facts.Kueue.Capacity
			}
		}
		return readFacts(ctx, c, q, known)
	}) {
		facts := a.Value
		if facts == nil || a.Err != nil {
			facts = &inspect.Facts{Context: a.Context, Err: a.Err}
		}
		clusters = append(clusters, facts)
	}
	return clusters
}

// readFacts reads one cluster. known is what was listed of it before, nil if nothing was.
func readFacts(ctx context.Context, c *fleet.Cluster, q Query, known *inspect.Capacity) (*inspect.Facts, error) {
	facts := factsOf(c)
	if err := listInto(ctx, facts, c, q); err != nil {
		return facts, err
	}
	r := openKueue(ctx, c, facts)
	namespace := q.namespace(c)
	r.readVersion(ctx)
	r.readNamespaces(ctx)
	if jobs := interesting(facts); len(jobs) > 0 {
		r.readPodsOf(ctx, namespace, jobs)
		r.readWarnings(ctx, namespace, sets.KeySet(jobs))
	}
	if jobs := inspect.Dispatched(facts.Jobs); len(jobs) > 0 {
		r.readLeases(ctx, commonNamespace(jobs), delegation.OriginUIDLabel)
	}
	if r.hasKueue() {
		k := facts.Kueue
		r.readConfig(ctx)
		if all, ok := known.WorkloadsOf(namespace); ok {
			k.Workloads = all
		} else {
			readList(ctx, r, inspect.PartWorkloads, r.resource("workloads"), namespace, &k.Workloads)
		}
		readList(ctx, r, inspect.PartQueues, r.resource("localqueues"), namespace, &k.LocalQueues)
		readList(ctx, r, inspect.PartQueues, r.resource("clusterqueues"), "", &k.ClusterQueues)
	}
	r.wg.Wait()
	facts.Skew = c.Skew()
	return facts, context.Cause(ctx)
}

// interesting are the Jobs among facts whose pods and warnings are worth reading, by their
// uids: those that are delegated, or that carry a mark.
func interesting(f *inspect.Facts) map[string]*inspect.Job {
	jobs := map[string]*inspect.Job{}
	for _, j := range f.Jobs {
		if j.IsDelegated() || j.Marks != nil {
			jobs[j.UID] = j
		}
	}
	return jobs
}

func (r *factReader) readVersion(ctx context.Context) {
	r.read(inspect.PartVersion, func() error {
		client, err := r.cluster.REST(corev1.SchemeGroupVersion, "/api")
		if err != nil {
			return err
		}
		var v version.Info
		if err := fleet.DecodeJSON(client.Get().AbsPath("/version").SetHeader("Accept", "application/json").Do(ctx), &v); err != nil {
			return err
		}
		r.store(func() { r.facts.Version = v.GitVersion })
		return nil
	})
}

func (r *factReader) readNamespaces(ctx context.Context) {
	r.read(inspect.PartNamespaces, func() error {
		namespaces := map[string]inspect.Namespace{}
		resource := corev1.SchemeGroupVersion.WithResource("namespaces")
		type object struct {
			metav1.ObjectMeta `json:"metadata"`
			Status            corev1.NamespaceStatus `json:"status"`
		}
		err := listObjects(ctx, r.cluster, resource, "", metav1.ListOptions{}, func(o *object) {
			isTerminating := o.DeletionTimestamp != nil || o.Status.Phase == corev1.NamespaceTerminating
			namespaces[o.Name] = inspect.Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels, IsTerminating: isTerminating}
		})
		if err != nil {
			return err
		}
		r.store(func() { r.facts.Namespaces = namespaces })
		return nil
	})
}

// readPodsOf reads the pods of these Jobs, which have one label for each kind.
func (r *factReader) readPodsOf(ctx context.Context, namespace string, jobs map[string]*inspect.Job) {
	type labelled struct{ namespace, label, value string }
	ofKinds, wanted := sets.New[string](), sets.New[labelled]()
	for _, j := range jobs {
		if label := j.Row().PodLabel; label != "" && j.PodLabelValue() != "" {
			ofKinds.Insert(label)
			wanted.Insert(labelled{j.Namespace, label, j.PodLabelValue()})
		}
	}
	for _, label := range sets.List(ofKinds) {
		r.read(inspect.PartPods, func() error {
			ofJobs := metav1.ListOptions{LabelSelector: label}
			return listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("pods"), namespace, ofJobs, func(o *corev1.Pod) {
				p := readPod(o)
				if jobs[p.JobUID] != nil || wanted.Has(labelled{p.Namespace, label, o.Labels[label]}) && label != delegation.Job().PodLabel {
					r.store(func() { r.facts.AddPod(p) })
				}
			})
		})
	}
}

// readLeases reads the Leases that a label selector picks.
func (r *factReader) readLeases(ctx context.Context, namespace, selector string) {
	r.read(inspect.PartLeases, func() error {
		leases, err := listLeases(ctx, r.cluster, namespace, selector)
		if err != nil {
			return err
		}
		r.store(func() {
			if r.facts.Leases == nil {
				r.facts.Leases = leases
			}
			maps.Copy(r.facts.Leases, leases)
		})
		return nil
	})
}

// readWarnings reads the warnings about these Jobs, and who took the room of Workloads.
func (r *factReader) readWarnings(ctx context.Context, namespace string, jobs sets.Set[string]) {
	r.read(inspect.PartEvents, func() error {
		events := corev1.SchemeGroupVersion.WithResource("events")
		warnings := metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning}
		err := listObjects(ctx, r.cluster, events, namespace, warnings, func(o *corev1.Event) {
			if e := readEvent(o); jobs.Has(e.UID) {
				r.store(func() { r.facts.Events = append(r.facts.Events, e) })
			}
		})
		if err != nil || r.facts.NoKueue {
			return err
		}
		preemptions := metav1.ListOptions{FieldSelector: "reason=" + inspect.PreemptedReason}
		return listObjects(ctx, r.cluster, events, namespace, preemptions, func(o *corev1.Event) {
			if e := readEvent(o); e.IsPreemption() {
				r.store(func() { r.facts.Events = append(r.facts.Events, e) })
			}
		})
	})
}
