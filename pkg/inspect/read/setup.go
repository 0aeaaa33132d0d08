package read

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// readSetup reads the configuration of a cluster that readConfig does not: the queues of a
// namespace, "" for all, and the installation of Kueue.
func (r *factReader) readSetup(ctx context.Context, namespace string) {
	r.store(func() {
		r.facts.Setup = &inspect.Setup{}
		if r.isWhole {
			return
		}
		r.facts.Namespace, r.facts.Unrequested = namespace, map[inspect.Part]bool{}
		for _, part := range []inspect.Part{inspect.PartKinds, inspect.PartJobs, inspect.PartWorkloads, inspect.PartPods, inspect.PartEvents, inspect.PartLeases} {
			r.facts.Unrequested[part] = true
		}
	})
	if r.hasKueue() {
		r.readInstallation(ctx)
		r.readPriorityClasses(ctx)
	}
	if r.isWhole {
		// Other reads include the rest.
		return
	}
	r.readVersion(ctx)
	if namespace == "" {
		r.readNamespaces(ctx, r.cluster.Namespace)
	} else {
		r.readOneNamespace(ctx, namespace)
	}
	if r.hasKueue() {
		readList(ctx, r, inspect.PartQueues, r.resource("localqueues"), namespace, &r.facts.Kueue.LocalQueues)
		readList(ctx, r, inspect.PartQueues, r.resource("clusterqueues"), "", &r.facts.Kueue.ClusterQueues)
	}
}

// readOneNamespace reads a Namespace by its name, which needs fewer rights than a list.
func (r *factReader) readOneNamespace(ctx context.Context, name string) {
	r.read(inspect.PartNamespaces, func() error {
		found, err := getNamespace(ctx, r.cluster, name)
		if err != nil {
			return err
		}
		r.store(func() {
			r.facts.Namespaces = map[string]inspect.Namespace{}
			if found != nil {
				r.facts.Namespaces[name] = *found
			}
		})
		return nil
	})
}

func (r *factReader) readPriorityClasses(ctx context.Context) {
	type class struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Value    int32             `json:"value"`
	}
	r.read(inspect.PartPriorityClasses, func() error {
		classes := map[string]int32{}
		err := listObjects(ctx, r.cluster, r.resource("workloadpriorityclasses"), "", metav1.ListOptions{}, func(o *class) {
			classes[o.Metadata.Name] = o.Value
		})
		if err != nil {
			return err
		}
		r.store(func() { r.facts.Setup.PriorityClasses = classes })
		return nil
	})
}

// noteNoCredential records why the credential of a MultiKueueCluster is unknown, if Setup was requested.
func (r *factReader) noteNoCredential(cluster string, why error) {
	r.store(func() { r.storeCredential(cluster, kubeconfigFacts{noCredential: why}) })
}

// storeCredential records the public facts of a MultiKueueCluster's credential, or why there are
// none, if Setup was requested. The caller holds the lock.
func (r *factReader) storeCredential(cluster string, known kubeconfigFacts) {
	setup := r.facts.Setup
	switch {
	case setup == nil:
	case known.credential == nil:
		setup.SetNoCredential(cluster, known.noCredential)
		r.facts.Gaps[inspect.PartCredentials] = ofClusters(setup.NoCredentials)
	default:
		setup.SetCredential(cluster, *known.credential)
	}
}

// listedNode has the needed fields of a Node. Most of a Node is images and conditions.
type listedNode struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Taints        []corev1.Taint `json:"taints"`
		Unschedulable bool           `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Allocatable corev1.ResourceList `json:"allocatable"`
	} `json:"status"`
}

func (n *listedNode) node() *podfit.Node {
	return &podfit.Node{
		Name: n.Metadata.Name, Labels: n.Metadata.Labels, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable, Allocatable: n.Status.Allocatable,
	}
}

// readSite reads what a cluster has for Pods: all nodes, and some namespaces. A denial is not a gap.
func (r *factReader) readSite(ctx context.Context, namespaces []string) {
	site := &inspect.Environment{Namespaces: map[string]*inspect.Namespace{}}
	r.store(func() { r.facts.Environment = site })
	r.wg.Go(func() {
		nodes := []*podfit.Node{}
		err := listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("nodes"), "", metav1.ListOptions{}, func(o *listedNode) {
			nodes = append(nodes, o.node())
		})
		r.store(func() {
			switch {
			case apierrors.IsNotFound(err):
				// A snapshot has no nodes.
			case err != nil:
				site.NodesErr = err
			default:
				site.Nodes = nodes
			}
		})
	})
	for _, name := range namespaces {
		r.wg.Go(func() {
			o, err := getNamespace(ctx, r.cluster, name)
			if err == nil {
				r.store(func() { site.Namespaces[name] = o })
			}
		})
	}
}

// getNamespace returns a Namespace, nil if it does not exist.
func getNamespace(ctx context.Context, c *fleet.Cluster, name string) (*inspect.Namespace, error) {
	type object struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	o, err := Get[object](ctx, c, corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
	if err != nil || o == nil {
		return nil, err
	}
	return &inspect.Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels, CreatedAt: o.CreationTimestamp.Time, IsTerminating: o.DeletionTimestamp != nil}, nil
}
