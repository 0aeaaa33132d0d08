package read

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestWhyNoCredential checks that the reason says what a Secret lacks.
func TestWhyNoCredential(t *testing.T) {
	const cluster = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://c"}}]`
	secret := map[string]any{}
	for kubeconfig, want := range map[string]error{
		"":            errNoKubeconfig,
		"no YAML: {":  errNoKubeconfig,
		cluster + "}": errNoUsers,
		cluster + `,"users":[{"name":"u","user":{"tokenFile":"/token"}}]}`: errNoFacts,
	} {
		facts := factsIn(secret, []byte(kubeconfig))
		assert.Assert(t, facts.credential == nil)
		assert.ErrorIs(t, facts.noCredential, want, kubeconfig)
	}
	assert.ErrorIs(t, factsIn(nil, nil).noCredential, errSecretGone)
}
