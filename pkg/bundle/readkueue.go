package bundle

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// readKueue reads what is Kueue's, where there is Kueue.
func (r *reader) readKueue(ctx context.Context) {
	version, err := read.KueueVersion(ctx, r.cluster)
	if err != nil {
		r.note(kueueResource("", everything, "", false), causeOf(ctx, err))
	}
	if version == "" {
		return
	}
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
	var c kueue.MultiKueueCluster
	// What cannot be understood names none.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(cluster, &c)
	return c.SecretName()
}

// readSecret reads the Secret of a MultiKueueCluster, and keeps of it where the
// cluster is. That there is none is not an error.
func (r *reader) readSecret(ctx context.Context, name string) error {
	secret, _, err := read.KubeconfigSecret(ctx, r.cluster, name)
	if err != nil || secret == nil {
		return causeOf(ctx, err)
	}
	kept, kubeconfig := cutSecret(secret)
	if worker, err := read.AddressIn(kubeconfig); err == nil {
		r.workers = append(r.workers, worker)
	}
	r.keep(secrets(), kept)
	return nil
}
