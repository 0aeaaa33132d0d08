package read

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// probesOfCluster is how many Workloads are looked for to find the context of a MultiKueueCluster.
const probesOfCluster = 3

// offered is a Workload of a manager that MultiKueueClusters got.
type offered struct {
	inspect.Offer
	name    types.NamespacedName
	created time.Time
}

// locate finds the contexts of MultiKueueClusters whose address is unknown, or which do not answer
// at it: by other Workloads of their managers in some namespaces. What cannot be read stays
// unknown.
func locate(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, namespaces []string) {
	missing := map[string][]string{}
	for _, manager := range v.Clusters {
		if names := v.Unlocated(manager); len(names) > 0 {
			missing[manager.Context] = names
		}
	}
	if len(missing) == 0 || len(namespaces) == 0 {
		return
	}
	probes := map[string][]offered{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]offered, error) {
		if missing[c.Context] == nil {
			return nil, nil
		}
		return offersAt(ctx, c, v.Facts(c.Context).Kueue.Version, namespaces, missing[c.Context])
	}) {
		if a.Err == nil && len(a.Value) > 0 {
			probes[a.Context] = a.Value
		}
	}
	if len(probes) == 0 {
		return
	}
	found := copies(ctx, f, v, probes)
	for manager, all := range probes {
		var offers []inspect.Offer
		for _, o := range all {
			o.Contexts = found[manager][o.name]
			slices.Sort(o.Contexts)
			offers = append(offers, o.Offer)
		}
		v.AddOffers(v.Facts(manager), offers)
	}
}

// copies returns the contexts with copies of Workloads, by the context of their manager.
func copies(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, probes map[string][]offered) map[string]map[types.NamespacedName][]string {
	type at struct {
		manager string
		name    types.NamespacedName
	}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) ([]at, error) {
		facts := v.Facts(c.Context)
		if facts == nil || facts.Kueue == nil {
			return nil, nil
		}
		var copied []at
		for manager, all := range probes {
			for _, o := range all {
				if manager != c.Context && hasCopy(ctx, c, facts.Kueue.Version, o.name) {
					copied = append(copied, at{manager, o.name})
				}
			}
		}
		return copied, nil
	})
	found := map[string]map[types.NamespacedName][]string{}
	for _, a := range answers {
		for _, c := range a.Value {
			if found[c.manager] == nil {
				found[c.manager] = map[types.NamespacedName][]string{}
			}
			found[c.manager][c.name] = append(found[c.manager][c.name], a.Context)
		}
	}
	return found
}

// offersAt returns the newest Workloads of a manager that some MultiKueueClusters got. Those that
// one cluster got come first, because they prove the most.
func offersAt(ctx context.Context, c *fleet.Cluster, version string, namespaces, clusters []string) ([]offered, error) {
	type workload struct {
		metav1.ObjectMeta `json:"metadata"`
		Status            kueue.WorkloadStatus `json:"status"`
	}
	workloads := kueueResource(version, "workloads")
	var all []offered
	for _, namespace := range namespaces {
		err := listObjects(ctx, c, workloads, namespace, metav1.ListOptions{}, func(o *workload) {
			w := kueue.Workload{ObjectMeta: o.ObjectMeta, Status: o.Status}
			offer, ok := inspect.NewOffer(&w)
			if ok && !w.Is(kueue.Finished) {
				all = append(all, offered{offer, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, o.CreationTimestamp.Time})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b offered) int {
		return cmp.Or(cmp.Compare(len(a.Clusters), len(b.Clusters)), b.created.Compare(a.created), cmp.Compare(a.name.String(), b.name.String()))
	})
	count := map[string]int{}
	return slices.DeleteFunc(all, func(o offered) bool {
		isNeeded := slices.ContainsFunc(o.Clusters, func(name string) bool {
			return count[name] < probesOfCluster && (len(o.Clusters) == 1 || slices.Contains(clusters, name))
		})
		for _, name := range o.Clusters {
			count[name]++
		}
		return !isNeeded
	}), nil
}

// hasCopy reports whether a cluster has a Workload that MultiKueue copied there.
func hasCopy(ctx context.Context, c *fleet.Cluster, version string, name types.NamespacedName) bool {
	w, err := Get[kueue.Workload](ctx, c, kueueResource(version, "workloads"), name.Namespace, name.Name)
	return err == nil && w != nil && w.Labels[delegation.MultiKueueOriginLabel] != ""
}

// places returns the places that marks point to, with the UIDs of the objects there.
func places(clusters []*inspect.Facts) []delegation.Place {
	var found []delegation.Place
	seen := sets.New[delegation.Place]()
	add := func(p delegation.Place) {
		if p.Name != "" && !seen.Has(p) {
			seen.Insert(p)
			found = append(found, p)
		}
	}
	for _, f := range clusters {
		for _, j := range f.Jobs {
			if j.Marks == nil {
				continue
			}
			origin := j.Marks.Origin
			origin.UID = j.Marks.OriginUID
			add(origin)
			add(j.Marks.Mirror)
		}
		if f.Past != nil {
			for _, p := range f.Past.Places {
				add(p)
			}
		}
	}
	return found
}

// learnPlaces reads the UIDs of the namespaces that identify the clusters of places, where the
// UIDs of the clusters do not: the writer of a mark or this user may not read kube-system.
func learnPlaces(ctx context.Context, f *fleet.Fleet, clusters []*inspect.Facts) {
	unnamed, all := sets.New[string](), sets.New[string]()
	for _, p := range places(clusters) {
		if p.NamespaceUID == "" {
			continue
		}
		all.Insert(p.Namespace)
		if p.ClusterUID == "" {
			unnamed.Insert(p.Namespace)
		}
	}
	missing, known := map[string][]string{}, map[string]*inspect.Facts{}
	for _, facts := range clusters {
		if facts.Err != nil {
			continue
		}
		wanted := unnamed
		if facts.ClusterUID == "" {
			wanted = all
		}
		for _, namespace := range sets.List(wanted) {
			if facts.Namespaces[namespace].UID == "" {
				missing[facts.Context] = append(missing[facts.Context], namespace)
			}
		}
		known[facts.Context] = facts
	}
	if len(missing) == 0 {
		return
	}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (map[string]string, error) {
		for _, namespace := range missing[c.Context] {
			// A namespace that cannot be read identifies nothing. A snapshot may lack one of several.
			_ = c.LearnNamespaces(ctx, namespace)
		}
		return c.Identity().Namespaces, nil
	}) {
		if facts := known[a.Context]; facts != nil && len(a.Value) > 0 {
			facts.NamespaceUIDs = a.Value
		}
	}
}
