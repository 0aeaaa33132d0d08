package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help is, in columns.
const helpWidth = 80

// flagGroup is the title, behind "Options", under which help shows flags that a user
// thinks of together.
type flagGroup string

// The groups of flags.
const (
	forObjects     flagGroup = "to choose objects"
	forClusters    flagGroup = "to choose clusters"
	forNewObject   flagGroup = "for the new object"
	forMirror      flagGroup = "for the mirror"
	forRun         flagGroup = "for how it runs and ends"
	forPod         flagGroup = "for the pod"
	forPodCommand  flagGroup = "for the command"
	forLogs        flagGroup = "to choose logs"
	forFindings    flagGroup = "for what is found"
	forFollowing   flagGroup = "to follow"
	forOutput      flagGroup = "for what is written"
	forIdentity    flagGroup = "for identity"
	forConnections flagGroup = "for connections"
	forNothingElse flagGroup = ""
)

// flagGroups are all of them, in the order of help.
func flagGroups() []flagGroup {
	return []flagGroup{
		forObjects, forClusters, forNewObject, forMirror, forRun, forPod, forPodCommand, forLogs, forFindings, forFollowing,
		forOutput, forIdentity, forConnections, forNothingElse,
	}
}

// groupAnnotation is the annotation of a flag with its group.
const groupAnnotation = "jobmanagedby.github.io/group"

// describe tells of flags of a command in which group help shows them, and what completes
// their values, which is nil for those that are given without one. It stands beside their
// definition, and panics where there is none.
func describe(cmd *cobra.Command, group flagGroup, completion cobra.CompletionFunc, names ...string) {
	for _, name := range names {
		flag := cmd.Flag(name)
		if flag == nil {
			panic(fmt.Sprintf("%s has no flag --%s", cmd.Name(), name))
		}
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{}
		}
		flag.Annotations[groupAnnotation] = []string{string(group)}
		if completion == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(name, completion); err != nil {
			panic(err)
		}
	}
}

// groupOf is the group of a flag; it is not ok if nobody has described it.
func groupOf(flag *pflag.Flag) (group flagGroup, ok bool) {
	titles, ok := flag.Annotations[groupAnnotation]
	return flagGroup(strings.Join(titles, "")), ok
}

// flagUsages are the usages of flags in their groups. The flag for help is in none, and
// is left out, as kubectl does.
func flagUsages(flags *pflag.FlagSet) string {
	groups := map[flagGroup]*pflag.FlagSet{}
	for _, group := range flagGroups() {
		groups[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if group, ok := groupOf(flag); ok {
			groups[group].AddFlag(flag)
		}
	})
	var b strings.Builder
	for _, group := range flagGroups() {
		if usages := groups[group].FlagUsagesWrapped(helpWidth); usages != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", strings.TrimSpace("Options "+string(group)), usages)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
