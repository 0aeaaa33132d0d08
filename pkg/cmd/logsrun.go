package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// logsRun is a call of logs, once its contexts are connected to.
type logsRun struct {
	*logsOptions
	fleet     *fleet.Fleet
	addresses []fleet.Address
	reader    *logs.Reader
}

// find connects to the contexts and finds out where the Job's pods are. Until isBusy says
// so, it is told what is waited for.
func (o *logsOptions) find(ctx context.Context, isBusy *atomic.Bool) (*logsRun, *inspect.Inventory, logs.Placement, error) {
	nowhere := logs.Placement{}
	progress := newProgress(o.Environment)
	f := fleet.Open(ctx, o.contexts, fleet.Options{
		Timeout: o.flags.contextTimeout, Clock: o.Clock, CacheDir: o.flags.cacheDir(), Stands: inspect.Query{}.MayList,
		Waiting: func(contexts []string) {
			if !isBusy.Load() {
				progress.waiting(contexts)
			}
		},
	})
	r := &logsRun{logsOptions: o, fleet: f, addresses: o.flags.addresses(o.contexts, f)}
	if err := interrupted(ctx); err != nil {
		return nil, nil, nowhere, err
	}
	if err := requireServed(ctx, o.Environment, f, r.query().Kinds); err != nil {
		return nil, nil, nowhere, cmp.Or(interrupted(ctx), err)
	}
	inventory := r.look(ctx)
	if err := interrupted(ctx); err != nil {
		return nil, nil, nowhere, err
	}
	if len(inventory.Subjects()) == 0 {
		return nil, nil, nowhere, notFound(o.Environment, o.wanted, inventory)
	}
	at, err := logs.Choose(inventory, o.what)
	if err != nil {
		return nil, nil, nowhere, err
	}
	tellErrors(o.ErrOut, logs.Unread(inventory))
	return r, inventory, at, nil
}

func (o *logsOptions) run(ctx context.Context) error {
	// Once lines are printed, nothing may be drawn between them.
	var isPrinting atomic.Bool
	r, inventory, at, err := o.find(ctx, &isPrinting)
	if err != nil {
		return err
	}
	isPrinting.Store(true)
	r.reader = &logs.Reader{
		Options: o.logs, Clock: o.Clock,
		Sink: printers.NewLogs(o.Out, printers.LogOptions{Prefix: r.prefixes(at), Color: o.wantsColor(o.flags.color)}),
		Note: func(text string) { tell(o.ErrOut, "%s", text) },
	}
	if o.follow && !at.IsHopeless() {
		inventory, err = r.track(ctx, inventory, at)
	} else {
		err = r.read(ctx, at)
	}
	if stopped := interrupted(ctx); stopped != nil {
		return stopped
	}
	if unread := logs.Unread(inventory); err == nil && len(unread) > 0 {
		return &partialError{failed: len(unread), total: len(o.contexts)}
	}
	return err
}

// look reads where the Job is.
func (r *logsRun) look(ctx context.Context) *inspect.Inventory {
	return inspect.ReadOne(ctx, r.fleet, r.wanted, r.addresses, r.Clock.Now)
}

// prefixes says which lines have a prefix. Of a Job that is to have several pods
// the first ones have it already.
func (r *logsRun) prefixes(at logs.Placement) printers.PrefixMode {
	isMany := func(n *int32) bool { return n != nil && *n > 1 }
	hasMany := func(j *inspect.Job) bool { return isMany(j.Parallelism) || isMany(j.Completions) }
	if r.prefix == printers.PrefixSeveral && r.follow && slices.ContainsFunc(at.Jobs, hasMany) {
		return printers.PrefixAlways
	}
	return r.prefix
}

// read reads what there is by now.
func (r *logsRun) read(ctx context.Context, at logs.Placement) error {
	var targets []logs.Target
	for _, j := range at.Jobs {
		client, err := r.client(ctx, j.Context)
		if err != nil {
			return err
		}
		if j.Context != r.contexts[0].Name {
			r.reader.Note(logs.Where(at, j))
		}
		targets = append(targets, logs.Target{Job: j, Client: client})
	}
	err := r.reader.Read(ctx, targets)
	if errors.Is(err, logs.ErrNoPods) {
		return fmt.Errorf("there are no logs of %s: %s", r.what, at.Why)
	}
	return err
}

// track follows the Job.
func (r *logsRun) track(ctx context.Context, v *inspect.Inventory, at logs.Placement) (*inspect.Inventory, error) {
	ctx, cancel := context.WithCancel(ctx)
	changed, wait := logs.Watch(ctx, r.fleet.Clusters(), r.query(), known(v))
	defer wait()
	defer cancel()
	tracker := &logs.Tracker{
		Reader: r.reader, Home: r.contexts[0].Name, Changed: changed,
		Client: func(kubeContext string) (kubernetes.Interface, error) { return r.client(ctx, kubeContext) },
		Look: func(ctx context.Context) *inspect.Inventory {
			r.fleet.Again(ctx)
			return r.look(ctx)
		},
	}
	return tracker.Run(ctx, v, at)
}

// query selects the Jobs of the wanted name.
func (r *logsRun) query() inspect.Query {
	kind := cmp.Or(r.wanted.Kind, delegation.Job().Name)
	return inspect.Query{Kinds: []string{kind}, FieldSelector: "metadata.name=" + r.wanted.Name}
}

func known(v *inspect.Inventory) []*inspect.Job {
	var jobs []*inspect.Job
	for _, f := range v.Clusters {
		jobs = append(jobs, f.Jobs...)
	}
	return jobs
}

// cluster is the one that a context of an inventory has reached, nil if none has.
func (r *logsRun) cluster(ctx context.Context, kubeContext string) *fleet.Cluster {
	for _, a := range fleet.Ask(ctx, r.fleet, func(_ context.Context, c *fleet.Cluster) (*fleet.Cluster, error) { return c, nil }) {
		if a.Value != nil && a.Value.Context == kubeContext {
			return a.Value
		}
	}
	return nil
}

// client makes a client for the cluster that a context has reached.
func (r *logsRun) client(ctx context.Context, kubeContext string) (kubernetes.Interface, error) {
	c := r.cluster(ctx, kubeContext)
	if c == nil {
		return nil, &fleet.Error{Context: kubeContext, Doing: "read logs", Err: errors.New("it is not there any more")}
	}
	return c.Kubernetes()
}
