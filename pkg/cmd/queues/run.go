package queues

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// Run reads and prints.
func (o *queuesOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, nil)
	if err != nil {
		return err
	}
	o.table.NowOn = f.Now
	addresses := o.flags.Addresses(o.contexts, f)
	display := &util.Display[*queuesRead]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.write,
		Show: func(r *queuesRead) error { return o.show(ctx, r, f) },
		Read: func(ctx context.Context) (*queuesRead, error) {
			return o.read(ctx, f, addresses), nil
		},
	}
	if o.watch {
		return display.Run(ctx, f)
	}
	return display.Once(ctx)
}

// queuesRead is the result of a reading, with notes for people.
type queuesRead struct {
	List *queues.QueueList
	// Pending is set instead of the rows of List with --pending.
	Pending *queues.PendingList
	// WithoutKueue are the contexts that do not serve Kueue's API.
	WithoutKueue []string
	// Notes are the reads that a user of one namespace has no right to. The answer is complete without them.
	Notes []inspect.ContextError
	// UnreadWorkers are workers on which Workloads may wait.
	UnreadWorkers []inspect.Unchecked
	// Missing are the names without a queue.
	Missing []queueName
}

func (o *queuesOptions) read(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) *queuesRead {
	inventory := read.Read(ctx, f, read.Want{Quotas: o.scope, Release: o.summary, Addresses: addresses, Now: o.Clock.Now})
	r := &queuesRead{List: queues.NewQueueList()}
	switch {
	case o.pending:
		r.Pending = queues.NewPendingList()
		r.Pending.Items = queues.Pending(inventory)
		if r.List.Items = queues.List(inventory); o.scope != read.ClusterScope {
			r.List.Items = queues.Locals(inventory)
		}
	case o.summary:
		r.List.Items = queues.Sum(inventory)
	case o.scope == read.ClusterScope:
		r.List.Items = queues.List(inventory)
	default:
		r.List.Items = queues.Locals(inventory)
	}
	if o.pending {
		r.keepPending(o.names, o.scope)
	} else {
		r.keep(o.names)
	}
	r.List.Errors = inventory.Errors()
	for _, facts := range inventory.Clusters {
		o.addGaps(r, facts)
	}
	r.List.Unchecked = inspect.UncheckedOf(r.List.Errors)
	if r.Pending != nil {
		r.UnreadWorkers = o.unreadWorkers(ctx, f, inventory)
		r.Pending.Errors, r.Pending.Unchecked = r.List.Errors, append(slices.Clip(r.List.Unchecked), r.UnreadWorkers...)
	}
	return r
}

// addGaps adds what could not be read of a cluster.
func (o *queuesOptions) addGaps(r *queuesRead, facts *inspect.Facts) {
	if facts.NoKueue {
		r.WithoutKueue = append(r.WithoutKueue, facts.Context)
	}
	for _, gap := range queues.QuotaGaps(facts) {
		if o.pending && gap.Part == inspect.PartCohorts {
			// The order of a queue does not depend on them.
			continue
		}
		// Without the Workloads of the namespace, nothing is known to wait in it.
		isEssential := o.pending && gap.Part == inspect.PartClaims && facts.Kueue.Capacity.Within == ""
		// Without LimitRanges, only some requests are unknown, and the rows show that.
		isMinor := gap.Part == inspect.PartLimitRanges
		if isMinor || o.scope == read.NamespaceScope && !isEssential && gap.Refusal != nil {
			r.Notes = append(r.Notes, gap)
		} else {
			r.List.Errors = append(r.List.Errors, gap)
		}
	}
}

// unreadWorkers returns the unread workers on which Workloads may wait that have quota on a manager.
func (o *queuesOptions) unreadWorkers(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory) []inspect.Unchecked {
	names := plainNames(o.names)
	if o.scope == read.ClusterScope {
		// The ClusterQueues of workers have names of their own.
		names = nil
	}
	if o.scope != read.ClusterScope && queues.AwaitsWorkers(v, names) {
		v = read.Read(ctx, f, read.Want{Config: true, Known: v, Addresses: v.Addresses, Now: o.Clock.Now})
	}
	return queues.UnreadWorkers(v, names)
}

// isEmpty reports whether there is nothing to show.
func (r *queuesRead) isEmpty() bool {
	if r.Pending != nil {
		return len(r.Pending.Items) == 0
	}
	return len(r.List.Items) == 0
}

// keep keeps only the rows with some names and the rows below them; no names keep all.
func (r *queuesRead) keep(names []queueName) {
	if len(names) == 0 {
		return
	}
	found := sets.New[queueName]()
	r.List.Items = slices.DeleteFunc(r.List.Items, func(row queues.QueueQuota) bool {
		isWanted := false
		for _, n := range names {
			if n.covers(&row) {
				isWanted = true
				found.Insert(n)
			}
		}
		return !isWanted
	})
	r.addMissing(names, found.Has)
}

func (o *queuesOptions) show(ctx context.Context, r *queuesRead, f *fleet.Fleet) error {
	if err := o.Print(func(w io.Writer) error { return o.write(w, r) }, func(w io.Writer) error { return o.writeTable(w, r) }); err != nil {
		return err
	}
	if o.format.OmitsUnchecked(o.table.NoHeaders) {
		util.ReportErrors(o.ErrOut, r.List.Errors)
	}
	if !o.format.IncludesErrors() {
		util.ReportUnchecked(o.ErrOut, r.UnreadWorkers)
	}
	r.reportNotes(o.ErrOut, o.TableNow(o.table).Width)
	if o.scope == read.ClusterScope && r.isEmpty() && slices.ContainsFunc(r.List.Errors, refusesLocalQueues) {
		util.Report(o.ErrOut, "note: this needs rights in all namespaces; -n shows the queues of one namespace")
	}
	o.reportEmpty(r)
	if r.isEmpty() && o.scope == read.NamespaceScope {
		util.NoteMissingNamespace(ctx, o.ErrOut, f)
	}
	return util.JoinErrors([]error{o.missingError(r), util.Partial(r.List.Errors, f), util.Incomplete(r.UnreadWorkers)})
}

// reportNotes reports each note once, with the contexts that it holds for. width is that of the terminal, 0 without one.
func (r *queuesRead) reportNotes(w io.Writer, width int) {
	var messages []string
	contexts := map[string][]string{}
	for _, note := range inspect.FoldRefusals(r.Notes) {
		if contexts[note.Message] == nil {
			messages = append(messages, note.Message)
		}
		contexts[note.Message] = append(contexts[note.Message], strconv.Quote(note.Context))
	}
	for _, message := range messages {
		word := "context"
		if len(contexts[message]) > 1 {
			word = "contexts"
		}
		_ = printers.Note(w, fmt.Sprintf("%s %s: %s", word, inspect.And(contexts[message]), message), width)
	}
}

// reportEmpty says why a table is empty.
func (o *queuesOptions) reportEmpty(r *queuesRead) {
	if len(r.WithoutKueue) > 0 && r.isEmpty() && o.format.IsTable() {
		util.Report(o.ErrOut, "No queues: %s %s Kueue's API", strings.Join(r.WithoutKueue, ", "), map[bool]string{true: "does not serve", false: "do not serve"}[len(r.WithoutKueue) == 1])
	} else if r.isEmpty() && len(r.List.Errors)+len(r.UnreadWorkers) == 0 && len(r.Missing) == 0 && o.format.IsTable() {
		what := "No queues found"
		if o.pending {
			what = "No pending Workloads found"
		}
		util.Report(o.ErrOut, "%s%s", what, o.where())
	}
}

// refusesLocalQueues reports whether a user may not list LocalQueues.
func refusesLocalQueues(e inspect.ContextError) bool {
	return e.Refusal != nil && e.Refusal.Resource == "localqueues"
}

func (o *queuesOptions) write(w io.Writer, r *queuesRead) error {
	switch {
	case o.pending && o.format.IsPerJob():
		return o.format.PrintPending(w, r.Pending)
	case o.pending && !o.format.IsTable():
		return o.format.PrintObject(w, r.Pending)
	case o.format.IsPerJob():
		return o.format.PrintQueues(w, r.List)
	case !o.format.IsTable():
		return o.format.PrintObject(w, r.List)
	}
	return o.writeTable(w, r)
}

func (o *queuesOptions) writeTable(w io.Writer, r *queuesRead) error {
	table := o.TableNow(o.table)
	if !o.pending {
		return printers.Queues(w, r.List, table)
	}
	return printers.Pending(w, r.Pending, table)
}

// keepPending keeps only the waiting Workloads in queues with some names, or in the members of a
// cohort; no names keep all.
func (r *queuesRead) keepPending(names []queueName, scope read.Scope) {
	rows := r.List.Items
	r.List.Items = nil
	if len(names) == 0 {
		return
	}
	wanted, found := sets.New[string](), sets.New[queueName]()
	for i := range rows {
		row := &rows[i]
		if scope != read.ClusterScope && row.Kind != queues.KindLocalQueue {
			continue
		}
		for _, n := range names {
			if n.covers(row) {
				wanted.Insert(row.Context + "/" + row.Name)
				found.Insert(n)
			}
		}
	}
	r.Pending.Items = slices.DeleteFunc(r.Pending.Items, func(j queues.PendingJob) bool {
		if scope == read.ClusterScope {
			return !wanted.Has(j.Context + "/" + j.ClusterQueue)
		}
		isWanted := func(n queueName) bool { return n.isOf(queues.KindLocalQueue, j.LocalQueue) }
		if i := slices.IndexFunc(names, isWanted); i >= 0 {
			// The LocalQueue itself may not be readable.
			found.Insert(names[i])
			return false
		}
		return true
	})
	r.addMissing(names, found.Has)
}
