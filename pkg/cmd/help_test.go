package cmd

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// minorCommands need no examples; kubectl's own have none either.
var minorCommands = []string{"jobs-managedby", "options", "version"}

// flagTitle matches the title of a group of flags.
var flagTitle = regexp.MustCompile(`(?m)^([A-Z][a-z]+ options|Options.*):$`)

func TestHelp(t *testing.T) {
	all := documented(t)
	assert.Assert(t, len(all) > 10)
	for _, cmd := range all {
		t.Run(cmd.Name(), func(t *testing.T) {
			help := helpOf(t, cmd)
			for line := range strings.Lines(help) {
				assert.Assert(t, len(line) <= util.HelpWidth+1 || strings.HasSuffix(line, " [options]\n"), "%d columns: %s", len(line)-1, line)
			}
			others := strings.NewReplacer("kubectl jobs-managedby", "", "kubectl-jobs_managedby", "", "kubectl_complete-jobs_managedby", "", string(delegation.Dispatch), "").Replace(help)
			assert.Assert(t, !regexp.MustCompile(`jobs?[-_]?managedby`).MatchString(others), "the help has an internal name of the plugin: %s", others)
			if slices.Contains(minorCommands, cmd.Name()) {
				return
			}
			assert.Assert(t, strings.Contains(help, cmd.Long) && cmd.Long != "")
			assert.Assert(t, strings.Count(cmd.Example, "  # ") >= 3, cmd.Example)
			if flags := localFlags(cmd); len(flags) > 4 {
				assert.Assert(t, len(flagTitle.FindAllString(help, -1)) > 1, "%d options in one group", len(flags))
			}
		})
	}
}

// TestContextsInHelp: help shows the flags for several contexts if the command takes them.
func TestContextsInHelp(t *testing.T) {
	for _, cmd := range documented(t) {
		if !cmd.HasParent() {
			continue
		}
		help := helpOf(t, cmd)
		for _, flag := range []string{"--contexts ", "--all-contexts "} {
			assert.Equal(t, strings.Contains(help, flag), !slices.Contains(withoutContexts(), cmd.Name()), "%s %s", cmd.Name(), flag)
		}
	}
	for name, words := range map[string][]string{"cancel": {"x"}, "dispatch": {"x", "--to", "y"}, "recreate": {"x", "--managed-by", "a.example/b"}} {
		_, stderr, code := invoke(t, append([]string{name, "--all-contexts"}, words...)...)
		assert.Assert(t, code == util.ExitUsage && strings.Contains(stderr, "--all-contexts"), stderr)
	}
}

// TestExamples: the commands of examples exist and accept the flags.
func TestExamples(t *testing.T) {
	for _, cmd := range documented(t) {
		example := strings.ReplaceAll(cmd.Example, "\\\n", "")
		for _, call := range regexp.MustCompile(`kubectl jobs-managedby ([^|>)\n]*)`).FindAllStringSubmatch(example, -1) {
			root, _ := newRootCommand(util.Environment{})
			words := strings.Fields(strings.NewReplacer("''", "built-in", "'", "").Replace(call[1]))
			called, rest, err := root.Find(words)
			assert.NilError(t, err, call[0])
			assert.Assert(t, called != root, call[0])
			assert.NilError(t, called.ParseFlags(rest), call[0])
		}
	}
}

// TestFlagGroups: no flag is missing from help, and every group of help has flags.
func TestFlagGroups(t *testing.T) {
	used := sets.New[util.FlagGroup]()
	for _, cmd := range documented(t) {
		flags := localFlags(cmd)
		if !cmd.HasParent() {
			cmd.PersistentFlags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag) })
		}
		for _, flag := range flags {
			group, ok := util.GroupOf(flag)
			assert.Assert(t, ok || flag.Hidden || flag.Name == "help", "%s --%s has no group: call util.Describe", cmd.Name(), flag.Name)
			if ok {
				used.Insert(group)
			}
		}
	}
	assert.DeepEqual(t, used, sets.New(util.FlagGroups()...))
}

// TestHelpIsShort checks the lengths of summaries and lists of examples.
func TestHelpIsShort(t *testing.T) {
	for _, cmd := range documented(t) {
		assert.Check(t, len(cmd.Short) < 60, "%s: %s", cmd.Name(), cmd.Short)
		examples := strings.Count("\n"+cmd.Example, "\n  # ")
		assert.Check(t, examples <= 5, "%s has %d examples", cmd.Name(), examples)
	}
}

// documented returns all commands that users see.
func documented(t *testing.T) []*cobra.Command {
	t.Helper()
	root, _ := newRootCommand(util.Environment{})
	root.InitDefaultHelpFlag()
	all := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			cmd.InitDefaultHelpFlag()
			all = append(all, cmd)
		}
	}
	return all
}

// localFlags returns the flags that only one command has.
func localFlags(cmd *cobra.Command) (flags []*pflag.Flag) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if cmd.HasParent() {
			flags = append(flags, flag)
		}
	})
	return flags
}

func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	assert.NilError(t, cmd.Help())
	return out.String()
}

// TestHelpOfNames: help shows the other names of a command, and the variable that chooses contexts.
func TestHelpOfNames(t *testing.T) {
	for _, cmd := range documented(t) {
		out, _, _ := run(t, cmd.Name(), "--help")
		for _, alias := range cmd.Aliases {
			assert.Assert(t, strings.Contains(out, "Aliases:\n  "+cmd.Name()+", "+alias+"\n"), out)
		}
	}
	out, _, _ := run(t, "options")
	assert.Assert(t, strings.Contains(strings.Join(strings.Fields(out), " "), "variable KUBECTL_JOBS_MANAGEDBY_CONTEXTS sets the default"), out)
}
