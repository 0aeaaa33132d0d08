package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// workerSide runs all checks of the worker.
func (c *check) workerSide(ctx context.Context) []Problem {
	if c.isSameCluster(ctx) {
		return []Problem{{
			Context: c.worker.Context, Blocking: true,
			Message: fmt.Sprintf("is the cluster of the %s itself; %s cannot be dispatched to its own cluster", c.kind.Kind, object.WithArticle(c.kind.Kind)),
			Remedy:  "name the context of another cluster with --to",
		}}
	}
	rights := c.worker.Access(ctx, c.namespace(), rightsOnWorker(c.kind))
	unserved := c.servesMirror(ctx)
	rights = append(rights, unserved...)
	state, err := c.worker.namespaceState(ctx, c.namespace())
	if err == nil && (!state.exists || state.terminating) {
		return slices.Concat(rights, []Problem{c.missingNamespace(state)},
			runConcurrently(ctx, c.forEach(c.priorityClass), c.forEach(c.runtimeClass), c.storageClasses, c.drivers, c.forEach(c.otherWarnings)))
	}
	there, found := noOwner, []Problem(nil)
	isServed := !slices.ContainsFunc(unserved, func(p Problem) bool { return p.Blocking })
	if isServed {
		there, found = c.findOccupant(ctx)
	}
	if there == ownMirror {
		// The mirror exists, and may run or have finished. Missing dependencies are worth a
		// warning, but do not keep its status from being copied.
		lacking := c.checkAllData(ctx)
		for i := range lacking {
			lacking[i].Blocking = false
		}
		return slices.Concat(rights, lacking, c.worker.Access(ctx, c.namespace(), rightsToCopy(c.dependencies)))
	}
	looks := []checkFunc{
		c.forEach(c.pods), c.checkAllData, c.claims, c.resourceClaims, c.podGroups, c.storageClasses, c.drivers, c.trustBundles,
		c.referred,
		c.forEach(c.subdomain), c.forEach(c.otherWarnings), c.mirrorQueue,
	}
	if there == noOwner && isServed {
		looks = append([]checkFunc{c.leftovers, func(ctx context.Context) []Problem { return c.tryMirror(ctx, err) }}, looks...)
	}
	found = slices.Concat(rights, found, runConcurrently(ctx, looks...))
	return append(found, c.worker.Access(ctx, c.namespace(), rightsToCopy(c.dependencies))...)
}

// isSameCluster reports whether both contexts reach the same cluster. If the user cannot read a
// cluster's identity, the UIDs of the origin's namespace decide.
func (c *check) isSameCluster(ctx context.Context) bool {
	if c.origin.UID() != "" && c.worker.UID() != "" {
		return c.origin.UID() == c.worker.UID()
	}
	namespace := c.Request.Origin.GetNamespace()
	here, err := c.origin.namespaceState(ctx, namespace)
	if err != nil || !here.exists {
		return false
	}
	there, err := c.worker.namespaceState(ctx, namespace)
	return err == nil && there.uid == here.uid
}

// missingNamespace returns the Problem of a missing namespace, and lists the objects that it has
// to contain.
func (c *check) missingNamespace(state namespaceState) Problem {
	p := Problem{
		Context: c.worker.Context, Blocking: true, Object: named("Namespace", "", c.namespace()), Message: "does not exist",
		Remedy: command.Say("%s, or choose another with --namespace-to", c.worker.Kubectl("", "create", "namespace", c.namespace())),
	}
	if state.terminating {
		p.Message = "is being deleted"
		p.Remedy = command.Say("%s, then create the namespace again, or choose another with --namespace-to", c.worker.Kubectl("", "wait", "--for=delete", "namespace", c.namespace()))
	}
	var needed []string
	for _, n := range neededBy(c.references, c.templates) {
		if !c.wrapped[podtemplate.Ref(n)] {
			needed = append(needed, n.String())
		}
	}
	if len(needed) > 0 {
		p.Message += "; the Pods need in it: " + strings.Join(needed, ", ")
	}
	return p
}

// occupant classifies the object that has the mirror's name.
type occupant int

const (
	noOwner occupant = iota
	ownMirror
	otherOwner
)

// findOccupant reads the object that has the mirror's name.
func (c *check) findOccupant(ctx context.Context) (occupant, []Problem) {
	job, err := c.worker.Get(ctx, c.kind.Resource, c.namespace(), c.mirror.GetName())
	if err == nil && job == nil || kubecontext.IsUnserved(err) {
		return noOwner, nil
	}
	about := named(c.kind.Kind, c.namespace(), c.mirror.GetName())
	if apierrors.IsForbidden(err) {
		if may, err := c.worker.may(ctx, c.namespace(), "get", c.kind.Resource.GroupResource()); err == nil && !may {
			return noOwner, nil // This is already reported.
		}
	}
	if err != nil {
		return noOwner, []Problem{c.worker.unchecked(about, c.namespace(), err)}
	}
	marks := delegation.MarksOf(job.GetLabels(), job.GetAnnotations())
	if marks == nil {
		marks = &delegation.Marks{}
	}
	if uid := string(c.Request.Origin.GetUID()); uid != "" && marks.OriginUID == uid {
		return ownMirror, nil
	}
	p := Problem{Context: c.worker.Context, Blocking: true, Object: about, Message: c.describeStranger(job, marks)}
	remove := c.worker.Kubectl(c.namespace(), "delete", command.KindName(c.kind), c.mirror.GetName())
	if marks.OriginUID != "" && c.compareOrigin(marks) == delegation.CertainlySame {
		p.Remedy = command.Say("if its results are no longer needed: %s", remove)
	} else {
		p.Remedy = command.Say("put the mirror elsewhere with --namespace-to, or, if that %s is no longer needed: %s", c.kind.Kind, remove)
	}
	return otherOwner, []Problem{p}
}

// compareOrigin reports whether marks name the origin, or an earlier object with its name on the same
// cluster.
func (c *check) compareOrigin(m *delegation.Marks) delegation.Sameness {
	if m.Origin.Namespace != c.Request.Origin.GetNamespace() || m.Origin.Name != c.Request.Origin.GetName() {
		return delegation.CertainlyOther
	}
	return m.Origin.On(c.origin.Identity())
}

// describeStranger describes an object that is not the mirror.
func (c *check) describeStranger(job *unstructured.Unstructured, m *delegation.Marks) string {
	switch {
	case m.OriginUID != "" && c.compareOrigin(m) == delegation.CertainlySame:
		return fmt.Sprintf("already exists: the mirror of an earlier %s %s, UID %s, which was replaced since", c.kind.Kind, m.Origin.Namespace+"/"+m.Origin.Name, m.OriginUID)
	case m.OriginUID != "" && m.Origin.IsZero():
		return fmt.Sprintf("already exists: the mirror of another %s, UID %s", c.kind.Kind, m.OriginUID)
	case m.OriginUID != "":
		return fmt.Sprintf("already exists: the mirror of another %s, %s, UID %s", c.kind.Kind, m.Origin, m.OriginUID)
	case m.MultiKueueOrigin != "":
		return "already exists: a mirror of MultiKueue; left unchanged"
	}
	if owner := object.OwnerOf(c.kind, job); !owner.IsBuiltIn() {
		return fmt.Sprintf("already exists: %s that %s manages", object.WithArticle(c.kind.Kind), owner)
	}
	return "already exists, and dispatch did not create it; left unchanged"
}

// leftovers finds Pods of an earlier Job with the same name.
func (c *check) leftovers(ctx context.Context) []Problem {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	if c.kind.PodLabel == "" || len(c.kind.PodValue) > 0 {
		return nil // The kind has no label that identifies its Pods.
	}
	selector := c.kind.PodLabel + "=" + c.mirror.GetName()
	pods, err := c.worker.Kubernetes().CoreV1().Pods(c.namespace()).List(ctx, metav1.ListOptions{
		LabelSelector: selector, Limit: 1,
		FieldSelector: fmt.Sprintf("status.phase!=%s,status.phase!=%s", corev1.PodSucceeded, corev1.PodFailed),
	})
	if err != nil || len(pods.Items) == 0 {
		// A missing right to list Pods is already reported. Other errors do no harm here.
		return nil
	}
	return []Problem{{
		Context: c.worker.Context, Object: named("Pod", c.namespace(), pods.Items[0].Name),
		Message: fmt.Sprintf("is left over from an earlier %s of that name, and still runs", c.kind.Kind),
		Remedy:  command.Say("see what it does: %s", c.worker.Kubectl(c.namespace(), "get", "pods", "-l", selector)),
	}}
}

// tryMirror creates the mirror in a dry run, and checks what the server would store. unseen is
// the error of reading the namespace, or nil.
func (c *check) tryMirror(ctx context.Context, unseen error) []Problem {
	var found []Problem
	if unseen != nil {
		found = append(found, c.worker.unchecked(named("Namespace", "", c.namespace()), "", unseen))
	}
	if may, err := c.worker.may(ctx, c.namespace(), "create", c.kind.Resource.GroupResource()); err == nil && !may {
		return found
	}
	version, err := c.worker.version(ctx)
	if err != nil {
		return found
	}
	stored, err := c.worker.Create(ctx, c.kind.Resource, c.mirror, metav1.FieldValidationIgnore, metav1.DryRunAll)
	if err != nil {
		return append(found, c.worker.Refused(c.mirror, err)...)
	}
	// The server would create the mirror, so its namespace exists.
	return append(c.drops(c.worker, version, droppedFields(c.mirror, stored)), c.heldByWebhook(stored)...)
}
