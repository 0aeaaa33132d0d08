package check

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// checked is what a check has found, with how much it looked at.
type checked struct {
	List *inspect.FindingList
	// Delegated and Contexts say what was looked at.
	Delegated int
	Contexts  []string
}

func (o *checkOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, o.query.Kinds)
	if err != nil {
		return err
	}
	addresses, steady := o.flags.Addresses(o.contexts, f), o.flags.NewSteady()
	again := &util.Repeated[*checked]{
		Environment: o.Environment, IsTable: o.format.IsTable(), Write: o.write, Show: o.show,
		Read: func(ctx context.Context) (*checked, error) { return o.read(ctx, f, addresses, steady), nil },
	}
	if o.watch {
		return again.Run(ctx, f)
	}
	once := again.Read
	again.Read = func(ctx context.Context) (*checked, error) { return util.ReadTwice(ctx, o.Clock, f, steady, once) }
	return again.Once(ctx)
}

func (o *checkOptions) read(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address, steady *rules.Steady) *checked {
	inventory := read.Read(ctx, f, read.Want{Jobs: &o.query, Evidence: true, Addresses: addresses, Now: o.Clock.Now})
	judgment := steady.Keep(o.Clock.Now(), rules.Judge(inventory, o.rules, o.judging))
	found := &checked{List: inspect.NewFindingList(), Delegated: len(inventory.Pairs.Pairs)}
	found.List.Items = judgment.Findings
	for _, n := range judgment.NotJudged {
		found.List.Errors = append(found.List.Errors, n.Error())
	}
	for _, facts := range inventory.Clusters {
		if facts.Err == nil {
			found.Contexts = append(found.Contexts, facts.Context)
		}
	}
	return found
}

// show prints what was found, and makes the exit code of it.
func (o *checkOptions) show(found *checked) error {
	if err := util.Written(o.Out, func(w io.Writer) error { return o.write(w, found) }); err != nil {
		return err
	}
	o.tell(found)
	return errors.Join(o.verdict(found), util.Partial(found.List.Errors, len(o.contexts)))
}

// tell says beside the output what it does not.
func (o *checkOptions) tell(found *checked) {
	tellsErrors := o.format.TellsErrors() || o.format.IsTable() && !o.table.NoHeaders || o.format.Is(junit) || o.format.Is(sarif)
	if !tellsErrors {
		util.TellErrors(o.ErrOut, found.List.Errors)
	}
	if len(found.List.Items) == 0 && o.format.IsTable() && len(found.Contexts) > 0 {
		jobs := "delegated " + util.NounFor(o.query)
		if found.Delegated == 1 {
			jobs = strings.TrimSuffix(jobs, "s")
		}
		where := "in namespace " + o.contexts[0].Namespace
		if o.query.AllNamespaces {
			where = "in all namespaces"
		}
		if len(found.List.Errors) > 0 {
			util.Tell(o.ErrOut, "No findings in what could be looked at: %d %s %s of %s", found.Delegated, jobs, where, strings.Join(found.Contexts, ", "))
			return
		}
		util.Tell(o.ErrOut, "No findings: looked at %d %s %s of %s", found.Delegated, jobs, where, strings.Join(found.Contexts, ", "))
	}
}

func (o *checkOptions) verdict(found *checked) error {
	if o.failOn == failOnNone {
		return nil
	}
	for i := range found.List.Items {
		if found.List.Items[i].Severity.IsAtLeast(o.failOn) {
			return &util.FindingsError{Count: printers.CountFindings(found.List)}
		}
	}
	return nil
}

func (o *checkOptions) write(w io.Writer, found *checked) error {
	switch {
	case o.format.Is(junit):
		return printers.JUnit(w, found.List, o.rules)
	case o.format.Is(sarif):
		return printers.SARIF(w, found.List, o.rules, util.Version())
	case o.format.IsPerJob():
		return o.format.PrintFindings(w, found.List.Items)
	case !o.format.IsTable():
		return o.format.PrintObject(w, found.List)
	}
	return printers.Findings(w, found.List, o.TableNow(o.table))
}
