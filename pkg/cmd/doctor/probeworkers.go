package doctor

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
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
	workers := slices.DeleteFunc(answer.Reached(placement.Submit(inventory, &request), p.CommandReach(p.flags)), func(at inspect.Placement) bool {
		return at.Manager || at.Cluster == ""
	})
	trials := p.tryOn(ctx, job, workers)
	for _, at := range workers {
		w := workerOf(&at)
		if at.Context != "" {
			addTrial(&w, trials[at.Context])
		}
		p.report.Workers = append(p.report.Workers, w)
		if w.Verdict == inspect.Unknown {
			p.report.Unchecked = append(p.report.Unchecked, inspect.Unchecked{What: "worker " + w.Cluster, Contexts: contextsOf(w.Context), Reason: w.Message, Cluster: true})
		}
	}
	if len(p.report.Workers) == 0 {
		p.report.Unchecked = append(p.report.Unchecked, inspect.Unchecked{What: "the workers of " + p.target.String(), Contexts: []string{}, Reason: "the workers behind the queue could not be read"})
	}
	return nil
}

// tryOn sends the dry runs to the workers, and returns what they object to, by context. The kubeconfig
// may have contexts of other clusters, which get none.
func (p *prober) tryOn(ctx context.Context, job *unstructured.Unstructured, workers []inspect.Placement) map[string][]preflight.Problem {
	trials := map[string][]preflight.Problem{}
	for _, a := range fleet.Ask(ctx, p.fleet, func(ctx context.Context, c *fleet.Cluster) ([]preflight.Problem, error) {
		isWorker := slices.ContainsFunc(workers, func(at inspect.Placement) bool { return at.Context == c.Context })
		if !isWorker || c.Context == p.target.manager {
			return nil, nil
		}
		return objections(c, probe.Try(ctx, c, job)), nil
	}) {
		if a.Err != nil {
			a.Value = []preflight.Problem{{Context: a.Context, Untried: true, Message: "cannot be checked: " + kubecontext.Because(a.Err)}}
		}
		trials[a.Context] = a.Value
	}
	return trials
}

// objections returns what a worker objects to in the mirror and its Pod.
func objections(c *fleet.Cluster, t probe.Trial) (found []preflight.Problem) {
	for _, tried := range []struct {
		probe.Attempt
		label, resource string
	}{{t.Mirror, "", "jobs.batch"}, {t.Pod, "the Pods", "pods"}} {
		switch {
		case tried.Err == nil:
		case kubecontext.IsRightMissing(tried.Err):
			found = append(found, preflight.Problem{
				Context: c.Context, Untried: true, Object: preflight.Object{Label: tried.label},
				Message: fmt.Sprintf("cannot be checked: you may not create %s there", tried.resource),
			})
		default:
			found = append(found, preflight.NewProbe(c).Refused(tried.Object, tried.Err)...)
		}
	}
	return found
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
func addTrial(w *inspect.ProbeWorker, problems []preflight.Problem) {
	for _, p := range problems {
		if p.Object == (preflight.Object{}) {
			p.Object.Label = "the mirror"
		}
		message, remedy := p.Sentence(), string(p.Remedy)
		switch {
		case p.Untried:
			makeUnknown(w, message, remedy)
		case p.Blocking:
			if p.ChangesObject {
				// A probe has flags only for the image and the requests of its Job.
				remedy = "change the policy or webhook on " + w.Context + " that rejects it"
			}
			w.Verdict, w.Message, w.Remedy = inspect.Never, message, remedy
			return
		case w.Verdict == inspect.Fits:
			w.Verdict, w.Message, w.Remedy = inspect.Waits, message, remedy
		}
	}
}

// makeUnknown makes a verdict unknown, with a message and a fix, if it depends on something unchecked.
func makeUnknown(w *inspect.ProbeWorker, message, remedy string) {
	if w.Verdict == inspect.Fits || w.Verdict == inspect.Unknown && w.Message == "" {
		w.Verdict, w.Message, w.Remedy = inspect.Unknown, message, remedy
	}
}
