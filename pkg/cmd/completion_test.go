package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

const exampleFleet = "../../examples/fleet"

// runIn runs the plugin with environment variables.
func runIn(t *testing.T, program string, variables map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Run(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut},
		Program:   program,
		Args:      args,
		LookupEnv: func(name string) (string, bool) { value, ok := variables[name]; return value, ok },
		Clock:     &skippingClock{},
		// The parser of YAML took a third of the CPU time of these tests.
		OpenSnapshot: openOnce,
	})
	return out.String(), errOut.String(), code
}

// completed returns what a shell gets for the last of the words: the choices and the directive
// without its colon, and nothing else. The time limit is long enough for slow machines.
func completed(t *testing.T, words ...string) (choices []string, directive string) {
	t.Helper()
	return completedWithin(t, "1m", words...)
}

func completedWithin(t *testing.T, duration string, words ...string) (choices []string, directive string) {
	t.Helper()
	out, errOut, code := runIn(t, "kubectl-jobs_managedby", map[string]string{complete.TimeVariable: duration},
		append([]string{cobra.ShellCompRequestCmd}, words...)...)
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(errOut, "Completion ended with directive: "), errOut)
	assert.Equal(t, strings.Count(errOut, "\n"), 1, errOut)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[:len(lines)-1], strings.TrimPrefix(lines[len(lines)-1], ":")
}

// names returns choices without their descriptions.
func names(choices []string) []string {
	var names []string
	for _, c := range choices {
		name, _, _ := strings.Cut(c, "\t")
		names = append(names, name)
	}
	return names
}

// eachCommand calls do for every command that a user can call.
func eachCommand(t *testing.T, do func(*cobra.Command)) {
	t.Helper()
	root := NewRootCommand(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: io.Discard},
		Program:   "kubectl-jobs_managedby",
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		do(c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// TestEveryFlagHasCompletion: every command and flag has a completion. Values that cannot be
// guessed complete to nothing rather than to names of files.
func TestEveryFlagHasCompletion(t *testing.T) {
	commands := 0
	eachCommand(t, func(c *cobra.Command) {
		commands++
		if c.Runnable() {
			assert.Check(t, c.ValidArgsFunction != nil, "nothing completes the arguments of %s: give it a ValidArgsFunction", c.Name())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, has := c.GetFlagCompletionFunc(f.Name)
			assert.Check(t, has || f.Value.Type() == "bool", "nothing completes %s --%s: describe it", c.Name(), f.Name)
		})
	})
	assert.Assert(t, commands > 10)
}

// TestChoicesMatchHelp: if the help of a flag lists its values, these are the choices.
func TestChoicesMatchHelp(t *testing.T) {
	listed := regexp.MustCompile(`One of: \(([^)]*)\)`)
	checked := 0
	eachCommand(t, func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			match := listed.FindStringSubmatch(f.Usage)
			if match == nil {
				return
			}
			checked++
			completion, ok := c.GetFlagCompletionFunc(f.Name)
			assert.Assert(t, ok, f.Name)
			choices, _ := completion(c, nil, "")
			assert.DeepEqual(t, names(choices), strings.Split(match[1], ", "))
		})
	})
	assert.Assert(t, checked >= 8)
}

func TestSortByChoices(t *testing.T) {
	choices, _ := completed(t, "ls", "--sort-by", "")
	assert.Assert(t, len(choices) > 3)
	for _, c := range choices {
		_, err := printers.NewSorter(c)
		assert.NilError(t, err)
	}
}

// TestCompletionWithoutClusters: choices that are known without asking a cluster.
func TestCompletionWithoutClusters(t *testing.T) {
	hideKubeconfig(t)
	for _, tt := range []struct {
		name      string
		words     []string
		want      string
		directive string
	}{
		{"commands", []string{"c"}, "cancel check completion", "4"},
		{"commands of help", []string{"help", "tr"}, "trace", "4"},
		{"one command for help", []string{"help", "trace", ""}, "", "4"},
		{"color", []string{"ls", "--color", ""}, "auto always never", "4"},
		{"color behind =", []string{"ls", "--color=a"}, "auto always", "4"},
		{"formats", []string{"ls", "-o", "j"}, "json jsonpath= jsonpath-as-json= jsonpath-file=", "4"},
		{"formats with a template", []string{"ls", "-o", "cust"}, "custom-columns= custom-columns-file=", "6"},
		{"formats of trace", []string{"trace", "-o", "me"}, "mermaid", "4"},
		{"formats of check", []string{"check", "--output", "s"}, "sarif", "4"},
		{"formats of dispatch", []string{"dispatch", "-o", ""}, "json yaml kyaml", "4"},
		{"formats of dispatch --dry-run", []string{"dispatch", "--dry-run", "-o", ""}, "json yaml kyaml name", "4"},
		{"dry runs", []string{"recreate", "x", "--dry-run="}, "none client server", "4"},
		{"values of --on-interrupt", []string{"dispatch", "--on-interrupt", "d"}, "delete", "4"},
		{"severities", []string{"check", "--fail-on", ""}, "error warning info none", "4"},
		{"statuses", []string{"ls", "--status", "Su"}, "Suspended", "4"},
		{"statuses in any case", []string{"ls", "--status", "su"}, "suspended", "4"},
		{"statuses in a list", []string{"ls", "--status", "Complete,Failed,C"}, "", "4"},
		{"kinds", []string{"ls", "--kinds", "jobs"}, "jobset", "4"},
		{"kinds in a list", []string{"ls", "--kinds", "job,job"}, "job,jobset", "4"},
		{"all kinds", []string{"ls", "--kinds", "al"}, "all", "4"},
		{"codes", []string{"explain", "JM06"}, "JM060 JM061 JM062 JM063", "4"},
		{"codes in any case", []string{"explain", "jm063"}, "jm063", "4"},
		{"another code", []string{"explain", "JM063", "JM06"}, "JM060 JM061 JM062", "4"},
		{"codes to suppress", []string{"check", "--suppress", "JM063=a/b,JM062,JM06"}, "JM063=a/b,JM062,JM060 JM063=a/b,JM062,JM061 JM063=a/b,JM062,JM063", "4"},
		{"scripts", []string{"completion", ""}, "kubectl bash zsh fish powershell", "4"},
		{"field selectors", []string{"ls", "--field-selector", "m"}, "metadata.name= metadata.namespace=", "6"},
		{"known owners", []string{"ls", "--managed-by", ""}, "built-in jobmanagedby.github.io/dispatch kueue.x-k8s.io/multikueue", "4"},
		{"owners to recreate with", []string{"recreate", "x", "--managed-by", ""}, "jobmanagedby.github.io/dispatch kubernetes.io/job-controller kueue.x-k8s.io/multikueue", "4"},
		{"no arguments", []string{"ls", ""}, "", "4"},
		{"no arguments of version", []string{"version", ""}, "", "4"},
		{"selectors", []string{"ls", "-l", ""}, "", "4"},
		{"durations", []string{"check", "--grace", ""}, "", "4"},
		{"credentials", []string{"ls", "--token", ""}, "", "4"},
		{"files", []string{"ls", "--kubeconfig", ""}, "", "0"},
		{"directories", []string{"trace", "--from", ""}, "", "16"},
		{"directory of snapshot", []string{"snapshot", ""}, "", "16"},
		{"manifests", []string{"dispatch", "-f", ""}, "yaml yml json", "8"},
		{"Jobs", []string{"trace", ""}, "", "4"},
		{"Jobs of a kind", []string{"trace", "job/"}, "", "4"},
		{"contexts", []string{"ls", "--context", ""}, "", "4"},
		{"namespaces", []string{"ls", "-n", ""}, "", "4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choices, directive := completed(t, tt.words...)
			assert.Equal(t, strings.Join(names(choices), " "), tt.want)
			assert.Equal(t, directive, tt.directive)
		})
	}
}

// TestDescriptions: codes, kinds and commands have descriptions.
func TestDescriptions(t *testing.T) {
	choices, _ := completed(t, "explain", "JM034")
	assert.Equal(t, len(choices), 1)
	assert.Assert(t, strings.HasPrefix(choices[0], "JM034\t"), choices[0])
	choices, _ = completed(t, "ls", "--kinds", "jobs")
	assert.DeepEqual(t, choices, []string{"jobset\tJobSet of jobset.x-k8s.io"})
}

// TestCompletionFromSnapshot: a bundle provides choices as clusters do.
func TestCompletionFromSnapshot(t *testing.T) {
	skipIfShort(t)
	hideKubeconfig(t)
	for _, tt := range []struct {
		name  string
		words []string
		want  string
	}{
		{"Jobs of all contexts", []string{"trace", "-n", "ml", ""}, "eval sweep train train-old"},
		{"Jobs of all namespaces", []string{"trace", "-A", "t"}, "test-1 test-2 test-3 train train-old"},
		{"Jobs of one context", []string{"trace", "-n", "ml", "--contexts", "worker-*,^worker-1", ""}, "train-old"},
		{"Jobs that were not named yet", []string{"check", "-n", "ml", "train", ""}, "eval sweep train-old"},
		{"Jobs of ls that were not named yet", []string{"ls", "-n", "ml", "train", "t"}, "train-old"},
		{"Jobs of a kind for ls", []string{"ls", "-n", "ml", "job/train", "job/t"}, "job/train-old"},
		{"kinds for ls if no Job has the prefix", []string{"ls", "-n", "ml", "rayj"}, "rayjob/"},
		{"one Job only", []string{"trace", "-n", "ml", "train", ""}, ""},
		{"Jobs of a kind", []string{"trace", "-n", "ml", "job/tr"}, "job/train job/train-old"},
		{"Jobs of a kind by another name", []string{"trace", "-n", "ml", "jobs.batch/tr"}, "jobs.batch/train jobs.batch/train-old"},
		{"a kind without objects", []string{"trace", "-n", "ml", "rayjob/"}, ""},
		{"an unknown kind", []string{"trace", "-n", "ml", "x/"}, ""},
		{"containers", []string{"logs", "-n", "ml", "train", "-c", ""}, "main"},
		{"containers with the kind", []string{"logs", "-n", "ml", "job/train", "-c", "m"}, "main"},
		{"containers of another kind", []string{"logs", "-n", "ml", "jobset/train", "-c", ""}, ""},
		{"kinds if no Job has the prefix", []string{"trace", "-n", "ml", "rayj"}, "rayjob/"},
		{"namespaces", []string{"ls", "-n", ""}, "ci default etl kube-node-lease kube-public kube-system kueue-system ml ops vision"},
		{"namespaces with the name of a Job", []string{"trace", "ml", "-n", "m"}, "ml"},
		{"contexts", []string{"ls", "--context", ""}, "management worker-1 worker-2"},
		{"contexts in a list", []string{"ls", "--contexts", "worker-1,"}, "worker-1,management worker-1,worker-2"},
		{"excluded contexts", []string{"ls", "--contexts", "^worker-1,^w"}, "^worker-1,^worker-2"},
		{"owners", []string{"ls", "-A", "--managed-by", "f"}, "flow.example.com/runner flows.example.com/runner"},
		{"owners of a namespace", []string{"ls", "-n", "ml", "--managed-by", "f"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			words := slices.Insert(slices.Clone(tt.words), 1, "--from", exampleFleet)
			choices, _ := completed(t, words...)
			assert.Equal(t, strings.Join(choices, " "), tt.want)
		})
	}
	// Contexts are in a small file of their own, so choices appear in time even if the others are large.
	contents, err := os.ReadFile(filepath.Join(exampleFleet, "snapshot.yaml"))
	assert.NilError(t, err)
	alone := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(alone, "snapshot.yaml"), contents, 0o600))
	contexts, _ := completed(t, "ls", "--from", alone, "--context", "")
	assert.Equal(t, strings.Join(contexts, " "), "management worker-1 worker-2")
	choices, directive := completed(t, "trace", "--from", t.TempDir(), "")
	assert.Equal(t, len(choices), 0)
	assert.Equal(t, directive, "4")
}
