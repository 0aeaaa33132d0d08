package dispatch

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// locate looks on a cluster for the mirror that an origin names. is says whether that
// is where it is said to be. The uid is the proof: whoever wrote the mark may have been
// allowed more or less than we are, and called the cluster by what they knew of it. Where
// nothing tells, that there is no such mirror says nothing.
func locate(ctx context.Context, w *fleet.Cluster, k delegation.Kind, named delegation.Place) (mirror *unstructured.Unstructured, is delegation.Sameness, err error) {
	if is = named.On(identityOf(w)); is == delegation.CertainlyOther {
		return nil, is, nil
	}
	mirror, err = w.Get(ctx, k.Resource, named.Namespace, named.Name)
	if is != delegation.CertainlySame && kubecontext.IsUnserved(err) {
		// It is not this cluster that it was made on.
		return nil, is, nil
	}
	if mirror != nil && named.UID != "" && string(mirror.GetUID()) == named.UID {
		is = delegation.CertainlySame
	}
	return mirror, is, err
}

// identityOf is what is known of which cluster it is.
func identityOf(c *fleet.Cluster) delegation.Cluster {
	return delegation.Cluster{UID: c.UID(), Stamp: c.Stamp}
}

// Mirror is what an origin says of its mirror.
type Mirror struct {
	delegation.Place
	// Here is whether it is where a dispatch to the worker would have it.
	Here bool
	// Worker is whether it is on the worker at all.
	Worker delegation.Sameness
}

// MirrorOf returns the mirror that an origin names, nil if it names none. namespace is
// where a mirror on the worker is meant to be, "" for the origin's. Where it is not
// known which cluster is meant, the worker is asked for it.
func MirrorOf(ctx context.Context, worker *fleet.Cluster, k delegation.Kind, origin *unstructured.Unstructured, namespace string) (*Mirror, error) {
	named := pinned(origin)
	if named.IsZero() {
		return nil, nil
	}
	m := &Mirror{Place: named, Worker: named.On(identityOf(worker))}
	if m.Worker == delegation.PerhapsSame {
		var err error
		if _, m.Worker, err = locate(ctx, worker, k, named); err != nil {
			return nil, err
		}
	}
	isPlace := named.Namespace == cmp.Or(namespace, origin.GetNamespace()) && named.Name == origin.GetName()
	// Of what has ended nothing is made, wherever it was.
	mayBe := m.Worker == delegation.CertainlySame || m.Worker == delegation.PerhapsSame && object.HasFinished(k, origin)
	m.Here = isPlace && mayBe
	return m, nil
}

// IsOn says whether the mirror is certainly on another cluster.
func (m *Mirror) IsOn(ctx context.Context, c *fleet.Cluster, k delegation.Kind) bool {
	_, is, err := locate(ctx, c, k, m.Place)
	return err == nil && is == delegation.CertainlySame
}

// Unnoted says whether a cluster has a mirror of an origin that names none: whoever made
// it had no time to note it. namespace is where it is meant to be, "" for the origin's.
func Unnoted(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin *unstructured.Unstructured, namespace string) (bool, error) {
	found, err := c.Get(ctx, k.Resource, cmp.Or(namespace, origin.GetNamespace()), origin.GetName())
	if kubecontext.IsUnserved(err) {
		return false, nil
	}
	if err != nil || found == nil || found.GetDeletionTimestamp() != nil {
		return false, err
	}
	uid := string(origin.GetUID())
	return uid != "" && found.GetLabels()[delegation.OriginUIDLabel] == uid, nil
}

// WasBegun says whether somebody has begun to dispatch an origin, and has not ended that:
// there is a Lease for it.
func WasBegun(ctx context.Context, c *fleet.Cluster, k delegation.Kind, origin *unstructured.Unstructured) (bool, error) {
	l := &lease{cluster: c, kind: k, origin: refOf(c, origin)}
	found, err := l.get(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, c.Failed(err)
	}
	return found.GetLabels()[delegation.OriginUIDLabel] == l.origin.UID, nil
}

// onAnother is which of the other clusters has a mirror of ours, "" if none is known to.
func (t *task) onAnother(ctx context.Context) string {
	origin := &unstructured.Unstructured{}
	origin.SetNamespace(t.Namespace)
	origin.SetName(t.Name)
	origin.SetUID(t.UID)
	for _, other := range t.Others {
		// One that does not answer was passed over, or is by now as good as that.
		if is, err := Unnoted(ctx, other, t.Kind, origin, t.options.Plan.Namespace); err == nil && is {
			return other.Context
		}
	}
	return ""
}

// Unknown says why it cannot be told whether a mirror is on a worker, and what to do.
func (m *Mirror) Unknown(worker string) string {
	cluster := "a cluster that whoever dispatched it could not identify"
	if m.KnowsCluster() {
		cluster = "the cluster " + m.ClusterUID
	}
	return fmt.Sprintf("is dispatched to %s/%s (uid %s) on %s already, and it cannot be told whether that is %s, where there is no such mirror: its context may not read which cluster that is (get namespace kube-system), or could not then. "+
		"Go on with it through the context that it was dispatched by, or end it with cancel; if the mirror is known to be gone, cancel --abandon-mirror ends it without looking", m.Namespace, m.Name, m.UID, cluster, worker)
}

// expect takes the mirror's uid from what the origin names, if it names one. final is
// why it cannot be gone on with here.
func (t *task) expect(ctx context.Context, origin *unstructured.Unstructured) (final, err error) {
	named, err := MirrorOf(ctx, t.worker.Cluster, t.Kind, origin, t.mirrorRef.Namespace)
	switch {
	case err != nil:
		return nil, err
	case named == nil && namesMirror(origin):
		return command.Errorf("%s has the annotation %s, and it names no object, so it is not known where its mirror is, if it has one; look for that by its label %s=%s on every cluster that it may be on, and then take the annotation off: %s",
			t.ref.WithKind(), delegation.MirrorAnnotation, delegation.OriginUIDLabel, t.ref.UID,
			t.origin.Kubectl(t.ref.Namespace, "annotate", command.KindName(t.Kind), t.ref.Name, delegation.MirrorAnnotation+"-")), nil
	case named == nil || named.UID == "":
		return nil, nil
	case named.Here:
		t.mirrorRef.UID = named.UID
		return nil, nil
	case named.Worker == delegation.PerhapsSame:
		return fmt.Errorf("%s %s", t.ref.WithKind(), named.Unknown(t.worker.Context)), nil
	}
	where := fmt.Sprintf("%s/%s on the cluster %s", named.Namespace, named.Name, named.ClusterUID)
	if named.Worker == delegation.CertainlySame {
		where = fmt.Sprintf("%s/%s on %s", named.Namespace, named.Name, t.worker.Context)
	}
	return fmt.Errorf("%s is dispatched to %s already; go on with it there, or end that first with cancel", t.ref.WithKind(), where), nil
}

// isWorse says whether a mark tells less than the one that is there, of the same
// mirror.
func isWorse(mark, there delegation.Place) bool {
	isSame := mark.UID == there.UID && mark.Namespace == there.Namespace && mark.Name == there.Name
	return isSame && (there.KnowsCluster() || !mark.KnowsCluster())
}
