package doctor

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
)

// askWorkers checks the Job on all workers of the queue: their queues and quotas as in trace -f,
// and their API servers by dry runs of the mirror and a Pod.
func (p *prober) askWorkers(ctx context.Context, job *unstructured.Unstructured) error {
	typed := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(job.Object, typed); err != nil {
		return fmt.Errorf("the Job of the probe is invalid: %w", err)
	}
	queues := []types.NamespacedName{{Namespace: p.target.namespace, Name: p.target.queue}}
	inventory := read.Read(ctx, p.fleet, read.Want{Capacity: true, Queues: queues, Addresses: p.addresses, Now: p.Clock.Now})
	request := placement.OfJob(typed, p.target.queue)
	request.Owner = delegation.MultiKueue
	workers := slices.DeleteFunc(answer.Reached(placement.Submit(inventory, &request), p.flags.ReachFlags()), func(at inspect.Placement) bool {
		return at.Manager || at.Cluster == ""
	})
	trials := p.tryOn(ctx, job, workers)
	for _, at := range workers {
		w := workerOf(&at)
		if at.Context != "" {
			addTrial(&w, trials[at.Context], p.target.namespace)
		}
		p.report.Workers = append(p.report.Workers, w)
		if w.Verdict == inspect.Unknown {
			p.report.Unchecked = append(p.report.Unchecked, inspect.Unchecked{What: "worker " + w.Cluster, Contexts: contextsOf(w.Context), Reason: w.Message})
		}
	}
	if len(p.report.Workers) == 0 {
		p.report.Unchecked = append(p.report.Unchecked, inspect.Unchecked{What: "the workers of " + p.target.String(), Contexts: []string{}, Reason: "the workers behind the queue could not be read"})
	}
	return nil
}

// tryOn sends the dry runs to the workers, and returns the answers by context. The kubeconfig may have
// contexts of other clusters, which get none.
func (p *prober) tryOn(ctx context.Context, job *unstructured.Unstructured, workers []inspect.Placement) map[string]probe.Trial {
	trials := map[string]probe.Trial{}
	for _, a := range fleet.Ask(ctx, p.fleet, func(ctx context.Context, c *fleet.Cluster) (probe.Trial, error) {
		isWorker := slices.ContainsFunc(workers, func(at inspect.Placement) bool { return at.Context == c.Context })
		if !isWorker || c.Context == p.target.manager {
			return probe.Trial{}, nil
		}
		return probe.Try(ctx, c, job), nil
	}) {
		if a.Err != nil {
			a.Value = probe.Trial{Mirror: a.Err, Pod: a.Err}
		}
		trials[a.Context] = a.Value
	}
	return trials
}

func contextsOf(name string) []string {
	if name == "" {
		return []string{}
	}
	return []string{name}
}

// workerOf returns the result of the placement on a worker.
func workerOf(at *inspect.Placement) inspect.ProbeWorker {
	w := inspect.ProbeWorker{Cluster: at.Cluster, Context: at.Context, Verdict: at.Verdict}
	if at.Context == "" {
		w.Verdict, w.Message = inspect.Unknown, at.Message
		return w
	}
	if at.Verdict != inspect.Fits {
		w.Message = at.Message
	}
	if len(at.Changes) > 0 && at.Verdict != inspect.Fits {
		change := at.Changes[0]
		w.Remedy = change.Message
		if change.Command != "" {
			w.Remedy = string(command.Say("%s: %s", command.Prose(change.Message), command.Of(command.Words(change.Command)...)))
		}
	}
	return w
}

// addTrial adds the answer of the worker's API server. A refusal outweighs everything else.
func addTrial(w *inspect.ProbeWorker, t probe.Trial, namespace string) {
	for _, object := range []struct {
		noun, resource string
		err            error
	}{{"the mirror", "jobs.batch", t.Mirror}, {"its Pod", "pods", t.Pod}} {
		switch {
		case object.err == nil:
			continue
		case read.Tried{Err: object.err}.MayNotCreate():
			makeUnknown(w, fmt.Sprintf("cannot check %s: you may not create %s there", object.noun, object.resource))
			continue
		case kubecontext.IsConnection(object.err), apierrors.IsUnauthorized(object.err):
			makeUnknown(w, fmt.Sprintf("cannot check %s: %s", object.noun, kubecontext.Because(object.err)))
			continue
		}
		w.Verdict, w.Message, w.Remedy = inspect.Never, fmt.Sprintf("rejects %s: %s", object.noun, kubecontext.Objection(object.err)), "change the policy or webhook on "+w.Context+" that rejects it, or remove the worker from the MultiKueueConfig"
		if apierrors.IsNotFound(object.err) {
			w.Message = "namespace " + namespace + " does not exist"
			w.Remedy = string(command.Kubectl(w.Context, "", "create", "namespace", namespace).Prose())
		}
		return
	}
}

// makeUnknown makes a verdict unknown, with a message, if it depends on something unchecked.
func makeUnknown(w *inspect.ProbeWorker, message string) {
	if w.Verdict == inspect.Fits || w.Verdict == inspect.Unknown && w.Message == "" {
		w.Verdict, w.Message = inspect.Unknown, message
	}
}
