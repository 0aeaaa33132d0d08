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

// reading is one cluster that is read and recorded, and what a bundle tells of it.
type reading struct {
	recorder
	cluster *fleet.Cluster
	options *Options
	context Context
	// held are the resources that a bundle holds the objects of, and no others'.
	held []resource
}

// finish tells what a bundle has to of a cluster that was read, and returns the objects that
// it holds.
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
	r.hold(jobs())
	if !apierrors.IsNotFound(r.unread(jobs().GroupVersionResource)) {
		r.serves(batchv1.SchemeGroupVersion)
	}
	r.tellGroups(facts)
	kinds := r.tellKinds(facts)
	r.hold(pods(), events())
	// Leases are asked for where Jobs are dispatched. That the API is served is told along with
	// them: a bundle without any does not say of those that nobody has read that there are none.
	if err := r.unread(leases().GroupVersionResource); !errors.Is(err, errUnasked) && !apierrors.IsNotFound(err) {
		r.hold(leases())
		r.serves(coordinationv1.SchemeGroupVersion)
	}
	r.hold(namespaces())
	r.note(kueueResource("", everything, "", false), facts.Gaps[inspect.PartKueue])
	if facts.Kueue != nil {
		if facts.Kueue.ServesOld && facts.Kueue.Version != delegation.OldKueueVersion {
			r.serves(schema.GroupVersion{Group: kueue.Group, Version: delegation.OldKueueVersion})
		}
		r.tellKueue(facts.Kueue.Version)
	}
	r.hold(kinds...)
	return r.context, slices.DeleteFunc(r.of(r.held), func(o *record) bool {
		return o.resource == events().GroupVersionResource && !r.isRelevant(o.about)
	})
}

// hold has the bundle hold resources, and tell why it does not hold all of one.
func (r *reading) hold(resources ...resource) {
	for _, res := range resources {
		r.held = append(r.held, res)
		r.note(res, r.unread(res.GroupVersionResource))
	}
}

// isRelevant says whether an event about an object of a kind is about one that a bundle holds,
// or held until it was deleted.
func (r *reading) isRelevant(kind string) bool {
	return slices.Contains([]string{
		jobs().kind, pods().kind, "Workload", "MultiKueueCluster", "ClusterQueue", "LocalQueue", "AdmissionCheck",
	}, kind) || slices.ContainsFunc(r.context.Kinds, func(k ServedKind) bool { return k.Kind == kind && !k.Omitted })
}

// serves tells that an API is served.
func (r *reading) serves(gv schema.GroupVersion) {
	r.context.Served = append(r.context.Served, gv.String())
}

// tellKueue tells of what is Kueue's.
func (r *reading) tellKueue(version string) {
	r.serves(schema.GroupVersion{Group: kueue.Group, Version: version})
	r.hold(kueueResources(version)...)
	for _, res := range capacityResources(version) {
		if apierrors.IsNotFound(r.unread(res.GroupVersionResource)) {
			// It is not known here, which is what not to tell of it says.
			continue
		}
		r.hold(res)
		if gv := res.GroupVersion(); !slices.Contains(r.context.Served, gv.String()) {
			r.serves(gv)
		}
		r.context.Recorded = append(r.context.Recorded, res.GroupResource().String())
	}
	// Those that MultiKueueClusters name are asked for, if there are any.
	for _, res := range []resource{secrets(), clusterProfiles()} {
		r.held = append(r.held, res)
		if err := r.unread(res.GroupVersionResource); !errors.Is(err, errUnasked) && !apierrors.IsNotFound(err) {
			r.note(res, err)
		}
	}
}

// tellGroups tells of which groups it is not known what they serve.
func (r *reading) tellGroups(facts *inspect.Facts) {
	err := facts.Gaps[inspect.PartKinds]
	var partial *read.GroupsError
	if !errors.As(err, &partial) {
		unknown := unknownKinds()
		r.note(resource{GroupVersionResource: unknown.WithVersion("")}, err)
		return
	}
	for gv, err := range partial.Failed {
		if slices.ContainsFunc(facts.Kinds, func(k delegation.Kind) bool { return k.Resource.Group == gv.Group }) {
			// What was found of it counts for more.
			continue
		}
		if gv.Version != "" {
			r.serves(gv)
		}
		r.note(resource{GroupVersionResource: schema.GroupVersionResource{Group: gv.Group, Resource: everything}}, err)
	}
}

// tellKinds tells which kinds there are beside Jobs, and returns those whose objects were
// read. Of the others it is told that they are there.
func (r *reading) tellKinds(facts *inspect.Facts) (wanted []resource) {
	for _, k := range facts.Kinds {
		told := servedKind(k)
		switch {
		case k.IsJob() && told.ManagedBy != "", k.Resource == pods().GroupVersionResource:
			// Every cluster serves them like this.
			continue
		case k.IsJob():
		case r.options.isWanted(k):
			wanted = append(wanted, resourceOf(k))
		default:
			told.Omitted = true
		}
		r.context.Kinds = append(r.context.Kinds, told)
	}
	return wanted
}

// note tells that a resource could not be read.
func (r *reading) note(res resource, err error) {
	name := res.GroupResource().String()
	if err != nil && !slices.ContainsFunc(r.context.Unread, func(u Unread) bool { return u.Resource == name }) {
		r.context.Unread = append(r.context.Unread, Unread{Resource: name, Status: statusOf(err)})
	}
}

// statusOf is what a server said, or would have said if it had answered.
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
	// What net/http puts in front of it nobody has a use for.
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	status.Message = err.Error()
	return status
}

// skewSeconds is how far a clock is off, 0 where it is not more than answers take.
func skewSeconds(skew kubecontext.Skew) float64 {
	const noticeable = 2 * time.Second
	middle := (skew.Min + skew.Max) / 2
	if !skew.Known || middle.Abs() < noticeable {
		return 0
	}
	// A bundle tells it by a Date header, which cuts off half a second on average.
	return math.Round((middle - time.Second/2).Seconds())
}
