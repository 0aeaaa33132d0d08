package bundle

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// readKueue reads what is Kueue's, where there is Kueue.
func (r *reader) readKueue(ctx context.Context) {
	var group metav1.APIGroup
	err := r.raw(ctx, "/apis/"+kueue.Group, &group)
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		r.note(kueueResource("", everything, "", false), err)
		return
	}
	versions := slices.DeleteFunc(kueue.Versions(), func(v string) bool {
		return !slices.ContainsFunc(group.Versions, func(s metav1.GroupVersionForDiscovery) bool { return s.Version == v })
	})
	if len(versions) == 0 {
		return
	}
	version := versions[0]
	r.context.Served = append(r.context.Served, kueue.Group+"/"+version)
	var locations []string
	for _, res := range kueueResources(version) {
		r.note(res, r.list(ctx, res, r.scope(res), metav1.ListOptions{}, func(o map[string]any) bool {
			if name := secretName(o); res == multiKueueClusters(version) && name != "" {
				locations = append(locations, name)
			}
			return true
		}))
	}
	for _, res := range capacityResources(version) {
		err := r.listAll(ctx, res, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			// It is not known here, which is what not to tell of it says.
			continue
		}
		r.note(res, err)
		r.context.Recorded = append(r.context.Recorded, res.GroupResource().String())
	}
	slices.Sort(locations)
	for _, name := range slices.Compact(locations) {
		r.note(secrets(), r.readSecret(ctx, name))
	}
}

func (r *reader) scope(res resource) string {
	if res.namespaced {
		return r.namespace
	}
	return ""
}

// secretName is the Secret that a MultiKueueCluster names, "" if it is none.
func secretName(cluster map[string]any) string {
	for _, path := range [][]string{{"spec", "clusterSource", "kubeConfig"}, {"spec", "kubeConfig"}} {
		source, ok, _ := unstructured.NestedMap(cluster, path...)
		if kind, _ := source["locationType"].(string); ok && (kind == "" || kind == "Secret") {
			name, _ := source["location"].(string)
			return name
		}
	}
	return ""
}

// readSecret reads the Secret of a MultiKueueCluster, and keeps of it where the
// cluster is. That there is none is not an error.
func (r *reader) readSecret(ctx context.Context, name string) error {
	secret, err := r.get(ctx, secrets(), kueue.Namespace, name)
	if apierrors.IsNotFound(err) {
		secret, err = r.findSecret(ctx, name)
	}
	if err != nil || secret == nil {
		return err
	}
	kept, kubeconfig := cutSecret(secret)
	if worker, err := read.AddressIn(kubeconfig); err == nil {
		r.workers = append(r.workers, worker)
	}
	r.keep(secrets(), kept)
	return nil
}

// findSecret looks for a Secret where Kueue is installed somewhere else.
func (r *reader) findSecret(ctx context.Context, name string) (map[string]any, error) {
	var found []map[string]any
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	err := r.visit(ctx, secrets(), "", byName, func(s map[string]any) {
		if kubeconfig, ok, _ := unstructured.NestedString(s, "data", "kubeconfig"); ok && kubeconfig != "" {
			found = append(found, s)
		}
	})
	if err != nil || len(found) != 1 {
		return nil, err
	}
	return found[0], nil
}
