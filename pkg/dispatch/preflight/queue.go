package preflight

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// queue is the state of a LocalQueue in a cluster.
type queue struct {
	// hasKueue is whether the cluster serves Kueue's API. exists is whether it has the queue.
	hasKueue, exists bool
	// toMultiKueue is whether the queue passes Jobs to MultiKueue.
	toMultiKueue bool
	// stopped is why the queue admits no Jobs, after its name; "" if it does. resume is the fix.
	stopped string
	resume  command.Prose
}

// originQueue checks an origin that is in a queue. Kueue suspends it regardless of its owner
// (kueue: pkg/controller/jobframework/reconciler.go), and MultiKueue's admission check rejects
// objects of other owners (pkg/controller/admissionchecks/multikueue, IsJobManagedByKueue). The
// mirror of a suspended origin is suspended, too.
func (c *check) originQueue(ctx context.Context) []Problem {
	queueName := c.Request.Origin.GetLabels()[delegation.QueueNameLabel]
	if queueName == "" {
		return nil
	}
	namespace := c.Request.Origin.GetNamespace()
	found := Problem{Context: c.origin.Context, Object: named("LocalQueue", namespace, queueName)}
	isMultiKueue := false
	switch q, err := c.origin.queue(ctx, namespace, queueName); {
	case err != nil:
		return []Problem{c.origin.unchecked(found.Object, namespace, err)}
	case !q.hasKueue:
		return nil
	case q.toMultiKueue:
		isMultiKueue = true
		// A mirror that can never run must not be created.
		found.Blocking = true
		found.Message = fmt.Sprintf("is a MultiKueue queue, which rejects %s of dispatch: the %s and its mirror stay suspended", object.WithArticle(c.kind.Kind), c.kind.Kind)
	case !q.exists:
		found.Message = fmt.Sprintf("does not exist, so Kueue may keep the %s and its mirror suspended until it does", c.kind.Kind)
	case q.stopped != "":
		found.Message = fmt.Sprintf("%s, so Kueue keeps the %s and its mirror suspended, although the %s does not run here", q.stopped, c.kind.Kind, c.kind.Kind)
	default:
		found.Message = fmt.Sprintf("makes Kueue suspend the %s and its mirror until this cluster has quota, although the %s does not run here", c.kind.Kind, c.kind.Kind)
	}
	name := c.Request.Origin.GetName()
	removeLabel := c.origin.Kubectl(namespace, "label", command.KindName(c.kind), name, delegation.QueueNameLabel+"-")
	switch {
	case c.Create:
		found.Remedy = command.Say("leave the label %s out of the file", delegation.QueueNameLabel)
	case isMultiKueue:
		found.Remedy = command.Say("take it out of the queue: %s%s; or let MultiKueue run it: %s",
			removeLabel, c.resumed(), command.PluginFor(c.kind, "recreate", c.origin.Context, namespace, name).With("--managed-by", string(delegation.MultiKueue)))
	default:
		found.Remedy = command.Say("take it out of the queue: %s%s", removeLabel, c.resumed())
	}
	return []Problem{found}
}

// resumed returns the step that resumes an origin that Kueue has suspended. Once the origin is in
// no queue, Kueue does not resume it.
func (c *check) resumed() command.Prose {
	path, held := object.Hold(c.kind)
	if path == nil || !object.StateOf(c.kind, c.Request.Origin).Suspend {
		return ""
	}
	var value any
	if held == true {
		value = false
	}
	o := c.Request.Origin
	return command.Say(", and then resume it: %s",
		c.origin.Kubectl(o.GetNamespace(), "patch", command.KindName(c.kind), o.GetName(), "--type=merge", "-p", command.Patch(value, path...)))
}

// mirrorQueue checks a mirror that the user wants in a queue.
func (c *check) mirrorQueue(ctx context.Context) []Problem {
	name := c.mirror.GetLabels()[delegation.QueueNameLabel]
	if name == "" {
		return nil
	}
	found := Problem{Context: c.worker.Context, Object: named("LocalQueue", c.namespace(), name)}
	switch q, err := c.worker.queue(ctx, c.namespace(), name); {
	case err != nil:
		return []Problem{c.worker.unchecked(found.Object, c.namespace(), err)}
	case !q.hasKueue:
		found.Message = "has no effect there, because Kueue is not installed: the mirror starts at once"
	case !q.exists:
		found.Message = "does not exist, so Kueue keeps the mirror suspended until it does"
		found.Remedy = command.Say("list the existing ones: %s", c.worker.Kubectl(c.namespace(), "get", "localqueues.kueue.x-k8s.io"))
	case q.toMultiKueue:
		found.Message = "is a MultiKueue queue, which rejects mirrors of dispatch: the mirror stays suspended"
		found.Remedy = c.nameQueue("name a queue of that cluster's own")
	case q.stopped != "":
		found.Message = q.stopped + ": Kueue keeps the mirror suspended until that changes"
		found.Remedy = q.resume
	default:
		return nil
	}
	return []Problem{found}
}

// heldByWebhook checks for a mirror that is in no queue and would be suspended at its creation.
// Kueue can be configured to manage all Jobs (manageJobsWithoutQueueName), and that configuration
// cannot be read.
func (c *check) heldByWebhook(stored *unstructured.Unstructured) []Problem {
	if c.mirror.GetLabels()[delegation.QueueNameLabel] != "" || object.StateOf(c.kind, c.mirror).Suspend || !object.StateOf(c.kind, stored).Suspend {
		return nil
	}
	return []Problem{{
		Context: c.worker.Context,
		Message: "a webhook suspends the mirror, as Kueue does if it manages all Jobs: the mirror may need a queue to start",
		Remedy:  c.nameQueue("name a queue"),
	}}
}

// nameQueue returns how to put a mirror into a queue. Kueue refuses to change the queue of an
// existing Job.
func (c *check) nameQueue(how string) command.Prose {
	remedy := command.Say("%s with --set-labels %s=QUEUE", command.Text(how), delegation.QueueNameLabel)
	if c.Create {
		return remedy
	}
	return command.Say("%s; an existing mirror keeps its queue: end it with cancel first", remedy)
}

// queue reads the state of a LocalQueue.
func (p Probe) queue(ctx context.Context, namespace, name string) (queue, error) {
	return recall(ctx, p, "queue "+namespace+"/"+name, func(ctx context.Context) (queue, error) {
		for _, queues := range delegation.KueueResources("localqueues") {
			local, err := find[kueue.LocalQueue](ctx, p, queues, namespace, name)
			switch {
			case kubecontext.IsUnserved(err):
				continue
			case err != nil:
				return queue{}, err
			case local == nil:
				return queue{hasKueue: true}, nil
			}
			return p.stateOf(ctx, local, queues.GroupVersion()), nil
		}
		return queue{}, nil
	})
}

// IsMultiKueues reports whether a LocalQueue is known to pass Jobs to MultiKueue.
func (p Probe) IsMultiKueues(ctx context.Context, namespace, name string) bool {
	q, err := p.queue(ctx, namespace, name)
	return err == nil && q.toMultiKueue
}

// stateOf returns the state of an existing LocalQueue. Few users can read ClusterQueues.
func (p Probe) stateOf(ctx context.Context, local *kueue.LocalQueue, version schema.GroupVersion) queue {
	lookup := kueue.Lookup{
		ClusterQueue: func(name string) (*kueue.ClusterQueue, error) {
			return find[kueue.ClusterQueue](ctx, p, version.WithResource("clusterqueues"), "", name)
		},
		Check: func(name string) (*kueue.AdmissionCheck, error) {
			return find[kueue.AdmissionCheck](ctx, p, version.WithResource("admissionchecks"), "", name)
		},
	}
	name, above := local.Spec.ClusterQueue, lookup.RouteFrom(local).Cluster.Object
	q := queue{hasKueue: true, exists: true, toMultiKueue: above != nil && lookup.MultiKueue(above).Object != nil}
	stopped := func(outage *kueue.Outage) string {
		switch {
		case outage == nil:
			return ""
		case outage.StopPolicy != "":
			return "is stopped (" + outage.StopPolicy + ")"
		}
		return "is inactive (" + outage.Why() + ")"
	}
	q.resume = command.Alternatives(kueue.FixTarget{Context: p.Context, Version: version.Version, LocalQueue: local, ClusterQueue: above}.ActivateQueue(name))
	switch ofAbove := "belongs to ClusterQueue " + name + ", which "; {
	case kueue.IsStopped(local.Spec.StopPolicy):
		q.stopped = stopped(local.Outage())
		q.resume = kueue.ResumeLocalQueue(p.Context, local.Namespace, local.Name).Prose()
	case above == nil:
		// Kueue calls a LocalQueue inactive if its ClusterQueue is.
		q.stopped = stopped(local.Outage())
	case above.DeletionTimestamp != nil:
		q.stopped = ofAbove + "is being deleted"
	case above.Outage() != nil:
		q.stopped = ofAbove + stopped(above.Outage())
	}
	return q
}

// find reads an object of Kueue; nil if it does not exist.
func find[T any](ctx context.Context, p Probe, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	found, err := p.Get(ctx, resource, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	o := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, o); err != nil {
		return nil, err
	}
	return o, nil
}
