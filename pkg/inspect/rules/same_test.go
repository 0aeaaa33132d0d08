package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// dispatchedThrough is a dispatched Job on a manager, and its mirror as seen
// through several contexts of one worker, each given as "context=clusterUID".
func dispatchedThrough(mark delegation.Place, contexts ...string) *inspect.Inventory {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	job := func(context, clusterUID, uid string) *inspect.Job {
		return &inspect.Job{
			Context: context, ClusterUID: clusterUID, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: uid,
			ManagedBy: delegation.BuiltIn, Status: delegation.Running, Active: 1, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			StartTime: &metav1.Time{Time: now.Add(-time.Hour)},
		}
	}
	facts := func(context, clusterUID string, jobs ...*inspect.Job) *inspect.Facts {
		return &inspect.Facts{
			Context: context, ClusterUID: clusterUID, Namespace: "ml", Kinds: []delegation.Kind{delegation.Job()}, Jobs: jobs,
			NoKueue: true, Gaps: map[inspect.Part]error{},
		}
	}
	origin := job("manager", "m", "the-origin")
	origin.ManagedBy, origin.Marks = delegation.Dispatch, &delegation.Marks{Mirror: mark}
	clusters := []*inspect.Facts{facts("manager", "m", origin)}
	var addresses []kubecontext.Address
	for _, c := range contexts {
		context, clusterUID, _ := strings.Cut(c, "=")
		if clusterUID == "dead" {
			clusters = append(clusters, &inspect.Facts{Context: context, Err: errors.New("dead")})
			continue
		}
		var jobs []*inspect.Job
		if clusterUID, isEmpty := strings.CutSuffix(clusterUID, " empty"); isEmpty {
			clusters = append(clusters, facts(context, clusterUID))
			continue
		}
		mirror := job(context, clusterUID, "the-mirror")
		mirror.Marks = &delegation.Marks{OriginUID: "the-origin"}
		clusters = append(clusters, facts(context, clusterUID, append(jobs, mirror)...))
	}
	for _, f := range clusters {
		addresses = append(addresses, kubecontext.Address{Context: f.Context, Server: "https://" + f.Context})
	}
	return inspect.NewInventory(now, clusters, addresses)
}

// TestOneMirrorThroughTwoContexts checks that a healthy mirror that is seen
// through two contexts counts as one run, without findings.
func TestOneMirrorThroughTwoContexts(t *testing.T) {
	mark := delegation.Place{ClusterUID: "w", Namespace: "ml", Name: "train", UID: "the-mirror"}
	for _, contexts := range [][]string{{"kb-dev=", "kwok-kb=w"}, {"kwok-kb=w", "kb-dev="}, {"kb-dev=", "other-dev="}} {
		judgment := rules.Judge(dispatchedThrough(mark, contexts...), rules.All(), rules.Options{})
		assert.Equal(t, len(judgment.Findings), 0, "%v: %v", contexts, judgment.Findings)
	}
}

// TestMarkOfUnknownCluster checks that a mirror is identified by its UID,
// whatever its mark calls the cluster, and is reported as missing only if
// that cluster was certainly read.
func TestMarkOfUnknownCluster(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster  string
		contexts []string
		gone     bool
	}{
		"read with more rights than then":     {"unknown", []string{"w=w"}, false},
		"read with fewer":                     {"w", []string{"w="}, false},
		"its cluster does not answer":         {"unknown", []string{"w=dead", "v= empty"}, false},
		"another cluster that is known":       {"unknown", []string{"v=v empty"}, false},
		"one that is not known is no proof":   {"w", []string{"v= empty"}, false},
		"it was looked for, and is not there": {"w", []string{"w=w empty"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := dispatchedThrough(delegation.Place{ClusterUID: tt.cluster, Namespace: "ml", Name: "train", UID: "the-mirror"}, tt.contexts...)
			rule, _ := rules.ByCode("JM105")
			assert.Equal(t, len(rules.Judge(v, []rules.Rule{rule}, rules.Options{}).Findings) > 0, tt.gone)
		})
	}
}

// TestSharedAuthority checks that if several clusters share a certificate
// authority, a worker without a context is not mistaken for another one.
func TestSharedAuthority(t *testing.T) {
	v := inventory(t, recordings+"/running")
	var clusters []*inspect.Facts
	var addresses []kubecontext.Address
	for _, f := range v.Clusters {
		// The Job runs on kwok-w1.
		if f.Context != "kwok-w1" {
			clusters = append(clusters, f)
		}
	}
	for _, a := range v.Addresses {
		if a.Context == "kwok-w2" {
			a.CA = "shared"
		}
		if a.Context != "kwok-w1" {
			addresses = append(addresses, a)
		}
	}
	shared := map[string]kubecontext.Address{}
	for name, a := range v.Facts("kwok-mgr").Kueue.Addresses {
		a.CA = "shared"
		shared[name] = a
	}
	v.Facts("kwok-mgr").Kueue.Addresses = shared
	part := inspect.NewInventory(v.Now, clusters, addresses)
	assert.Equal(t, part.ContextOf(part.Facts("kwok-mgr"), "worker2"), "kwok-w2", "by its server")
	assert.Equal(t, part.ContextOf(part.Facts("kwok-mgr"), "worker1"), "")
	assert.DeepEqual(t, codesOf(judge(t, part, rules.All(), 0)), []string(nil))
}
