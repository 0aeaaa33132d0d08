package rules_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// remediesOf returns the alternatives of the only finding with a code.
func remediesOf(t *testing.T, c testCase, code string) []command.Fix {
	t.Helper()
	findings := slices.DeleteFunc(judge(t, c.inventory(t), rules.All(), 0), func(f inspect.Finding) bool { return f.Code != code })
	assert.Equal(t, len(findings), 1)
	return findings[0].Fixes
}

// pointTo gives a MultiKueueCluster's Secret the kubeconfig of a server.
func pointTo(secret, server string) edit {
	config := `{apiVersion: v1, kind: Config, clusters: [{name: w, cluster: {server: "` + server + `"}}]}`
	return patch("kwok-mgr", "Secret/"+secret, `{data: {kubeconfig: `+base64.StdEncoding.EncodeToString([]byte(config))+`}}`)
}

// TestWrongSecret checks that JM126 first corrects the Secret with the wrong kubeconfig, and names
// both if it does not know which one that is.
func TestWrongSecret(t *testing.T) {
	const ofW1, ofW2 = "https://127.0.0.1:32758", "https://127.0.0.1:32746"
	for name, tt := range map[string]struct {
		edit  edit
		fixes []string
	}{
		"its Job runs elsewhere": {pointTo("worker1-secret", ofW2), []string{
			"correct Secret kueue-system/worker1-secret of worker1, which reaches another cluster than before",
			"remove worker1 from spec.clusters: `",
		}},
		"unknown": {pointTo("worker2-secret", ofW1), []string{
			"if Secret kueue-system/worker1-secret of worker1 is wrong, correct it",
			"if Secret kueue-system/worker2-secret of worker2 is wrong, correct it",
			"remove worker2 (or worker1, but not both) from spec.clusters: `",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fixes := remediesOf(t, testCase{name: name, code: "wrong secret", base: "running", edits: []edit{tt.edit}}, "JM126")
			assert.Equal(t, len(fixes), len(tt.fixes), "%v", fixes)
			for i, want := range tt.fixes {
				text := string(fixes[i].Prose())
				assert.Assert(t, strings.HasPrefix(text, want), text)
			}
		})
	}
}

// TestDispatchedLeavesQueue checks that a Job of the command dispatch, which MultiKueue rejected, is
// resumed first, whether or not it still has the label of its queue.
func TestDispatchedLeavesQueue(t *testing.T) {
	for name, tt := range map[string]struct{ patch, first string }{
		"with the label":    {`{spec: {managedBy: jobmanagedby.github.io/dispatch}}`, "to keep owner jobmanagedby.github.io/dispatch, remove the Job from the queue: "},
		"without the label": {`{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}, spec: {managedBy: jobmanagedby.github.io/dispatch}}`, "to keep owner jobmanagedby.github.io/dispatch, resume it: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCase{name: name, code: "leaves", base: "managed-by-missing", edits: []edit{patch("kwok-mgr", "Job/default/train", tt.patch)}}
			fixes := remediesOf(t, c, "JM012")
			assert.Equal(t, len(fixes), 2, "%v", fixes)
			assert.Assert(t, strings.HasPrefix(string(fixes[0].Prose()), tt.first), fixes[0].Prose())
			assert.Assert(t, strings.Contains(string(fixes[0].Prose()), `{"spec":{"suspend":false}}`), fixes[0].Prose())
			assert.Assert(t, !strings.Contains(string(fixes[1].Prose()), "LOCALQUEUE"), fixes[1].Prose())
		})
	}
}
