package util

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpWidth is the width of help, in columns.
const HelpWidth = 80

// FlagGroup is the title under which help shows related flags.
type FlagGroup string

// The groups of flags.
const (
	ForObjects     FlagGroup = "Object options"
	ForClusters    FlagGroup = "Cluster options"
	ForNewObject   FlagGroup = "Options for the new object"
	ForMirror      FlagGroup = "Mirror options"
	ForRun         FlagGroup = "Run options"
	ForPod         FlagGroup = "Pod options"
	ForPodCommand  FlagGroup = "Command options"
	ForLogs        FlagGroup = "Log options"
	ForFindings    FlagGroup = "Finding options"
	ForFollowing   FlagGroup = "Watch options"
	ForOutput      FlagGroup = "Output options"
	ForIdentity    FlagGroup = "Identity options"
	ForConnections FlagGroup = "Connection options"
	ForNothingElse FlagGroup = "Options"
)

// FlagGroups returns all groups, in the order of help.
func FlagGroups() []FlagGroup {
	return []FlagGroup{
		ForObjects, ForClusters, ForNewObject, ForMirror, ForRun, ForPod, ForPodCommand, ForLogs, ForFindings, ForFollowing,
		ForOutput, ForIdentity, ForConnections, ForNothingElse,
	}
}

// groupAnnotation is the annotation of a flag with its group.
const groupAnnotation = "jobmanagedby.github.io/group"

// Describe sets the group of flags in help and the completion of their values, which is nil for
// flags without a value. It must be called with the definition of the flags, and panics if a flag
// does not exist.
func Describe(cmd *cobra.Command, group FlagGroup, completion cobra.CompletionFunc, names ...string) {
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
		if err := cmd.RegisterFlagCompletionFunc(name, PlainChoices(completion)); err != nil {
			panic(err)
		}
	}
}

// GroupOf returns the group of a flag; ok is false if the flag has none.
func GroupOf(flag *pflag.Flag) (group FlagGroup, ok bool) {
	titles, ok := flag.Annotations[groupAnnotation]
	return FlagGroup(strings.Join(titles, "")), ok
}

// FlagUsages returns the usages of flags in their groups. The help flag is in none, and is left
// out, as in kubectl.
func FlagUsages(flags *pflag.FlagSet) string {
	groups := map[FlagGroup]*pflag.FlagSet{}
	for _, group := range FlagGroups() {
		groups[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if group, ok := GroupOf(flag); ok {
			groups[group].AddFlag(flag)
		}
	})
	var b strings.Builder
	for _, group := range FlagGroups() {
		if usages := groups[group].FlagUsagesWrapped(HelpWidth); usages != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", group, usages)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
