package e2e

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// k9sPlugin is an entry of k9s' plugins.yaml (k9s 0.50, internal/config/plugin.go).
type k9sPlugin struct {
	ShortCut    string   `yaml:"shortCut"`
	Description string   `yaml:"description"`
	Scopes      []string `yaml:"scopes"`
	Command     string   `yaml:"command"`
	Background  bool     `yaml:"background"`
	Args        []string `yaml:"args"`
	Pipes       []string `yaml:"pipes"`
}

// k9sPlugins returns the entries of docs/k9s.md.
func k9sPlugins(t *testing.T) map[string]k9sPlugin {
	t.Helper()
	page, err := os.ReadFile("../../docs/k9s.md")
	assert.NilError(t, err)
	_, after, isThere := strings.Cut(string(page), "```yaml\n")
	assert.Assert(t, isThere)
	text, _, isThere := strings.Cut(after, "```")
	assert.Assert(t, isThere)
	var file struct {
		Plugins map[string]k9sPlugin `yaml:"plugins"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	assert.NilError(t, decoder.Decode(&file))
	return file.Plugins
}

// TestK9s checks that each entry of docs/k9s.md is complete, and its command does what it says for
// a Job.
func TestK9s(t *testing.T) {
	t.Parallel()
	const ns = "k9s"
	origin(t, ns, "train", fixture.Pods(1), fixture.RunsFor("1h"))
	d := dispatches(t, ns, "train")
	eventuallyJob(t, management, ns, "train", isReady)
	origin(t, ns, "next")
	want := map[string]struct {
		job, text string
		code      int
	}{
		"jobs-managedby-trace": {"train", "Job k9s/train: running", 130},
		"jobs-managedby-check": {"train", "No findings", 0},
		// No kubelet serves the logs of these Pods.
		"jobs-managedby-logs":     {"train", "cannot read the log of container main", 1},
		"jobs-managedby-dispatch": {"next", "would run on " + worker1, 0},
	}
	shortCuts := map[string]bool{}
	for name, plugin := range k9sPlugins(t) {
		w, isKnown := want[name]
		assert.Assert(t, isKnown, "nothing tests %s", name)
		delete(want, name)
		assert.Assert(t, plugin.Description != "" && !plugin.Background && slices.Equal(plugin.Scopes, []string{"jobs"}), "%+v", plugin)
		assert.Assert(t, strings.HasPrefix(plugin.ShortCut, "Shift-") && !shortCuts[plugin.ShortCut], plugin.ShortCut)
		shortCuts[plugin.ShortCut] = true
		assert.Equal(t, plugin.Command, "kubectl")
		for _, pipe := range plugin.Pipes {
			assert.Equal(t, pipe, "less -R")
		}
		values := strings.NewReplacer("$NAMESPACE", ns, "$NAME", w.job, "$CONTEXT", management)
		args := []string{}
		for _, arg := range plugin.Args {
			args = append(args, values.Replace(arg))
		}
		var text string
		var code int
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			// Other tests install kinds, which cannot be read for a moment.
			if text, code = endOf(t, w.text, args...); code == 4 && w.code != 4 {
				return poll.Continue("%s", text)
			}
			return poll.Success()
		}, poll.WithTimeout(2*time.Minute), poll.WithDelay(time.Second))
		assert.Assert(t, contains(text, w.text), "%s: %s", name, text)
		assert.Equal(t, code, w.code, "%s: %s", name, text)
	}
	assert.Equal(t, len(want), 0, "docs/k9s.md lacks %v", want)
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130)
}

// endOf runs a command, interrupts it once it has printed a text if it watches, and returns what
// it printed and its exit code.
func endOf(t *testing.T, text string, args ...string) (string, int) {
	t.Helper()
	var output dispatching.Output
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append(cmd.Env, "KUBECTL_JOBS_MANAGEDBY_CONTEXTS="+management+","+worker1)
	assert.NilError(t, cmd.Start())
	if slices.Contains(args, "--watch") {
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			if contains(output.String(), text) {
				return poll.Success()
			}
			return poll.Continue("%s", output.String())
		}, poll.WithTimeout(2*time.Minute), poll.WithDelay(100*time.Millisecond))
		assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		assert.NilError(t, err)
	}
	return output.String(), cmd.ProcessState.ExitCode()
}
