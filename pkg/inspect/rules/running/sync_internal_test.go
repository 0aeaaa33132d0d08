package running

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestNameEditors checks that a message names the user of kubectl, not kubectl's field manager.
func TestNameEditors(t *testing.T) {
	for want, managers := range map[string][]string{
		"a user (kubectl patch)":                            {"kubectl-patch"},
		"a user (kubectl apply)":                            {"kubectl-client-side-apply", "kubectl-last-applied", "kubectl"},
		"a user (kubectl edit, kubectl label)":              {"kubectl-edit", "kubectl-label"},
		"a user (kubectl patch) and argocd-controller":      {"argocd-controller", "kubectl-patch"},
		"argocd-controller":                                 {"argocd-controller"},
		"a user (kubectl set), policy-a and kubectlish-bot": {"policy-a", "kubectlish-bot", "kubectl-set"},
	} {
		assert.Equal(t, nameEditors(managers), want)
	}
}
