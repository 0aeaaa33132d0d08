package refusal_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
)

// TestLevelOfViolations checks that a Pod that is unknown gets the level baseline only if the violations show
// that baseline allows it.
func TestLevelOfViolations(t *testing.T) {
	target := refusal.Target{Context: "w", Namespace: "ml", Subject: "Job", Rejected: "the Pods", ArePods: true}
	for violations, isAllowed := range map[string]bool{
		`allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
			`unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or containers "c", "d" must set securityContext.runAsNonRoot=true), ` +
			`seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`: true,
		`runAsUser=0 (pod must not set runAsUser=0)`:                                                                                 true,
		`restricted volume types (volume "v" uses restricted volume type "nfs")`:                                                     true,
		`restricted volume types (volume "v" uses restricted volume type "hostPath")`:                                                false,
		`unrestricted capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)`:                 false,
		`seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")`:                                      false,
		`host namespaces (hostNetwork=true), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`: false,
		`a new check (x)`: false,
	} {
		r, ok := target.Of(`violates PodSecurity "restricted:latest": ` + violations)
		assert.Assert(t, ok)
		assert.Equal(t, strings.Contains(string(r.Remedy), "enforce=baseline"), isAllowed, "%s: %s", violations, r.Remedy)
	}
}
