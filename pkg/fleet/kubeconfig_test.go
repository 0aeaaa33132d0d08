package fleet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// isolate hides the environment's kubeconfig and service account. It returns a directory for a
// kubeconfig.
func isolate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "config"))
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "")
	}
	return dir
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// threeContexts has a current context in the middle of the alphabet.
const threeContexts = `
apiVersion: v1
kind: Config
current-context: hub
clusters:
- {name: c-hub, cluster: {server: "https://hub.example:6443"}}
- {name: c-west, cluster: {server: "https://west.example:6443"}}
- {name: c-east, cluster: {server: "https://east.example:6443"}}
users:
- {name: admin, user: {token: secret}}
contexts:
- {name: west, context: {cluster: c-west, user: admin}}
- {name: hub, context: {cluster: c-hub, user: admin, namespace: batch}}
- {name: east, context: {cluster: c-east, user: admin}}
`

// parse parses a command line into kubectl's flags.
func parse(t *testing.T, args ...string) *genericclioptions.ConfigFlags {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	set := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.AddFlags(set)
	assert.NilError(t, set.Parse(args))
	return flags
}

// brief returns each context as "name namespace server" or "name error".
func brief(contexts []fleet.Context) []string {
	var lines []string
	for _, c := range contexts {
		line := c.Name + " error"
		if c.Err == nil {
			line = c.Name + " " + c.Namespace + " " + c.Config.Host
		}
		lines = append(lines, line)
	}
	return lines
}
