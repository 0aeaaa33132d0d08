package cmd

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// complete gives all arguments and flags of the commands below root what completes
// them. A command that registers something of its own keeps that.
func complete(root *cobra.Command, env Environment, flags *globalFlags) {
	// cobra would add it too late, when the command line is parsed.
	root.InitDefaultHelpCmd()
	c := newCompleter(env, flags)
	arguments, values := c.arguments(), c.values()
	for _, cmd := range append(root.Commands(), root) {
		if cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = arguments[cmd.Name()]
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			value, ok := values[cmd.Name()+" --"+flag.Name]
			if !ok {
				value, ok = values["--"+flag.Name]
			}
			if _, has := cmd.GetFlagCompletionFunc(flag.Name); ok && !has {
				// The flag is there, and nothing is registered for it.
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, value)
			}
		})
	}
}

// arguments are what completes the arguments of each command.
func (c *completer) arguments() map[string]cobra.CompletionFunc {
	none := cobra.NoFileCompletions
	return map[string]cobra.CompletionFunc{
		"ls":           none,
		"trace":        c.asks(c.traced),
		"check":        none,
		"explain":      firstOnly(oneOf(codes()...)),
		"dispatch":     c.asks(c.dispatchable),
		"cancel":       c.asks(c.dispatched),
		"kinds":        none,
		"logs":         c.asks(c.traced),
		"exec":         firstOnly(c.asks(c.traced)),
		"port-forward": firstOnly(c.asks(c.traced)),
		"recreate":     firstOnly(c.asks(c.jobs)),
		"snapshot":     firstOnly(folders),
		"completion":   firstOnly(oneOf(scripts()...)),
		"help":         subcommands,
		"options":      none,
		"version":      none,
	}
}

// values are what completes the values of flags: "--FLAG" of all commands that have
// it, but for those with an entry "COMMAND --FLAG" of their own.
func (c *completer) values() map[string]cobra.CompletionFunc {
	contexts, namespaces := c.asks(c.contexts), c.asks(c.namespaces)
	dispatch, multiKueue := string(delegation.Dispatch), string(delegation.MultiKueue)
	values := map[string]cobra.CompletionFunc{
		"--context":      contexts,
		"--contexts":     list(contexts, "^"),
		"--to":           c.asks(c.otherContexts),
		"--namespace":    namespaces,
		"--namespace-to": c.asks(c.namespacesThere),
		"--cluster":      c.asks(c.clusters),
		"--user":         c.asks(c.users),

		"--kubeconfig":            files,
		"--certificate-authority": files,
		"--client-certificate":    files,
		"--client-key":            files,
		"--cache-dir":             folders,
		"--from":                  folders,
		"--filename":              manifests,
		"--backup":                files,

		"--kinds":        list(oneOf(kinds()...), ""),
		"--managed-by":   c.asks(c.owners(dispatch)),
		"--status":       list(oneOf(statuses()...), ""),
		"--finding":      list(oneOf(codes()...), ""),
		"--suppress":     list(oneOf(codes()...), ""),
		"--fail-on":      oneOf(severities()...),
		"--color":        oneOf(colorAuto, colorAlways, colorNever),
		"--dry-run":      oneOf(dryRunNone, dryRunClient, dryRunServer),
		"--on-interrupt": oneOf(leaveMirror, deleteMirror),
		"--queue":        c.asks(c.queues),
		"--with-secret":  c.asks(c.secrets),
		"--container":    c.asks(c.containers),
		"--pod":          c.asks(c.pods),
		"--address":      oneOf("localhost", "127.0.0.1", "0.0.0.0"),

		// What API servers and the model know (see printers.NewSorter).
		"--field-selector": oneOf("metadata.name=", "metadata.namespace=", "status.successful="),
		"--sort-by":        oneOf(".name", ".status", ".creationTimestamp", ".startTime", ".finishedTime", ".succeeded"),

		"ls --managed-by":       c.asks(c.owners(string(delegation.BuiltIn), dispatch, multiKueue)),
		"recreate --managed-by": c.asks(c.owners(delegation.Job().Reserved, dispatch, multiKueue)),

		"--output":          oneOf(printers.Formats()...),
		"trace --output":    oneOf(append(printers.Formats(), mermaid)...),
		"check --output":    oneOf(append(printers.Formats(), junit, sarif)...),
		"dispatch --output": events,
		"cancel --output":   oneOf("json", "yaml", "kyaml"),
		"recreate --output": oneOf("json", "yaml", "kyaml", "name"),
	}
	for _, flag := range strings.Fields(freeText) {
		values[flag] = cobra.NoFileCompletions
	}
	return values
}

// freeText are flags whose values nobody can guess: durations and numbers,
// selectors and labels, credentials and addresses. Names of files would be wrong.
const freeText = `--v --context-timeout --request-timeout --grace --timeout --mirror-ttl
	--tail --since --since-time --max-log-requests
	--pod-running-timeout
	--selector --set-labels --strip-labels
	--as --as-group --as-uid --as-user-extra --token --server --tls-server-name --proxy-url`

// events completes dispatch's output formats.
func events(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	formats := []string{"json", "yaml", "kyaml"}
	if (word{cmd: cmd}).flag("dry-run") != dryRunNone {
		formats = append(formats, "name")
	}
	return oneOf(formats...)(cmd, args, typed)
}
