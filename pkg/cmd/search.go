package cmd

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// search finds out which clusters run the Job that a user has named.
type search struct {
	Environment
	flags    *globalFlags
	contexts []fleet.Context
	wanted   inspect.Wanted
	// what is what the user called the Job.
	what string
}

// foundJob is what it has found.
type foundJob struct {
	*search
	fleet     *fleet.Fleet
	addresses []fleet.Address
	inventory *inspect.Inventory
	at        logs.Placement
}

// parse reads what the user called the Job.
func (s *search) parse() (err error) {
	s.wanted, err = wantedJob([]string{s.what})
	return err
}

// load prepares the contexts to look in.
func (s *search) load() (err error) {
	if s.contexts, err = s.flags.load(&s.Environment, everyContext); err != nil {
		return err
	}
	oneNamespace(s.contexts)
	s.wanted.Namespace = s.contexts[0].Namespace
	return nil
}

// find connects to the contexts and finds out where the Job's pods are. Until isBusy says
// so, it is told what is waited for.
func (s *search) find(ctx context.Context, isBusy *atomic.Bool) (*foundJob, error) {
	progress := newProgress(s.Environment)
	f := fleet.Open(ctx, s.contexts, fleet.Options{
		Timeout: s.flags.contextTimeout, Clock: s.Clock, CacheDir: s.flags.cacheDir(), Stands: inspect.Query{}.MayList,
		Waiting: func(contexts []string) {
			if !isBusy.Load() {
				progress.waiting(contexts)
			}
		},
	})
	j := &foundJob{search: s, fleet: f, addresses: s.flags.addresses(s.contexts, f)}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	if err := requireServed(ctx, s.Environment, f, j.query().Kinds); err != nil {
		return nil, cmp.Or(interrupted(ctx), err)
	}
	j.inventory = j.look(ctx)
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	if len(j.inventory.Subjects()) == 0 {
		return nil, notFound(s.Environment, s.wanted, j.inventory)
	}
	var err error
	if j.at, err = logs.Choose(j.inventory, s.what); err != nil {
		return nil, err
	}
	tellErrors(s.ErrOut, logs.Unread(j.inventory))
	return j, nil
}

// look reads where the Job is.
func (j *foundJob) look(ctx context.Context) *inspect.Inventory {
	return inspect.ReadOne(ctx, j.fleet, j.wanted, j.addresses, j.Clock.Now)
}

// query selects the Jobs of the wanted name.
func (j *foundJob) query() inspect.Query {
	kind := cmp.Or(j.wanted.Kind, delegation.Job().Name)
	return inspect.Query{Kinds: []string{kind}, FieldSelector: "metadata.name=" + j.wanted.Name}
}

// cluster is the one that a context of an inventory has reached, nil if none has.
func (j *foundJob) cluster(ctx context.Context, kubeContext string) *fleet.Cluster {
	for _, a := range fleet.Ask(ctx, j.fleet, func(_ context.Context, c *fleet.Cluster) (*fleet.Cluster, error) { return c, nil }) {
		if a.Value != nil && a.Value.Context == kubeContext {
			return a.Value
		}
	}
	return nil
}

// client makes a client for the cluster that a context has reached.
func (j *foundJob) client(ctx context.Context, kubeContext string) (kubernetes.Interface, error) {
	c := j.cluster(ctx, kubeContext)
	if c == nil {
		return nil, &fleet.Error{Context: kubeContext, Doing: "read logs", Err: errors.New("it is not there any more")}
	}
	return c.Kubernetes()
}
