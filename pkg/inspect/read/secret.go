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

// KubeconfigSecret returns the Secret with a MultiKueueCluster's kubeconfig. It is in Kueue's
// default namespace, otherwise, if Kueue is installed in another one, the only Secret of that name
// with a kubeconfig. Both results are nil if there is none. The Secret holds credentials: callers
// that keep it must remove them.
func KubeconfigSecret(ctx context.Context, c *fleet.Cluster, name string) (secret map[string]any, kubeconfig []byte, err error) {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	ctx = fleet.WithoutCache(ctx)
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

// kubeconfigOf returns the kubeconfig in a Secret, nil if there is none or it is invalid.
func kubeconfigOf(secret map[string]any) []byte {
	text, _, _ := unstructured.NestedString(secret, "data", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return kubeconfig
}
