package read

import (
	"context"
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kfields "k8s.io/apimachinery/pkg/fields"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// KubeconfigSecret finds the Secret in which a MultiKueueCluster's kubeconfig is: in the
// namespace that Kueue is in by default, or else the only one of that name that holds a
// kubeconfig, where Kueue is installed somewhere else. Both are nil where there is none.
// The whole of it holds credentials: whoever keeps it has to cut them out.
func KubeconfigSecret(ctx context.Context, c *fleet.Cluster, name string) (secret map[string]any, kubeconfig []byte, err error) {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	ctx = fleet.Unremembered(ctx)
	found, err := Get[map[string]any](ctx, c, secrets, kueue.Namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if found != nil {
		return *found, kubeconfigOf(*found), nil
	}
	var all []map[string]any
	byName := metav1.ListOptions{FieldSelector: kfields.OneTermEqualSelector("metadata.name", name).String()}
	err = listObjects(ctx, c, secrets, "", byName, func(s *map[string]any) {
		if len(kubeconfigOf(*s)) > 0 {
			all = append(all, *s)
		}
	})
	if err != nil || len(all) != 1 {
		return nil, nil, err
	}
	return all[0], kubeconfigOf(all[0]), nil
}

// kubeconfigOf is the kubeconfig in a Secret, nil if there is none that can be read.
func kubeconfigOf(secret map[string]any) []byte {
	text, _, _ := unstructured.NestedString(secret, "data", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return kubeconfig
}
