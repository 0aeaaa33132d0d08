package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// quoted matches a command in a remedy.
func quoted(words string) string { return "`" + words + "`" }

// programs are the programs that a kubectl user has, or that are on the
// machine that the remedy names.
var programs = []string{"kubectl", "printf", "timedatectl"}

// checkRemedy checks that each command of a remedy is alone in backquotes,
// and is valid in a shell.
func checkRemedy(t *testing.T, f inspect.Finding) {
	t.Helper()
	assert.Assert(t, strings.Count(f.Remedy, "`")%2 == 0, "%s: backquotes are pairs: %s", f.Code, f.Remedy)
	assert.Assert(t, !strings.Contains(f.Remedy, "%!"), "%s: %s", f.Code, f.Remedy)
	for _, fix := range command.Prose(f.Remedy).Fixes() {
		assert.Assert(t, fix.Text != "", "%s: a fix says in words what it does: %s", f.Code, f.Remedy)
	}
	for _, part := range command.Prose(f.Remedy).Parts() {
		if part.IsCommand {
			checkCommand(t, f.Code, part.Text)
			continue
		}
		assert.Assert(t, !strings.Contains(part.Text, "kubectl ") && !strings.Contains(part.Text, "--context "), "%s: a command is not in backquotes: %s", f.Code, f.Remedy)
		assert.Equal(t, strings.Count(part.Text, "("), strings.Count(part.Text, ")"), "%s: a command in parentheses would stand alone: %s", f.Code, f.Remedy)
	}
}

func checkCommand(t *testing.T, code, text string) {
	t.Helper()
	for _, words := range shelltest.Pipeline(t, text) {
		assert.Assert(t, slices.Contains(programs, words[0]), "%s: it begins with a program: %s", code, text)
		saysWhere := slices.Contains(words, "--context") || slices.Contains(words, "--kubeconfig")
		assert.Assert(t, words[0] != "kubectl" || saysWhere, "%s: it says on which cluster: %s", code, text)
		checkOptions(t, code, words)
	}
}

// TestHostileNames checks that free names and quoted texts are single words
// in a shell, and no commands of ours.
func TestHostileNames(t *testing.T) {
	const owner, word = "example.com/a;b'c`d&e", `$'example.com/a;b\047c\140d&e'`
	foreign := addOwned(owner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, started)
	running := addCopy("kwok-w1", "mirror-of-other", "", started)
	findings := judge(t, testCase{code: "JM201", name: "hostile", base: "running", edits: []edit{foreign, running, expired}}.inventory(t), rules.All(), 0)
	assert.Equal(t, strings.Join(codesOf(findings), " "), "JM201")
	const flags = " other -n default --context kwok-mgr "
	assert.Equal(t, findings[0].Remedy, "resume with the same mirror: "+quoted("kubectl jobs-managedby dispatch"+flags+"--to kwok-w1 --managed-by "+word)+
		"; or end the Job: "+quoted("kubectl jobs-managedby cancel"+flags+"--managed-by "+word))
}

// TestRecreate checks when a remedy uses recreate, and with which options, so
// that recreate does not refuse.
func TestRecreate(t *testing.T) {
	const recreate, remove = "kubectl jobs-managedby recreate tfjob/train -n default --context kwok-mgr --managed-by ", "kubectl --context kwok-mgr -n default delete tfjobs.kubeflow.org train"
	const multikueue = "kueue.x-k8s.io/multikueue"
	for name, tt := range map[string]struct {
		change  func(*inspect.Job)
		give    string
		release string
	}{
		"it waits": {func(*inspect.Job) {}, quoted(recreate + multikueue + " --queue LOCALQUEUE"), quoted(recreate + "''")},
		"in a queue": {
			func(j *inspect.Job) { j.Marks = &delegation.Marks{Queue: "user-queue"} },
			quoted(recreate + multikueue), quoted(recreate + "'' --queue ''"),
		},
		"it runs": {
			func(j *inspect.Job) { j.Status = delegation.Running },
			quoted(recreate + multikueue + " --queue LOCALQUEUE --force"), quoted(recreate + "'' --force"),
		},
		"it is dispatched": {
			func(j *inspect.Job) {
				j.Marks = &delegation.Marks{Mirror: delegation.Place{ClusterUID: "c", Namespace: "default", Name: "train", UID: "u"}}
			},
			quoted(recreate + multikueue + " --queue LOCALQUEUE --force"), quoted(recreate + "'' --force"),
		},
		"it belongs to another object": {
			func(j *inspect.Job) { j.Controller = &metav1.OwnerReference{Kind: "Experiment", Name: "lr"} },
			quoted(recreate+multikueue+" --queue LOCALQUEUE --force") + "; also change Experiment lr, which creates it",
			quoted(recreate+"'' --force") + "; also change Experiment lr, which creates it",
		},
		"it is a mirror": {
			func(j *inspect.Job) { j.Marks = &delegation.Marks{MultiKueueOrigin: "multikueue"} },
			"delete the TFJob: " + quoted(remove) + ", and create the TFJob again with spec.runPolicy.managedBy: " + multikueue,
			"delete the TFJob: " + quoted(remove) + ", and create the TFJob again without spec.runPolicy.managedBy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := as(inventory(t, recordings+"/unknown-owner"), kindRow("tfjob"))
			for _, f := range v.Clusters {
				for _, j := range f.Jobs {
					tt.change(j)
				}
			}
			rule, _ := rules.ByCode("JM305")
			findings := judge(t, inspect.NewInventory(v.Now, v.Clusters, v.Addresses), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1)
			named := func(owner, remedy string) string {
				if strings.HasPrefix(remedy, "`") {
					return "give it to " + owner + ": " + remedy
				}
				return remedy
			}
			assert.Equal(t, findings[0].Remedy, named("MultiKueue", tt.give)+"; or "+named("the built-in controller", tt.release)+
				"; check that the webhook of TFJobs is installed: "+quoted("kubectl --context kwok-mgr get validatingwebhookconfigurations"))
		})
	}
}
