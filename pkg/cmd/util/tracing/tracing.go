// Package tracing reads and judges Jobs with one name as trace prints them, for the commands that
// explain a Job.
package tracing

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// Tracer traces the Jobs with one name.
type Tracer struct {
	Wanted    read.Wanted
	Addresses []kubecontext.Address
	// Reach are the flags with which printed commands reach the clusters.
	Reach []string
	// Steady decides which findings count over several readings; nil keeps all.
	Steady *rules.Steady
	Now    func() time.Time
}

// Traced is the result of one reading.
type Traced struct {
	// Inventory is what was read about the Jobs with that name.
	Inventory *inspect.Inventory
	// Pairs are these Jobs, empty if there are none. List has a complete trace of each.
	Pairs []inspect.Pair
	List  *inspect.TraceList
}

// Read reads once. A Job that waits is judged together with the others, as in check: one Job
// alone does not show whether a controller is stuck or slow, and who holds the quota.
func (t *Tracer) Read(ctx context.Context, f *fleet.Fleet) *Traced {
	var ahead read.Ahead
	defer ahead.Stop()
	inventory := read.Read(ctx, f, read.Want{Named: &t.Wanted, Ahead: &ahead, Addresses: t.Addresses, Now: t.Now})
	found := &Traced{Inventory: inventory, Pairs: inventory.Subjects(), List: inspect.NewTraceList()}
	if len(found.Pairs) == 0 {
		return found
	}
	list := found.List
	for _, p := range found.Pairs {
		one := chain.Trace(inventory, p)
		one.Placements = append(one.Placements, answer.Reached(placement.Judge(inventory, p), t.Reach)...)
		list.Items = append(list.Items, *one)
	}
	inventory.ForgetClaims()
	around := t.around(ctx, f, inventory, list.Items, &ahead)
	judgment := t.Steady.Keep(t.Now(), rules.Judge(around, rules.All(), rules.Options{Grace: util.DefaultGrace, Reach: t.Reach}))
	list.Errors = append(inventory.Errors(), alone(around)...)
	orphans := judgment.All(answer.IsOrphan)
	for i := range list.Items {
		one := &list.Items[i]
		one.Findings, one.Errors = judgment.About(one), list.Errors
		q := answer.Question{Inventory: inventory, Pair: found.Pairs[i], Trace: one, Findings: orphans, Reach: t.Reach}
		answer.Fill(q)
		q.Advise(one.Findings)
	}
	return found
}

// around returns the inventory to judge the Jobs by, with the other Jobs if the answer depends on
// them.
func (t *Tracer) around(ctx context.Context, f *fleet.Fleet, one *inspect.Inventory, traces []inspect.Trace, ahead *read.Ahead) *inspect.Inventory {
	if !rules.DependsOnOthers(one, traces) {
		return one
	}
	return read.Read(ctx, f, read.Want{Jobs: t.Wanted.Around(), Evidence: true, Known: one, Ahead: ahead, Addresses: t.Addresses, Now: t.Now})
}

// alone returns errors for the contexts in which a Job was judged without the others.
func alone(around *inspect.Inventory) []inspect.ContextError {
	var errs []inspect.ContextError
	for _, f := range around.Clusters {
		if f.RestErr != nil {
			e := inspect.NewContextError(kubecontext.InContext(f.Context, "", f.RestErr))
			e.Message += "; the Job was checked without the others there"
			errs = append(errs, e)
		}
	}
	return errs
}
