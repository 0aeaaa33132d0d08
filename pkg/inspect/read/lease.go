package read

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	coordinationv1 "k8s.io/api/coordination/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// leaseObject has the needed fields of a Lease.
type leaseObject struct {
	Metadata struct {
		Namespace     string            `json:"namespace"`
		Name          string            `json:"name"`
		Labels        map[string]string `json:"labels"`
		ManagedFields []struct {
			Time *metav1.Time `json:"time"`
		} `json:"managedFields"`
	} `json:"metadata"`
	Spec struct {
		HolderIdentity       string       `json:"holderIdentity"`
		LeaseDurationSeconds int32        `json:"leaseDurationSeconds"`
		AcquireTime          *metav1.Time `json:"acquireTime"`
		RenewTime            *metav1.Time `json:"renewTime"`
	} `json:"spec"`
}

func readLease(o *leaseObject) *inspect.Lease {
	l := &inspect.Lease{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, OriginUID: o.Metadata.Labels[delegation.OriginUIDLabel],
		Holder: o.Spec.HolderIdentity, Duration: time.Duration(o.Spec.LeaseDurationSeconds) * time.Second,
		Acquired: ptr.Deref(o.Spec.AcquireTime, metav1.Time{}).Time,
	}
	for _, f := range o.Metadata.ManagedFields {
		if t := ptr.Deref(f.Time, metav1.Time{}).Time; t.After(l.Renewed) {
			l.Renewed = t
		}
	}
	if l.Renewed.IsZero() {
		l.Renewed = ptr.Deref(o.Spec.RenewTime, metav1.Time{}).Time
	}
	if !l.Acquired.IsZero() {
		l.Acquired = l.Acquired.Add(holderBehind(o, l.Renewed))
	}
	return l
}

// holderBehind returns by how much the holder's clock is behind that of the Lease's cluster,
// because both dated the last renewal. It returns zero if another client wrote the Lease too, or if
// a slow request can explain the difference.
func holderBehind(o *leaseObject, renewed time.Time) time.Duration {
	theirs := ptr.Deref(o.Spec.RenewTime, metav1.Time{}).Time
	if theirs.IsZero() || len(o.Metadata.ManagedFields) != 1 {
		return 0
	}
	if behind := renewed.Sub(theirs); behind.Abs() >= maxRequestTime {
		return behind
	}
	return 0
}

// maxRequestTime is the longest time of a request, plus a second for the precision of an API server's
// times.
const maxRequestTime = 5 * time.Second

// listLeases returns the Leases that match a label selector, by namespace and name.
func listLeases(ctx context.Context, c *fleet.Cluster, namespace, selector string) (map[string]*inspect.Lease, error) {
	leases := map[string]*inspect.Lease{}
	resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
	err := listObjects(ctx, c, resource, namespace, metav1.ListOptions{LabelSelector: selector}, func(o *leaseObject) {
		leases[o.Metadata.Namespace+"/"+o.Metadata.Name] = readLease(o)
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}
