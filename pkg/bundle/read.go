package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// reading is what was read of one cluster.
type reading struct {
	context Context
	records []*record
	// workers are where MultiKueueClusters lead.
	workers []kubecontext.Address
}

// reader reads one cluster.
type reader struct {
	cluster   *fleet.Cluster
	options   Options
	namespace string
	// mu guards the records: several lists are read at once.
	mu sync.Mutex
	reading
}

// readOne reads one cluster. What it may not or cannot read is part of the
// reading. An error means that there is none, unless it is that Jobs are
// forbidden: then another context that reaches the cluster may do better.
func readOne(ctx context.Context, c *fleet.Cluster, o Options) (*reading, error) {
	r := &reader{cluster: c, options: o, namespace: c.Namespace}
	r.context = Context{
		Name: c.Context, Server: address(c.Server), CA: c.CA, ClusterUID: c.UID, Namespace: c.Namespace,
		Served: []string{corev1.SchemeGroupVersion.String()},
	}
	if o.AllNamespaces {
		r.namespace = metav1.NamespaceAll
	} else {
		r.context.Namespaces = []string{c.Namespace}
	}
	dispatched := map[string]bool{}
	jobsErr := r.list(ctx, jobs(), r.namespace, metav1.ListOptions{}, func(job map[string]any) bool {
		dispatchedIn(dispatched, delegation.Job(), job)
		return true
	})
	var answered apierrors.APIStatus
	if jobsErr != nil && !errors.As(jobsErr, &answered) {
		return nil, &kubecontext.Error{Doing: r.doing(), Err: jobsErr}
	}
	r.note(jobs(), jobsErr)
	if !apierrors.IsNotFound(jobsErr) {
		r.context.Served = append(r.context.Served, batchv1.SchemeGroupVersion.String())
	}
	kinds := r.findKinds(ctx)
	kindErrs := r.readKinds(ctx, kinds, dispatched)
	r.note(events(), r.list(ctx, events(), r.namespace, metav1.ListOptions{}, r.isRelevant))
	r.readLeases(ctx, dispatched)
	r.readNamespaces(ctx)
	r.readKueue(ctx)
	for i, err := range kindErrs {
		r.note(resourceOf(kinds[i]), err)
	}
	r.readVersion(ctx)
	r.readSkew()
	if apierrors.IsForbidden(jobsErr) {
		return &r.reading, &kubecontext.Error{Doing: r.doing(), Err: jobsErr}
	}
	return &r.reading, nil
}

func (r *reader) doing() string {
	if r.namespace == metav1.NamespaceAll {
		return "list jobs in all namespaces"
	}
	return fmt.Sprintf("list jobs in namespace %q", r.namespace)
}

// readNamespaces reads all Namespaces, or else at least the one that tells
// which cluster it is, and the one that is looked at.
func (r *reader) readNamespaces(ctx context.Context) {
	err := r.listAll(ctx, namespaces(), metav1.ListOptions{})
	r.note(namespaces(), err)
	if err == nil {
		return
	}
	for _, name := range []string{metav1.NamespaceSystem, r.namespace} {
		if name == metav1.NamespaceAll {
			continue
		}
		// That these cannot be had is told above.
		if o, err := read.Get[map[string]any](ctx, r.cluster, namespaces().GroupVersionResource, "", name); err == nil && o != nil {
			r.keep(namespaces(), *o)
		}
	}
}

func (r *reader) readVersion(ctx context.Context) {
	// That it cannot be had is told of what matters more.
	r.context.Version, _ = read.Version(ctx, r.cluster)
}

// readSkew tells how far the clock is off, where it is more than answers take.
func (r *reader) readSkew() {
	const noticeable = 2 * time.Second
	skew := r.cluster.Skew()
	if middle := (skew.Min + skew.Max) / 2; skew.Known && middle.Abs() >= noticeable {
		// A bundle tells it by a Date header, which cuts off half a second on
		// average.
		r.context.ClockSkewSeconds = math.Round((middle - time.Second/2).Seconds())
	}
}

// note records that a resource could not be read.
func (r *reader) note(res resource, err error) {
	if err == nil {
		return
	}
	name := res.GroupResource().String()
	if !slices.ContainsFunc(r.context.Unread, func(u Unread) bool { return u.Resource == name }) {
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

// keep cuts an object down to what may be kept, and keeps it.
func (r *reader) keep(res resource, o map[string]any) {
	o["apiVersion"], o["kind"] = res.GroupVersion().String(), res.kind
	clean(o, r.options.Redact)
	metadata, _ := o["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	text, err := json.Marshal(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.note(res, fmt.Errorf("%s %q cannot be written: %w", res.kind, name, err))
		return
	}
	r.records = append(r.records, &record{group: res.Group, kind: res.kind, namespace: namespace, name: name, json: text})
}

// address is a server's URL without the user and password that it may hold.
func address(server string) string {
	if !strings.Contains(server, "@") {
		return server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		// Without a scheme: what stands in front of the @ goes.
		return server[strings.LastIndex(server, "@")+1:]
	}
	u.User = nil
	return u.String()
}
