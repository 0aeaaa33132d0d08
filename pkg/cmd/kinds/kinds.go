// Package kinds lists the kinds that can be delegated.
package kinds

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// kindsFlags are what a user typed behind kinds.
type kindsFlags struct {
	*util.GlobalFlags
	output    string
	noHeaders bool
}

// kindsOptions are what kinds needs to run, checked.
type kindsOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	format   *printers.Format
	table    printers.TableOptions
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &kindsFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "kinds [options]",

		DisableFlagsInUseLine: true,
		Short:                 "List the kinds that can be delegated, as each context serves them",
		Long: `List the kinds that can be delegated, as each context serves them: the field that
names the owner, the owners that it allows, and how many objects each owner has, in
the namespace that is looked at. --kinds of the other commands takes these kinds.

Kinds that nothing here knows of are found by their schemas: those that have a text
.spec.managedBy or .spec.runPolicy.managedBy, and a status. Of known kinds too the
schema tells whether what is installed has the field; where it has not, a - stands
for it, and the kind cannot be delegated there.

ALLOWED is what the server, or a webhook of the kind's own, lets the field be. With
-o wide, RESERVED is the value that means the same as none, and CHANGE tells whether
the field can be changed later: never, webhook (not where a webhook of the kind's own
is installed), while-set (not to another value, but it can be removed) or always.
SINCE is the first version of the kind's controller that heeds the field.`,
		Example: strings.ReplaceAll(`  # What can be delegated here, and how many objects of all namespaces are
  NAME kinds -A

  # The same of all clusters of the kubeconfig
  NAME kinds -A --all-contexts

  # Names for --kinds
  NAME kinds -o name`, "NAME", env.DisplayName()),
		Args: util.NoArguments,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.AddNamespacesFlag(cmd, "count objects")
	f.AddFromFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "Output format. One of: ("+strings.Join(printers.Formats(), ", ")+")")
	util.Describe(cmd, util.ForOutput, util.OneOf(printers.Formats()...), "output")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "When using the default or custom-column output format, don't print headers")
	util.Describe(cmd, util.ForOutput, nil, "no-headers")
	cmd.RunE = util.Runs(func([]string) (*kindsOptions, error) { return f.toOptions(env) })
	return cmd
}

func (f *kindsFlags) toOptions(env util.Environment) (*kindsOptions, error) {
	o := &kindsOptions{Environment: env, flags: f.GlobalFlags, query: read.Query{AllNamespaces: f.AllNamespaces}}
	var err error
	if o.format, err = printers.NewFormat(f.output, f.noHeaders); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.CurrentContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts: len(o.contexts) > 1, Wide: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown),
	}
	return o, nil
}

func (o *kindsOptions) Run(ctx context.Context) error {
	f, err := o.flags.Reach(ctx, o.Environment, o.contexts, nil)
	if err != nil {
		return err
	}
	list := read.Kinds(ctx, f, o.query)
	if err := util.Interrupted(ctx); err != nil {
		return err
	}
	if err := util.Written(o.Out, func(w io.Writer) error { return o.write(w, list) }); err != nil {
		return err
	}
	if !o.format.TellsErrors() && (!o.format.IsTable() || o.table.NoHeaders) {
		util.TellErrors(o.ErrOut, list.Errors)
	}
	return util.Partial(list.Errors, len(f.Contexts()))
}

func (o *kindsOptions) write(w io.Writer, list *inspect.KindList) error {
	switch {
	case o.format.IsPerJob():
		return o.format.PrintKinds(w, list.Items)
	case !o.format.IsTable():
		return o.format.PrintObject(w, list)
	}
	return printers.Kinds(w, list, o.TableNow(o.table))
}
