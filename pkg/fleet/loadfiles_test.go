package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestLoadSeveralFiles checks that files are merged as kubectl does: the first definition wins.
func TestLoadSeveralFiles(t *testing.T) {
	dir := isolate(t)
	first := write(t, dir, "first", `
current-context: one
clusters: [{name: c, cluster: {server: "https://first.example"}}]
users: [{name: u, user: {token: first}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
`)
	second := write(t, dir, "second", `
current-context: two
clusters: [{name: c, cluster: {server: "https://second.example"}}, {name: d, cluster: {server: "https://d.example"}}]
contexts:
- {name: two, context: {cluster: c, user: u, namespace: batch}}
- {name: three, context: {cluster: d}}
- {name: one, context: {cluster: d}}
`)
	missing := filepath.Join(dir, "missing")
	t.Setenv("KUBECONFIG", strings.Join([]string{missing, first, second}, string(os.PathListSeparator)))
	contexts, err := fleet.Load(parse(t), fleet.Selection{All: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, brief(contexts), []string{
		"one default https://first.example", "three default https://d.example", "two batch https://first.example",
	})
	assert.Equal(t, contexts[2].Config.BearerToken, "first")
}

// TestLoadRelativePaths checks that paths in a kubeconfig are relative to it.
func TestLoadRelativePaths(t *testing.T) {
	dir := isolate(t)
	ca := write(t, dir, "ca.crt", "")
	write(t, dir, "config", `
current-context: c
clusters: [{name: c, cluster: {server: "https://c.example", certificate-authority: ca.crt}}]
contexts: [{name: c, context: {cluster: c}}]
`)
	contexts, err := fleet.Load(parse(t), fleet.Selection{})
	assert.NilError(t, err)
	assert.NilError(t, contexts[0].Err)
	assert.Equal(t, contexts[0].Config.CAFile, ca)
}

// TestLoadBrokenContexts checks that a broken entry does not affect the others.
func TestLoadBrokenContexts(t *testing.T) {
	write(t, isolate(t), "config", `
clusters:
- {name: good, cluster: {server: "https://good.example"}}
- {name: serverless, cluster: {}}
- {name: no-ca, cluster: {server: "https://c.example", certificate-authority: gone.crt}}
- {name: bad-proxy, cluster: {server: "https://c.example", proxy-url: "gopher://p"}}
users:
- {name: no-key, user: {client-certificate-data: eA==}}
- {name: no-command, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}
contexts:
- {name: a-good, context: {cluster: good}}
- {name: bad-proxy, context: {cluster: bad-proxy}}
- {name: no-ca, context: {cluster: no-ca}}
- {name: no-cluster, context: {cluster: gone}}
- {name: no-server, context: {cluster: serverless}}
- {name: no-user, context: {cluster: good, user: gone}}
- {name: no-command, context: {cluster: good, user: no-command}}
- {name: no-key, context: {cluster: good, user: no-key}}
- {name: z-good, context: {cluster: good}}
`)
	contexts, err := fleet.Load(parse(t), fleet.Selection{All: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, brief(contexts), []string{
		"a-good default https://good.example",
		"bad-proxy error", "no-ca error", "no-cluster error", "no-command error", "no-key error", "no-server error", "no-user error",
		"z-good default https://good.example",
	})
	wants := map[string]string{
		"bad-proxy":  "gopher",
		"no-ca":      "gone.crt",
		"no-cluster": `no cluster "gone"`,
		"no-command": "command",
		"no-server":  `no server for cluster "serverless"`,
		"no-user":    `no user "gone"`,
		"no-key":     "client-key",
	}
	for _, c := range contexts {
		if want, broken := wants[c.Name]; broken {
			assert.ErrorContains(t, c.Err, want)
			assert.Assert(t, cmp.Nil(c.Config))
		}
	}
}
