package command_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// TestReached checks that every command that reaches a cluster gets the flags, and that no word
// changes.
func TestReached(t *testing.T) {
	reach := command.Reach{Flags: []string{"--kubeconfig", "my config", "--as=-x"}}
	const flags = "--kubeconfig 'my config' --as=-x "
	kubectl := command.Kubectl("a", "ns", "delete", "job", "x")
	odd := `it's | kubectl get "pods" | kubectl`
	for name, tt := range map[string]struct {
		text command.Prose
		want string
	}{
		"kubectl":          {command.Say("run %s, and wait", kubectl), "run `kubectl " + flags + "--context a -n ns delete job x`, and wait"},
		"plugin":           {command.Say("%s", command.Plugin("cancel", "x", "--context", "a")), "`kubectl jobs-managedby cancel x --context a --kubeconfig 'my config' --as=-x`"},
		"plugin verb only": {command.Plugin("check").Prose(), "`kubectl jobs-managedby check --kubeconfig 'my config' --as=-x`"},
		"pipeline":         {kubectl.FedBy(kubectl).Prose(), "`kubectl " + flags + "--context a -n ns delete job x | kubectl " + flags + "--context a -n ns delete job x`"},
		"pipeline of text": {command.Kubectl("a", "", "apply", "-f", "-").Fed("x | kubectl y").Prose(), "`printf '%s\\n' 'x | kubectl y' | kubectl " + flags + "--context a apply -f -`"},
		"another program":  {command.Of("timedatectl").Prose(), "`timedatectl`"},
		"own kubeconfig":   {command.Of("kubectl", "--kubeconfig", "w.kubeconfig", "get", "x").Prose(), "`kubectl --kubeconfig w.kubeconfig get x`"},
		"no command":       {command.Text("kubectl get pods"), "kubectl get pods"},
		"word with quotes": {command.Kubectl("a", "", "annotate", odd).Prose(), "`kubectl " + flags + "--context a annotate " + command.Word(odd) + "`"},
		"unprintable word": {command.Kubectl("a", "", "annotate", odd+"\n`").Prose(), "`kubectl " + flags + "--context a annotate " + command.Word(odd+"\n`") + "`"},
		"two commands":     {command.Say("%s and %s kubectl", kubectl, kubectl), "`kubectl " + flags + "--context a -n ns delete job x` and `kubectl " + flags + "--context a -n ns delete job x` kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, string(tt.text.Reached(reach)), tt.want)
			assert.Equal(t, tt.text.Reached(command.Reach{}), tt.text)
			assert.Equal(t, tt.text.Reached(command.Reach{Plugin: "kubectl jobs-managedby"}), tt.text)
		})
	}
}

// TestReachedByName checks that commands of this plugin get the name by which it was called, and others
// stay unchanged.
func TestReachedByName(t *testing.T) {
	text := command.Say("%s, then %s", command.Plugin("check", "-n", "jobs-managedby"), command.Kubectl("a", "", "get", "jobs-managedby"))
	renamed := command.Reach{Plugin: "kubectl jobmanagedby"}
	assert.Equal(t, string(text.Reached(renamed)), "`kubectl jobmanagedby check -n jobs-managedby`, then `kubectl --context a get jobs-managedby`")
	renamed.Flags = []string{"--as", "me"}
	assert.Equal(t, string(text.Reached(renamed)), "`kubectl jobmanagedby check -n jobs-managedby --as me`, then `kubectl --as me --context a get jobs-managedby`")
}

// FuzzReached checks that all words are preserved, and that the flags are parsed as flags.
func FuzzReached(f *testing.F) {
	f.Add("it's | kubectl x", "a b")
	f.Add("x --as y", "y")
	f.Add("$'\\047 | kubectl", "\"'")
	f.Fuzz(func(t *testing.T, word, value string) {
		c := command.Kubectl("a", "", "get", word)
		want := append([]string{"kubectl", "--as", value}, c.Words()[1:]...)
		assert.Equal(t, command.Reached(c.Shell(), command.Reach{Flags: []string{"--as", value}}), command.Of(want...).Shell())
	})
}
