package kueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

func jobsResource() schema.GroupVersionResource { return delegation.Job().Resource }

func workloadsResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kueue.Group, Version: multiKueue.API, Resource: "workloads"}
}

// watcher observes what the Kueue of each cluster does with Jobs.
type watcher struct {
	clients map[string]dynamic.Interface
	probes  atomic.Int64
}

func newWatcher() (*watcher, error) {
	w := &watcher{clients: map[string]dynamic.Interface{}}
	for _, cluster := range multiKueue.Clusters() {
		config, err := set.Config(cluster)
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		if w.clients[cluster], err = dynamic.NewForConfig(config); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// view has the Workloads of a namespace by name, for each cluster.
type view map[string]map[string]*kueue.Workload

func (w *watcher) look(ctx context.Context, namespace string) (view, error) {
	v := view{}
	for cluster, client := range w.clients {
		list, err := client.Resource(workloadsResource()).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		v[cluster] = map[string]*kueue.Workload{}
		for i := range list.Items {
			one := &kueue.Workload{}
			if err := decode(&list.Items[i], one); err != nil {
				return nil, err
			}
			v[cluster][one.Name] = one
		}
	}
	return v, nil
}

// decode reads the fields of a Workload that the plugin uses.
func decode(from *unstructured.Unstructured, into *kueue.Workload) error {
	text, err := from.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// outcome is the result of a submission.
type outcome struct {
	// admittedOn is the cluster that reserved quota and runs the Job, "" if none does.
	admittedOn string
	// waits are the reasons why the Kueue of other clusters did not reserve quota. A cluster is
	// missing if another one was faster.
	waits map[string]kueue.Wait
}

// isDecided returns whether the scheduler has refused quota, and is not preempting other Workloads.
func isDecided(w kueue.Wait) bool {
	switch w.Reason {
	case kueue.ReasonNotEvaluated, kueue.ReasonPreempting, kueue.ReasonPreempted, kueue.ReasonEvicted, kueue.ReasonCheckRetry, kueue.ReasonBackoff:
		return false
	default:
		return true
	}
}

// of returns the outcome of a Job. unjudged are workers that have its Workload and did not evaluate
// it, if nothing more must be waited for. settled is whether the answer is final except for them.
func (v view) of(workload string, s *setup) (o outcome, unjudged []string, settled bool) {
	o.waits = map[string]kueue.Wait{}
	own := v[management][workload]
	if own == nil {
		return o, nil, false
	}
	if !own.Is(kueue.QuotaReserved) {
		o.waits[management] = own.Waiting()
		return o, nil, isDecided(o.waits[management])
	}
	if own.Is(kueue.Admitted) && !own.Is(kueue.Evicted) {
		o.admittedOn = management
		if own.Status.ClusterName != nil {
			o.admittedOn = *own.Status.ClusterName
		}
	}
	settled = true
	for _, worker := range s.workers {
		there := v[worker][workload]
		switch {
		case worker == o.admittedOn:
			settled = settled && there != nil && there.Is(kueue.QuotaReserved)
		case there == nil:
			settled = settled && o.admittedOn != ""
		case there.Is(kueue.QuotaReserved):
			settled = false
		default:
			o.waits[worker] = there.Waiting()
			if reason := o.waits[worker].Reason; reason == kueue.ReasonNotEvaluated {
				unjudged = append(unjudged, worker)
			} else if !isDecided(o.waits[worker]) {
				settled = false
			}
		}
	}
	return o, unjudged, settled && (o.admittedOn == "" || len(o.waits) == 0)
}

// settle waits until Kueue has decided about all Jobs of a set-up, and returns its decisions. For a
// Job whose Workload is gone again, the waits that were seen meanwhile count.
func (w *watcher) settle(ctx context.Context, s *setup, workloads map[string]string) (map[string]outcome, error) {
	seen, probed := map[string]map[string]kueue.Wait{}, false
	var last string
	decided := map[string]outcome{}
	err := poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
		v, err := w.look(ctx, s.name)
		if err != nil {
			return false, err
		}
		var doubtful []string
		done := true
		for job, workload := range workloads {
			o, unjudged, settled := v.of(workload, s)
			if seen[job] == nil {
				seen[job] = map[string]kueue.Wait{}
			}
			for cluster, one := range o.waits {
				if isDecided(one) {
					seen[job][cluster] = one
				}
			}
			doubtful = append(doubtful, unjudged...)
			if done = done && settled; !settled {
				last = fmt.Sprintf("job %s: admitted on %q, waits %v", job, o.admittedOn, o.waits)
			}
			decided[job] = o
		}
		if !done || len(doubtful) == 0 || probed {
			return done, nil
		}
		// Wait until the scheduler considers them, if it ever does.
		probed = true
		slices.Sort(doubtful)
		for _, worker := range slices.Compact(doubtful) {
			if err := w.pass(ctx, worker); err != nil {
				return false, err
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait until Kueue has decided: %w; %s", err, last)
	}
	for job, o := range decided {
		for cluster, one := range seen[job] {
			if _, ok := o.waits[cluster]; !ok && cluster != o.admittedOn {
				o.waits[cluster] = one
			}
		}
	}
	return decided, nil
}

// probeQueue is the queue of probes, and its namespace, on each worker.
const probeQueue = "probe"

// pass waits until the scheduler of a worker has gone through its queues twice: it considers the
// first Workload of each queue at once, and admits none that comes later earlier.
func (w *watcher) pass(ctx context.Context, worker string) error {
	for range 2 {
		name := fmt.Sprintf("probe-%d", w.probes.Add(1))
		workloads := w.clients[worker].Resource(workloadsResource()).Namespace(probeQueue)
		probe := &unstructured.Unstructured{Object: object{"metadata": object{"name": name}, "spec": object{
			"queueName": probeQueue,
			"podSets": []any{object{"name": "main", "count": int64(1), "template": object{"spec": object{
				"restartPolicy": "Never", "containers": []any{object{"name": "main", "image": "registry.example/batch:1", "resources": object{"requests": object{"cpu": "1m"}}}},
			}}}},
		}}}
		probe.SetGroupVersionKind(workloadsResource().GroupVersion().WithKind("Workload"))
		if _, err := workloads.Create(ctx, probe, metav1.CreateOptions{}); err != nil {
			return err
		}
		err := poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
			o, err := workloads.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			one := &kueue.Workload{}
			return decode(o, one) == nil && one.Is(kueue.QuotaReserved), nil
		})
		if err != nil {
			return fmt.Errorf("wait until %s admits a Workload: %w", worker, err)
		}
		if err := workloads.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// submit creates a Job, and returns the name of its Workload.
func (w *watcher) submit(ctx context.Context, job object) (workload string, err error) {
	o := &unstructured.Unstructured{}
	text, err := json.Marshal(job)
	if err != nil {
		return "", err
	}
	if err := o.UnmarshalJSON(text); err != nil {
		return "", err
	}
	made, err := w.clients[management].Resource(jobsResource()).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return delegation.Job().WorkloadNames(made.GetName(), string(made.GetUID()), "")[0], nil
}

// remove deletes Jobs of a set-up, and waits until they hold no quota on any cluster.
func (w *watcher) remove(ctx context.Context, s *setup, workloads map[string]string, names ...string) error {
	for _, name := range names {
		err := w.clients[management].Resource(jobsResource()).Namespace(s.name).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		if err != nil {
			return err
		}
	}
	return poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
		v, err := w.look(ctx, s.name)
		if err != nil {
			return false, err
		}
		for _, all := range v {
			for _, name := range names {
				if all[workloads[name]] != nil {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

// admits waits until a Job that must fit is admitted, and returns false if it is not.
func (w *watcher) admits(ctx context.Context, s *setup, workload string) (bool, error) {
	err := poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
		v, err := w.look(ctx, s.name)
		if err != nil {
			return false, err
		}
		o, _, _ := v.of(workload, s)
		return o.admittedOn != "", nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// refuses watches a Job that is alone in its set-up, until the Kueue of a cluster says that it will
// never admit the Job, or a cluster admits it. It returns that cluster, or the last message.
func (w *watcher) refuses(ctx context.Context, s *setup, workload, cluster string) (admittedOn string, waited kueue.Wait, err error) {
	err = poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
		v, err := w.look(ctx, s.name)
		if err != nil {
			return false, err
		}
		o, _, _ := v.of(workload, s)
		admittedOn, waited = o.admittedOn, o.waits[cluster]
		// Kueue has tried fewer Pods, too, although its message is about all of them.
		waited.Partial = false
		return admittedOn != "" || waited.IsPermanent(), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	return admittedOn, waited, err
}
