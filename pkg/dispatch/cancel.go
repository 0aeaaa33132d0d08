package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// CancelReason is the reason of the condition Failed on an origin that was
// cancelled.
const CancelReason = "DispatchCancelled"

// Canceller ends dispatches.
type Canceller struct {
	Origin *Side
	// Workers are the clusters that a mirror may be on, and Unreached the contexts
	// of those that do not answer.
	Workers   []*Side
	Unreached []string
	// Only is the context that alone is looked at, "" if all are.
	Only string
	// OriginMinor is the minor version of the origin's API server, 0 if unknown.
	OriginMinor int
	// Owner is the managedBy value of the Jobs that may be ended.
	Owner delegation.Owner
	// Abandon ends an origin although its mirror's cluster cannot be reached: the
	// mirror stays.
	Abandon bool
	// Identity names who cancels, in the origin's condition.
	Identity string
	Clock    clock.PassiveClock
	Events   *Recorder
}

// Cancel removes the mirror of a Job and has the Job fail with CancelReason. A Job
// that is finished already keeps its end, and loses its mirror; one whose mirror
// is finished gets that end. Whoever dispatches it sees that and stops. Nothing is
// changed if the mirror cannot be reached, unless it is abandoned.
func (c *Canceller) Cancel(ctx context.Context, namespace, name string) error {
	ref := Ref{Context: c.Origin.Context, ClusterUID: c.Origin.ClusterUID, Namespace: namespace, Name: name}
	origin, err := c.Origin.get(ctx, ref)
	if err != nil {
		return err
	}
	if origin == nil {
		return fmt.Errorf("context %s: there is no job %s", ref.Context, ref)
	}
	managedBy, _, _ := unstructured.NestedString(origin.Object, "spec", "managedBy")
	if owner := delegation.Job().OwnerOf(managedBy); owner != c.Owner {
		return fmt.Errorf("job %s is managed by %s and not by %s: it was not dispatched by this plugin; kubectl delete job ends it", ref, owner, c.Owner)
	}
	ref.UID = string(origin.GetUID())
	worker, mirror, err := c.find(ctx, origin, ref)
	if err != nil {
		return err
	}
	stored, err := c.fail(ctx, ref, worker, mirror)
	if err != nil {
		return err
	}
	e := Event{Event: Cancelled, Origin: &ref}
	if mirror != nil {
		e.Mirror = &Ref{Context: worker.Context, ClusterUID: worker.ClusterUID, Namespace: mirror.GetNamespace(), Name: mirror.GetName(), UID: string(mirror.GetUID())}
		if _, err := worker.remove(ctx, *e.Mirror); err != nil {
			return fmt.Errorf("job %s has ended, but its mirror runs on: %w; kubectl --context %s -n %s delete job %s removes it",
				ref, err, worker.Context, e.Mirror.Namespace, e.Mirror.Name)
		}
	}
	c.tidy(ctx, ref)
	e.setState(stored)
	e.Message = c.tellEnd(stored, worker, mirror)
	c.Events.Record(e)
	return nil
}

func (c *Canceller) tellEnd(origin *batchv1.Job, worker *Side, mirror *unstructured.Unstructured) string {
	end := "it is ended as " + string(statusOf(origin))
	switch {
	case mirror != nil:
		return fmt.Sprintf("%s, and its mirror on %s is removed", end, worker.Context)
	case c.Abandon:
		return end + "; its mirror was not looked for"
	}
	return end + "; it had no mirror"
}

// find looks for the mirror: where the origin says it is, or, where it does not
// say, for one with its mark. mirror is nil if there is none.
func (c *Canceller) find(ctx context.Context, origin *unstructured.Unstructured, ref Ref) (*Side, *unstructured.Unstructured, error) {
	if c.Abandon {
		return nil, nil, nil
	}
	named := pinned(origin)
	unread := slices.Clone(c.Unreached)
	for _, w := range c.Workers {
		at := Ref{Context: w.Context, ClusterUID: w.ClusterUID, Namespace: ref.Namespace, Name: ref.Name}
		if !named.IsZero() {
			at.Namespace, at.Name = named.Namespace, named.Name
			if place(at, "").ClusterUID != named.ClusterUID {
				continue
			}
		}
		mirror, err := w.get(ctx, at)
		switch {
		case err != nil && !named.IsZero():
			return nil, nil, fmt.Errorf("could not look for the mirror of job %s, so nothing was changed: %w", ref, err)
		case err != nil:
			unread = append(unread, w.Context)
		case mirror == nil:
		case mirror.GetLabels()[delegation.OriginUIDLabel] == ref.UID || named.UID != "" && string(mirror.GetUID()) == named.UID:
			return w, mirror, nil
		}
	}
	return nil, nil, c.unfound(ref, named, unread)
}

// unfound says why it is not known that there is no mirror; nil if it is known.
func (c *Canceller) unfound(ref Ref, named delegation.Place, unread []string) error {
	switch {
	case named.IsZero() && len(unread) > 0:
		return fmt.Errorf("job %s does not say where its mirror is, and it may be where nobody answers (%s), so nothing was changed; --to looks at one context only, and --abandon-mirror at none", ref, strings.Join(unread, ", "))
	case named.IsZero(), c.reaches(named.ClusterUID):
		return nil
	case c.Only != "":
		return fmt.Errorf("the mirror of job %s is not on %s, but on cluster %s, so nothing was changed; without --to it is looked for everywhere", ref, c.Only, named.ClusterUID)
	}
	return fmt.Errorf("the mirror of job %s is on cluster %s, which no context that answers reaches, so nothing was changed; --abandon-mirror ends the job nevertheless and leaves the mirror", ref, named.ClusterUID)
}

func (c *Canceller) reaches(clusterUID string) bool {
	for _, w := range c.Workers {
		if place(Ref{ClusterUID: w.ClusterUID}, "").ClusterUID == clusterUID {
			return true
		}
	}
	return false
}

// fail ends the origin, unless it has ended already, and returns it as it is then.
func (c *Canceller) fail(ctx context.Context, ref Ref, worker *Side, mirror *unstructured.Unstructured) (stored *batchv1.Job, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := c.Origin.get(ctx, ref)
		if err != nil {
			return err
		}
		if live == nil || string(live.GetUID()) != ref.UID {
			return fmt.Errorf("context %s: job %s was deleted meanwhile", ref.Context, ref)
		}
		if stored, err = typedJob(live); err != nil || finished(&stored.Status) != nil {
			return err
		}
		status, again, err := c.lastStatus(stored, worker, mirror)
		if err != nil {
			return err
		}
		content, err := statusMap(&status)
		if err != nil {
			return err
		}
		written, err := c.Origin.patch(ctx, live, "status", map[string]any{"status": content})
		if err != nil {
			return err
		}
		if again {
			// The end takes two writes.
			return c.Origin.failed(conflict(ref.Name))
		}
		stored, err = typedJob(written)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("could not end job %s: %w", ref, err)
	}
	return stored, nil
}

// lastStatus is what is written to an origin that is cancelled.
func (c *Canceller) lastStatus(origin *batchv1.Job, worker *Side, mirror *unstructured.Unstructured) (status batchv1.JobStatus, again bool, err error) {
	where := "it had no mirror"
	switch {
	case mirror != nil:
		where = "its mirror on " + worker.Context + " was removed"
	case c.Abandon:
		where = "its mirror was left where it is"
	}
	if mirror != nil && HasFinished(mirror) {
		typed, err := typedJob(mirror)
		if err != nil {
			return status, false, err
		}
		result := projection.Project(origin, typed, projection.Options{ForceDrained: true, OriginMinor: c.OriginMinor})
		if result.More || finished(&result.Status) != nil {
			return result.Status, result.More, nil
		}
		// The origin cannot be told this end any more.
	}
	status, ok := projection.Fail(origin, CancelReason, fmt.Sprintf("cancelled by %s; %s", c.Identity, where), c.Clock.Now())
	if !ok {
		return status, false, fmt.Errorf("its success is decided already (condition SuccessCriteriaMet), and the API server lets it end in no other way; dispatch lets it complete")
	}
	return status, false, nil
}

// tidy removes the Lease, unless somebody holds it: they do so themselves.
func (c *Canceller) tidy(ctx context.Context, ref Ref) {
	l := &lease{side: c.Origin, origin: ref, clock: c.Clock}
	if err := l.remove(ctx); err != nil {
		c.Events.Record(Event{Event: Warned, Origin: &ref, Message: fmt.Sprintf("Lease %s could not be removed: %v", l.name(), err)})
	}
}

// Find returns the Jobs of a namespace that match a label selector and belong to
// the owner, finished or not, and how many others match.
func Find(ctx context.Context, s *Side, owner delegation.Owner, namespace, selector string) (jobs []*unstructured.Unstructured, others int, err error) {
	o := metav1.ListOptions{LabelSelector: selector, Limit: 500}
	for {
		page, err := s.Dynamic.Resource(delegation.Job().Resource).Namespace(namespace).List(ctx, o)
		if err != nil {
			return nil, 0, s.failed(err)
		}
		for i := range page.Items {
			managedBy, _, _ := unstructured.NestedString(page.Items[i].Object, "spec", "managedBy")
			if delegation.Job().OwnerOf(managedBy) == owner {
				jobs = append(jobs, trimmed(&page.Items[i]))
			} else {
				others++
			}
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return jobs, others, nil
		}
	}
}
