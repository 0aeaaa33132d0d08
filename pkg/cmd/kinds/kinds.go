// Package kinds lists the kinds that can be delegated.
package kinds

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// kindsFlags are kinds' flags as the user gave them.
type kindsFlags struct {
	*util.GlobalFlags
	output    string
	noHeaders bool
}

// kindsOptions are the checked options of kinds.
type kindsOptions struct {
	util.Environment
	flags    *util.GlobalFlags
	contexts []fleet.Context
	query    read.Query
	format   *printers.Format
	table    printers.TableOptions
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &kindsFlags{GlobalFlags: global}
	cmd := &cobra.Command{
		Use: "kinds [options]",

		DisableFlagsInUseLine: true,
		Short:                 "List the kinds with managedBy that each context serves",
		Long: `List the kinds with managedBy that each context serves: the field, the owners that it
allows, and the number of objects of each owner in the namespace. --kinds of the other
commands takes these names. kinds reads the current context, or all contexts of the
snapshot with --from, unless you choose others with --contexts or --all-contexts.

Kinds that the plugin does not know are found by their schemas: they have a string
.spec.managedBy or .spec.runPolicy.managedBy, and a status. A dash in FIELD means that the
installed version of the kind lacks the field.

ALLOWED are the values that the API server or the kind's webhook accepts. With -o wide,
there are further columns:

  RESERVED  the value that means the same as an unset field
  CHANGE    whether the field can change later: never, webhook (not if the
            kind's webhook is installed), while-set (it can only be removed)
            or always
  KNOWN-BY  table (the plugin knows the kind), or schema (found by its schema)
  SINCE     the first version of the kind's controller that reads the field by
            default`,
		Example: strings.ReplaceAll(`  # List the kinds of this cluster, and count their objects in all namespaces
  NAME kinds -A

  # List the kinds of all clusters of the kubeconfig
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
	if o.format, err = printers.NewFormat(reflect.TypeFor[inspect.ServedKind](), f.output, f.noHeaders); err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.CurrentContext); err != nil {
		return nil, err
	}
	o.table = printers.TableOptions{
		Contexts: f.ShowsContexts(env, o.contexts, f.noHeaders), Wide: o.format.Wide(), NoHeaders: f.noHeaders, Color: env.WantsColor(f.Color), Markdown: o.format.Is(printers.Markdown),
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
	if err := util.WriteBuffered(o.Out, func(w io.Writer) error { return o.write(w, list) }); err != nil {
		return err
	}
	if o.format.OmitsUnchecked(o.table.NoHeaders) {
		util.ReportErrors(o.ErrOut, list.Errors)
	}
	hasObjects := func(k inspect.ServedKind) bool { return len(k.Owners) > 0 }
	if !o.query.AllNamespaces && !slices.ContainsFunc(list.Items, hasObjects) {
		util.NoteMissingNamespace(ctx, o.ErrOut, f)
	}
	return util.Partial(list.Errors, f)
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
