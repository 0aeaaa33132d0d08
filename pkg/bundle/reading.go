package bundle

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reading records one cluster while it is read.
type reading struct {
	recorder
	cluster *fleet.Cluster
	options *Options
	context Context
	// included are the resources whose objects the snapshot has.
	included []resource
}

// finish completes the facts about a cluster that was read, and returns the objects to write.
func (r *reading) finish(facts *inspect.Facts) (Context, []*record) {
	c := r.cluster
	r.context = Context{
		Name: c.Context, Server: address(c.Server), CA: c.CA, ClusterUID: c.UID(), Namespace: c.Namespace,
		Version: facts.Version, ClockSkewSeconds: skewSeconds(facts.Skew),
		Served: []string{corev1.SchemeGroupVersion.String()},
	}
	if !r.options.AllNamespaces {
		r.context.Namespaces = []string{c.Namespace}
	}
	r.include(jobs())
	if !apierrors.IsNotFound(r.unread(jobs().GroupVersionResource)) {
		r.serves(batchv1.SchemeGroupVersion)
	}
	r.recordGroups(facts)
	kinds := r.recordKinds(facts)
	r.include(pods(), events())
	// Leases are requested only if Jobs are dispatched. Their API is recorded together with them:
	// a snapshot without Leases must not claim that there are none.
	if err := r.unread(leases().GroupVersionResource); !errors.Is(err, errNotRequested) && !apierrors.IsNotFound(err) {
		r.include(leases())
		r.serves(coordinationv1.SchemeGroupVersion)
	}
	r.include(namespaces())
	r.note(kueueResource("", everything, ""), facts.Gaps[inspect.PartKueue])
	if facts.Kueue != nil {
		if facts.Kueue.ServesOld && facts.Kueue.Version != delegation.OldKueueVersion {
			r.serves(schema.GroupVersion{Group: kueue.Group, Version: delegation.OldKueueVersion})
		}
		r.recordKueue(facts.Kueue.Version)
	}
	r.include(kinds...)
	return r.context, slices.DeleteFunc(r.objectsOf(r.included), func(o *record) bool {
		return o.resource == events().GroupVersionResource && !r.isRelevant(o.about)
	})
}

// include adds resources to the snapshot, and records why one of them is incomplete.
func (r *reading) include(resources ...resource) {
	for _, res := range resources {
		r.included = append(r.included, res)
		r.note(res, r.unread(res.GroupVersionResource))
	}
}

// isRelevant reports whether an event about an object of a kind belongs to an object in the
// snapshot, or to one that existed earlier.
func (r *reading) isRelevant(kind string) bool {
	return slices.Contains([]string{
		jobs().kind, pods().kind, "Workload", "MultiKueueCluster", "ClusterQueue", "LocalQueue", "AdmissionCheck",
	}, kind) || slices.ContainsFunc(r.context.Kinds, func(k ServedKind) bool { return k.Kind == kind && !k.Omitted })
}

// serves records that an API is served.
func (r *reading) serves(gv schema.GroupVersion) {
	r.context.Served = append(r.context.Served, gv.String())
}

// recordKueue records the API and the resources of Kueue.
func (r *reading) recordKueue(version string) {
	r.serves(schema.GroupVersion{Group: kueue.Group, Version: version})
	r.include(kueueResources(version)...)
	for _, res := range capacityResources(version) {
		if apierrors.IsNotFound(r.unread(res.GroupVersionResource)) {
			// The cluster does not serve it, which is recorded by omitting it.
			continue
		}
		r.include(res)
		if gv := res.GroupVersion(); !slices.Contains(r.context.Served, gv.String()) {
			r.serves(gv)
		}
		r.context.Recorded = append(r.context.Recorded, res.GroupResource().String())
	}
	// These are requested only if MultiKueueClusters name them.
	for _, res := range []resource{secrets(), clusterProfiles()} {
		r.included = append(r.included, res)
		if err := r.unread(res.GroupVersionResource); !errors.Is(err, errNotRequested) && !apierrors.IsNotFound(err) {
			r.note(res, err)
		}
	}
}

// recordGroups records the API groups whose resources are unknown.
func (r *reading) recordGroups(facts *inspect.Facts) {
	err := facts.Gaps[inspect.PartKinds]
	var partial *read.GroupsError
	if !errors.As(err, &partial) {
		unknown := unknownKinds()
		r.note(resource{GroupVersionResource: unknown.WithVersion("")}, err)
		return
	}
	for gv, err := range partial.Failed {
		if slices.ContainsFunc(facts.Kinds, func(k delegation.Kind) bool { return k.Resource.Group == gv.Group }) {
			// The kinds that were found take precedence.
			continue
		}
		if gv.Version != "" {
			r.serves(gv)
		}
		r.note(resource{GroupVersionResource: schema.GroupVersionResource{Group: gv.Group, Resource: everything}}, err)
	}
}

// recordKinds records the kinds besides Jobs, and returns those whose objects were read. The
// others are recorded as omitted.
func (r *reading) recordKinds(facts *inspect.Facts) (wanted []resource) {
	for _, k := range facts.Kinds {
		kind := servedKind(k)
		switch {
		case k.IsJob() && kind.ManagedBy != "", k.Resource == pods().GroupVersionResource:
			// Every cluster serves these in the same way.
			continue
		case k.IsJob():
		case r.options.isWanted(k):
			wanted = append(wanted, resourceOf(k))
		default:
			kind.Omitted = true
		}
		r.context.Kinds = append(r.context.Kinds, kind)
	}
	return wanted
}

// note records that a resource could not be read.
func (r *reading) note(res resource, err error) {
	name := res.GroupResource().String()
	if err != nil && !slices.ContainsFunc(r.context.Unread, func(u Unread) bool { return u.Resource == name }) {
		r.context.Unread = append(r.context.Unread, Unread{Resource: name, Status: statusOf(err)})
	}
}

// statusOf returns the server's answer, or an equivalent Status if there was none.
func statusOf(err error) metav1.Status {
	var answered apierrors.APIStatus
	if errors.As(err, &answered) {
		return answered.Status()
	}
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
	}
	if kubecontext.InContext("", "", err).Code() == kubecontext.CodeTimeout {
		status.Code, status.Reason = http.StatusGatewayTimeout, metav1.StatusReasonTimeout
	}
	// The prefix of net/http is of no use here.
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	status.Message = err.Error()
	return status
}

// skewSeconds returns the skew of a clock; 0 if it is within the duration of a request.
func skewSeconds(skew kubecontext.Skew) float64 {
	const noticeable = 2 * time.Second
	middle := (skew.Min + skew.Max) / 2
	if !skew.Known || middle.Abs() < noticeable {
		return 0
	}
	// A snapshot reproduces the skew through a Date header, which truncates half a second on
	// average.
	return math.Round((middle - time.Second/2).Seconds())
}
