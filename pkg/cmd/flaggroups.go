package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help is, in columns.
const helpWidth = 80

// flagGroup are flags that a user thinks of together.
type flagGroup struct {
	title string
	// flags are their names; "COMMAND~NAME" is the one of that command alone, which
	// then means something of its own there.
	flags string
}

// flagGroups are the groups in which help shows flags, in this order. Every flag is
// in one of them.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"to choose objects", "all-namespaces selector field-selector filename kinds managed-by status finding delegated orphans as-multikueue namespace"},
		{"to choose clusters", "to namespace-to from all-contexts contexts context cluster user kubeconfig"},
		{"for the new object", "recreate~managed-by queue"},
		{"for the mirror", "set-labels strip-labels with-dependencies with-secret mirror-ttl new-mirror abandon-mirror"},
		{"for how it runs and ends", "dry-run timeout on-interrupt detach-after-start force yes backup"},
		{"for the pod", "pod pod-running-timeout exec~container"},
		{"for the command", "stdin tty quiet"},
		{"to choose logs", "container all-containers previous since since-time tail max-log-requests"},
		{"for what is found", "grace suppress fail-on"},
		{"to follow", "follow watch watch-only output-watch-events"},
		{"for what is written", "output no-headers sort-by summary prefix timestamps redact color warnings-as-errors v"},
		{"for identity", "as as-group as-uid as-user-extra token client-certificate client-key"},
		{"for connections", "address server certificate-authority insecure-skip-tls-verify tls-server-name proxy-url disable-compression request-timeout context-timeout cache-dir"},
		{"", "install help"},
	}
}

// groupOf returns the index of the group of a command's flag, -1 if it is in none.
func groupOf(cmd *cobra.Command, flag *pflag.Flag) int {
	for _, name := range []string{cmd.Name() + "~" + flag.Name, flag.Name} {
		for i, group := range flagGroups() {
			if slices.Contains(strings.Fields(group.flags), name) {
				return i
			}
		}
	}
	return -1
}

// flagUsages are the usages of flags of a command, in groups. The flag for help is
// left out, as kubectl does.
func flagUsages(cmd *cobra.Command, flags *pflag.FlagSet) string {
	known := flagGroups()
	groups := make([]pflag.FlagSet, len(known))
	flags.VisitAll(func(flag *pflag.Flag) {
		if i := groupOf(cmd, flag); i >= 0 && flag.Name != "help" {
			groups[i].AddFlag(flag)
		}
	})
	var b strings.Builder
	for i := range groups {
		if usages := groups[i].FlagUsagesWrapped(helpWidth); usages != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", strings.TrimSpace("Options "+known[i].title), usages)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
