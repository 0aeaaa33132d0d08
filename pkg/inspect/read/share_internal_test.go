package read

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const sharedWorkload = `{"metadata":{"namespace":"ml","name":"w-%[1]d","uid":"%[1]d","labels":{"kueue.x-k8s.io/multikueue-origin":"%[2]s"},"annotations":{"a":"%[1]d"},
"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j-%[1]d","controller":true}],
"managedFields":[{"manager":"kueue","operation":"Update","apiVersion":"kueue.x-k8s.io/v1beta2","fieldsV1":{"f:nominatedClusterNames":{},"f:%[2]s":{}},"time":"2026-01-01T00:00:00Z"}]},
"spec":{"queueName":"q","priority":%[1]d,"podSets":[{"name":"main","count":2,"template":{"metadata":{"labels":{"job":"%[1]d"}},"spec":{"containers":[{"name":"m","resources":{"requests":{"cpu":"1"}}}]}}}]},
"status":{%[3]s"conditions":[{"type":"QuotaReserved","status":"False","reason":"Pending","message":"no room for %[2]s","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

const requested = `"resourceRequests":[{"name":"main","resources":{"cpu":"%[1]d","nvidia.com/gpu":"%[2]d"}}],"reclaimablePods":[{"name":"main","count":1}],`

// TestSharingChangesNothing checks that sharing does not change a Workload, that decoding a
// Workload and its claim in one pass gives the same as separately, and that equal parts are shared.
func TestSharingChangesNothing(t *testing.T) {
	share := newSharer()
	var claims []*kueue.Claim
	var workloads []*kueue.Workload
	for i, text := range []string{
		fmt.Sprintf(sharedWorkload, 1, "one", fmt.Sprintf(requested, 4, 8)),
		fmt.Sprintf(sharedWorkload, 2, "one", fmt.Sprintf(requested, 4, 8)),
		fmt.Sprintf(sharedWorkload, 3, "two", fmt.Sprintf(requested, 4, 2)),
		fmt.Sprintf(sharedWorkload, 4, "one", fmt.Sprintf(requested, 1, 8)),
		fmt.Sprintf(sharedWorkload, 5, "one", ""),
	} {
		var listed listedWorkload
		var whole kueue.Workload
		var part kueue.ClaimedWorkload
		for _, into := range []any{&listed, &whole, &part} {
			assert.NilError(t, apijson.Unmarshal([]byte(text), into))
		}
		share.workload(&listed.Workload)
		assert.DeepEqual(t, listed.Workload, whole)
		claim := listed.claimed().Claim()
		share.claim(claim)
		assert.DeepEqual(t, claim, part.Claim())
		assert.Assert(t, len(claim.Requests) == 1, "%d", i)
		claims, workloads = append(claims, claim), append(workloads, &listed.Workload)
	}
	assert.Assert(t, &claims[0].Requests[0] == &claims[1].Requests[0])
	assert.Assert(t, &workloads[0].ManagedFields[0] == &workloads[1].ManagedFields[0])
	assert.Assert(t, &workloads[0].Status.Conditions[0] == &workloads[1].Status.Conditions[0])
	assert.Assert(t, workloads[0].ManagedFields[0].FieldsV1 != workloads[2].ManagedFields[0].FieldsV1)
}

// TestUnrequestedFields checks that a manager's fields are kept only if they include the
// nominations.
func TestUnrequestedFields(t *testing.T) {
	var w kueue.Workload
	assert.NilError(t, apijson.Unmarshal([]byte(`{"metadata":{"managedFields":[{"manager":"kueue","fieldsV1":{"k:{\"uid\":\"one\"}":{}}}]}}`), &w))
	newSharer().workload(&w)
	assert.Equal(t, w.ManagedFields[0].Manager, "kueue")
	assert.Assert(t, w.ManagedFields[0].FieldsV1 == nil)
}
