// Package running finds the cluster that runs a Job, and a running Pod of the Job.
package running

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// Search finds the clusters that run a named Job.
type Search struct {
	util.Environment
	Flags    *util.GlobalFlags
	Contexts []fleet.Context
	wanted   read.Wanted
	// What is the name of the Job as the user gave it.
	What string
}

// FoundJob is the result of a Search.
type FoundJob struct {
	*Search
	Fleet     *fleet.Fleet
	addresses []kubecontext.Address
	Inventory *inspect.Inventory
	At        logs.Placement
}

// Parse parses the name of the Job.
func (s *Search) Parse() (err error) {
	s.wanted, err = util.ParseJobName([]string{s.What})
	return err
}

// Load loads the contexts to search.
func (s *Search) Load() (err error) {
	if s.Contexts, err = s.Flags.Load(&s.Environment, util.EveryContext); err != nil {
		return err
	}
	util.OneNamespace(s.Contexts)
	s.wanted.Namespace = s.Contexts[0].Namespace
	return nil
}

// Find connects to the contexts and finds the clusters of the Job's Pods. It shows the contexts
// that it waits for until isBusy is set.
func (s *Search) Find(ctx context.Context, isBusy *atomic.Bool) (*FoundJob, error) {
	progress := util.NewProgress(s.Environment)
	f := fleet.Open(ctx, s.Contexts, fleet.Options{
		Timeout: s.Flags.ContextTimeout, Clock: s.Clock, CacheDir: s.Flags.CacheDir(), Refused: read.Query{}.Refused,
		Waiting: func(contexts []string) {
			if !isBusy.Load() {
				progress.Waiting(contexts)
			}
		},
	})
	j := &FoundJob{Search: s, Fleet: f, addresses: s.Flags.Addresses(s.Contexts, f)}
	if err := util.Interrupted(ctx); err != nil {
		return nil, err
	}
	if err := util.RequireServed(ctx, s.Environment, f, j.Query().Kinds); err != nil {
		return nil, cmp.Or(util.Interrupted(ctx), err)
	}
	j.Inventory = j.Read(ctx)
	if err := util.Interrupted(ctx); err != nil {
		return nil, err
	}
	if len(j.Inventory.Subjects()) == 0 {
		return nil, util.NotFound(ctx, s.Environment, f, s.wanted, j.Inventory)
	}
	var err error
	if j.At, err = logs.Choose(j.Inventory, s.What); err != nil {
		return nil, err
	}
	util.ReportUnneeded(s.ErrOut, logs.Unread(j.Inventory), 0)
	return j, nil
}

// Read reads the Job with its mirrors from all contexts.
func (j *FoundJob) Read(ctx context.Context) *inspect.Inventory {
	return read.Read(ctx, j.Fleet, read.Want{Named: &j.wanted, Addresses: j.addresses, Now: j.Clock.Now})
}

// Query selects the Jobs of the wanted name.
func (j *FoundJob) Query() read.Query {
	kind := cmp.Or(j.wanted.Kind, delegation.Job().Name)
	return read.Query{Kinds: []string{kind}, FieldSelector: "metadata.name=" + j.wanted.Name}
}

// cluster returns the cluster that a context of an inventory has reached, nil if none has.
func (j *FoundJob) cluster(ctx context.Context, kubeContext string) *fleet.Cluster {
	for _, a := range fleet.Ask(ctx, j.Fleet, func(_ context.Context, c *fleet.Cluster) (*fleet.Cluster, error) { return c, nil }) {
		if a.Value != nil && a.Value.Context == kubeContext {
			return a.Value
		}
	}
	return nil
}

// Client returns a client for the cluster that a context has reached.
func (j *FoundJob) Client(ctx context.Context, kubeContext string) (kubernetes.Interface, error) {
	c := j.cluster(ctx, kubeContext)
	if c == nil {
		return nil, &kubecontext.Error{Context: kubeContext, Doing: "read logs", Err: errors.New("the cluster no longer answers")}
	}
	return c.Kubernetes(), nil
}
