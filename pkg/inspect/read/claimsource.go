package read

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// claimsOf is where the uids come from that Workloads were made for: all of a namespace, so
// that it is the same whichever Jobs it is that are asked about.
func claimsOf(client metadata.Interface, workloads schema.GroupVersionResource, namespace string) fleet.Source[string] {
	objects := client.Resource(workloads).Namespace(namespace)
	uid := func(o runtime.Object) (key, uid string, err error) {
		about, err := meta.Accessor(o)
		if err != nil {
			return "", "", fmt.Errorf("the server sent a %T in place of metadata: %w", o, err)
		}
		return fleet.ObjectKey(about.GetNamespace(), about.GetName()), about.GetLabels()[kueue.JobUIDLabel], nil
	}
	return fleet.Source[string]{
		Key:  strings.Join([]string{"claims", workloads.String(), namespace}, "\n"),
		What: workloads.GroupResource().String(),
		List: func(ctx context.Context, visit func(string, string)) (version string, err error) {
			p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				list, err := objects.List(ctx, o)
				if err == nil {
					err = fleet.GoesOn(o.Continue, list.Continue)
				}
				if err != nil {
					return nil, err
				}
				if o.Continue == "" {
					version = list.ResourceVersion
				}
				return list, nil
			})
			p.PageSize, p.PageBufferSize, p.FullListIfExpired = chunk, 1, false
			err = p.EachListItem(ctx, metav1.ListOptions{LabelSelector: kueue.JobUIDLabel}, func(o runtime.Object) error {
				key, made, err := uid(o)
				if err == nil {
					visit(key, made)
				}
				return err
			})
			return version, err
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = kueue.JobUIDLabel
			return objects.Watch(ctx, o)
		},
		Decode: func(o runtime.Object) (string, error) {
			_, made, err := uid(o)
			return made, err
		},
	}
}
