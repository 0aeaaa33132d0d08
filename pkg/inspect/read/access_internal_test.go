package read

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestAssumeUser checks that the given user replaces only the users that kubeconfigs do not show.
func TestAssumeUser(t *testing.T) {
	expiry := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	fleet := func() (*inspect.Inventory, *inspect.Facts) {
		manager := &inspect.Facts{
			Context: "hub", Gaps: map[inspect.Part]error{},
			Setup: &inspect.Setup{Credentials: map[string]kubecontext.Credential{
				"shown":  {Kind: kubecontext.Certificate, User: "manager"},
				"opaque": {Kind: kubecontext.Token, NotAfter: &expiry},
			}},
			Kueue: &inspect.KueueFacts{Clusters: []*kueue.MultiKueueCluster{
				{ObjectMeta: metav1.ObjectMeta{Name: "shown"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "opaque"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "unread"}},
			}},
		}
		return &inspect.Inventory{Clusters: []*inspect.Facts{manager}}, manager
	}
	users := func(manager *inspect.Facts) map[string]string {
		found := map[string]string{}
		for _, u := range usersOf(manager) {
			found[u.cluster] = u.credential.User
		}
		return found
	}

	v, manager := fleet()
	assumeUser(v, "")
	assert.DeepEqual(t, users(manager), map[string]string{"shown": "manager"})

	v, manager = fleet()
	const account = "system:serviceaccount:kueue-system:multikueue-sa"
	assumeUser(v, account)
	assert.DeepEqual(t, users(manager), map[string]string{"shown": "manager", "opaque": account, "unread": account})
	opaque := manager.Setup.Credentials["opaque"]
	assert.DeepEqual(t, opaque.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:kueue-system", "system:authenticated"})
	assert.Assert(t, opaque.Kind == kubecontext.Token && opaque.NotAfter.Equal(expiry), "what the kubeconfig shows stays")
	assert.Equal(t, manager.Setup.Credentials["unread"].String(), "credential of service account kueue-system/multikueue-sa")
}
