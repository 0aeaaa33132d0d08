package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestOverall checks that a Job needs quota on a manager and on one of its workers.
func TestOverall(t *testing.T) {
	place := func(word string) inspect.Placement {
		p := inspect.NewPlacement(word)
		verdict, isManager := strings.CutPrefix(word, "m:")
		p.Manager, p.Verdict = isManager, inspect.Verdict(verdict)
		return *p
	}
	for words, want := range map[string]struct {
		verdict inspect.Verdict
		gate    bool
	}{
		"":                                    {inspect.Unknown, false},
		"fits":                                {inspect.Fits, false},
		"never,waits":                         {inspect.Waits, false},
		"m:fits,never,waits":                  {inspect.Waits, false},
		"m:waits":                             {inspect.Waits, true},
		"m:waits,fits":                        {inspect.Waits, true},
		"m:waits,never,fits":                  {inspect.Waits, true},
		"m:waits,unknown":                     {inspect.Unknown, true},
		"m:waits,never":                       {inspect.Never, false},
		"m:waits,never,never":                 {inspect.Never, false},
		"m:unknown,never":                     {inspect.Never, false},
		"m:never,fits":                        {inspect.Never, true},
		"m:never,never":                       {inspect.Never, true},
		"m:waits,never,m:fits,waits":          {inspect.Waits, false},
		"m:waits,never,m:waits,fits":          {inspect.Waits, true},
		"m:waits,never,m:unknown,never,never": {inspect.Never, false},
	} {
		var all []inspect.Placement
		for _, word := range strings.FieldsFunc(words, func(r rune) bool { return r == ',' }) {
			all = append(all, place(word))
		}
		assert.Equal(t, placement.Overall(all), want.verdict, words)
		assert.Equal(t, placement.Gate(all) != nil, want.gate, words)
	}
}

// TestOnlyWorkerNeverFits checks the overall verdict of a Job that waits for quota on its manager,
// and that the only worker can never run.
func TestOnlyWorkerNeverFits(t *testing.T) {
	managing := strings.ReplaceAll(simple("10"), "namespaceSelector: {}", "admissionChecks: [workers], namespaceSelector: {}")
	busy := parse[world](t, managing+"workloads: ["+holding("q", "a", "f", "5", "0")+"]")
	hub := busy.facts()
	hub.Context = "hub"
	hub.Kueue.Checks = []*kueue.AdmissionCheck{parse[*kueue.AdmissionCheck](t,
		"{metadata: {name: workers}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: workers}}}")}
	hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: workers}, spec: {clusters: [paris]}}")}
	hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, "{metadata: {name: paris}}")}
	hub.Kueue.Addresses = map[string]kubecontext.Address{"paris": {Server: "https://paris"}}
	for name, tt := range map[string]struct {
		worker string
		reason inspect.PlacementReason
		want   inspect.Verdict
	}{
		"too small":    {simple("4"), inspect.OverLimit, inspect.Never},
		"other labels": {strings.ReplaceAll(simple("10"), "{metadata: {name: f}}", "{metadata: {name: f}, spec: {nodeLabels: {disk: ssd}}}"), inspect.FlavorMismatch, inspect.Never},
		"large enough": {simple("10"), inspect.HasRoom, inspect.Waits},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, tt.worker)
			paris := w.facts()
			paris.Context = "paris"
			j := parse[batchv1.Job](t, `{spec: {template: {spec: {nodeSelector: {disk: tape}, containers: [{name: c, resources: {requests: {cpu: 8}}}]}}}}`)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			r.Owner = delegation.MultiKueue
			all := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub, paris}, []kubecontext.Address{{Context: "paris", Server: "https://paris"}}), &r)
			assert.Equal(t, len(all), 2)
			assert.Equal(t, all[0].Verdict, inspect.Waits, all[0].Message)
			assert.Equal(t, all[1].Reason, tt.reason, all[1].Message)
			assert.Equal(t, placement.Overall(all), tt.want)
		})
	}
}
