package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// check runs the command check and returns its findings by code.
func check(t *testing.T, args ...string) map[string]inspect.Finding {
	t.Helper()
	return checkWithGrace(t, "0s", args...)
}

func checkWithGrace(t *testing.T, grace string, args ...string) map[string]inspect.Finding {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby", "check", "--grace", grace, "-o", "json"}, args...)...)
	cmd.Stderr = nil
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		assert.NilError(t, err)
	}
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal(out, &list))
	found := map[string]inspect.Finding{}
	for _, f := range list.Items {
		found[f.Code] = f
	}
	return found
}

// eventuallyFinds waits until check finds exactly these codes.
func eventuallyFinds(t *testing.T, want []string, args ...string) map[string]inspect.Finding {
	t.Helper()
	var found map[string]inspect.Finding
	var codes []string
	_ = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		found = check(t, args...)
		codes = slices.Sorted(maps.Keys(found))
		return slices.Equal(codes, want), nil
	})
	if len(want)+len(codes) > 0 {
		assert.DeepEqual(t, codes, want)
	}
	return found
}

// healthyKubeconfig returns the flag for a kubeconfig with only the healthy contexts: the origin of
// an orphan may be in a context that is not read.
func healthyKubeconfig(t *testing.T) string {
	t.Helper()
	return kubeconfigOf(t, management, worker1, worker2)
}

// kubeconfigOf returns the flag for a kubeconfig with only these contexts.
func kubeconfigOf(t *testing.T, contexts ...string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	for name := range config.Contexts {
		if !slices.Contains(contexts, name) {
			delete(config.Contexts, name)
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, path))
	return "--kubeconfig=" + path
}
