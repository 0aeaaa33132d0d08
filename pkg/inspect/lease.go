package inspect

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Lease is what is kept of the Lease of a Job that is dispatched.
type Lease struct {
	Namespace, Name string
	// OriginUID is the uid of the Job that it is for.
	OriginUID string
	Holder    string
	// Duration is how long it is held without being renewed.
	Duration time.Duration
	// Acquired is when Holder took it.
	Acquired time.Time
	// Renewed is when it was last written. renewTime is of the clock of whoever
	// holds it, which may be off; so the API server's own note of that write counts
	// where there is one.
	Renewed time.Time
}

// leaseMargin is how much longer than it says a Lease is taken to be held: clocks
// are known to a second or so, and a renewal may just be on its way.
const leaseMargin = 5 * time.Second

// HeldAt says whether somebody holds it, at a time by the clock of its cluster. No
// Lease is held by nobody.
func (l *Lease) HeldAt(now time.Time) bool {
	return l != nil && l.Holder != "" && now.Before(l.Renewed.Add(l.Duration+leaseMargin))
}

// FreeSince is since when nobody holds a Lease that nobody holds; zero where
// nothing tells.
func (l *Lease) FreeSince() time.Time {
	if l.Holder == "" || l.Renewed.IsZero() {
		return l.Renewed
	}
	return l.Renewed.Add(l.Duration)
}

// leaseObject is what is read of a Lease.
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

func readLease(o *leaseObject) *Lease {
	l := &Lease{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, OriginUID: o.Metadata.Labels[delegation.OriginUIDLabel],
		Holder: o.Spec.HolderIdentity, Duration: time.Duration(o.Spec.LeaseDurationSeconds) * time.Second,
		Acquired: deref(o.Spec.AcquireTime).Time,
	}
	for _, f := range o.Metadata.ManagedFields {
		if t := deref(f.Time).Time; t.After(l.Renewed) {
			l.Renewed = t
		}
	}
	if l.Renewed.IsZero() {
		l.Renewed = deref(o.Spec.RenewTime).Time
	}
	return l
}

// listLeases reads the Leases that a label selector picks, by namespace and name.
func listLeases(ctx context.Context, c *fleet.Cluster, namespace, selector string) (map[string]*Lease, error) {
	leases := map[string]*Lease{}
	resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
	err := listObjects(ctx, c, resource, namespace, metav1.ListOptions{LabelSelector: selector}, func(o *leaseObject) {
		leases[o.Metadata.Namespace+"/"+o.Metadata.Name] = readLease(o)
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// knowsLeases says whether the Leases of dispatched Jobs were read.
func (f *Facts) knowsLeases() bool { return f.Leases != nil && f.Gaps[PartLeases] == nil }

// LeaseOf is the Lease of a Job, nil if there is none. That of an older Job of the
// same name is not its own. known is false where Leases were not read.
func (f *Facts) LeaseOf(j *Job) (l *Lease, known bool) {
	if f == nil || !f.knowsLeases() {
		return nil, false
	}
	l = f.Leases[j.Namespace+"/"+j.Row().LeaseName(j.Name)]
	if l == nil || l.OriginUID != j.UID {
		return nil, true
	}
	return l, true
}
