package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestResourceQuotas checks that a ResourceQuota that refuses the Job or some of its Pods is reported,
// although Kueue has quota for it.
func TestResourceQuotas(t *testing.T) {
	const wait, never = inspect.Waits, inspect.Never
	for _, tt := range []struct {
		name, quota, want string
		verdict           inspect.Verdict
	}{
		{"enough", `{hard: {requests.cpu: "9", pods: "5"}, used: {requests.cpu: "3"}}`, "", inspect.Fits},
		{"another resource", `{hard: {requests.nvidia.com/gpu: "0", configmaps: "0"}}`, "", inspect.Fits},
		{"a part", `{hard: {requests.cpu: "9"}, used: {requests.cpu: "5"}}`, "; its ResourceQuota team allows 2 of 3 Pods now", inspect.Fits},
		{"a part, by number", `{hard: {count/pods: "1"}}`, "; its ResourceQuota team allows 1 of 3 Pods now", inspect.Fits},
		{"used up", `{hard: {cpu: "9"}, used: {cpu: "8500m"}}`, "ResourceQuota team is used up: one Pod needs 2 cpu, free 500m of 9", wait},
		{"too small", `{hard: {requests.cpu: "1"}}`, "ResourceQuota team allows 1 requests.cpu, one Pod needs 2", never},
		{"not set", `{hard: {requests.cpu: "9", limits.memory: 1Gi}}`, "ResourceQuota team refuses Pods with a container that does not set limits.memory", never},
		{"no further Job", `{hard: {count/jobs.batch: "4"}, used: {count/jobs.batch: "4"}}`, "ResourceQuota team allows no further Job (count/jobs.batch)", wait},
		{"a further Job", `{hard: {count/jobs.batch: "4"}, used: {count/jobs.batch: "3"}}`, "", inspect.Fits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			quota := parse[corev1.ResourceQuota](t, `{metadata: {name: team}, status: `+tt.quota+`}`)
			p := onQuota(t, quota)
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Assert(t, strings.Contains(p.Message, tt.want), p.Message)
			assert.Equal(t, p.Reason == inspect.NamespaceQuota, tt.verdict != inspect.Fits)
			assert.Equal(t, p.RefusesMirror, tt.name == "no further Job")
			assert.Equal(t, len(p.Changes) == 2 && strings.Contains(p.Changes[0].Command, "describe resourcequota team"), tt.verdict != inspect.Fits)
			if tt.want == "" {
				assert.Assert(t, !strings.Contains(p.Message, "ResourceQuota"), p.Message)
			}
		})
	}
	scoped := parse[corev1.ResourceQuota](t, `{metadata: {name: team}, spec: {scopes: [Terminating]}, status: {hard: {cpu: "0"}}}`)
	p := onQuota(t, scoped)
	assert.Equal(t, p.Verdict, inspect.Fits)
	assert.Assert(t, strings.HasSuffix(p.Message, "; ResourceQuota team has scopes and was not checked"), p.Message)
}

// onQuota judges a Job of three Pods with 2 cpu each on a cluster with a ResourceQuota.
func onQuota(t *testing.T, quota corev1.ResourceQuota) *inspect.Placement {
	t.Helper()
	return onQuotaOf(t, quota, delegation.Job())
}

// onQuotaOf is onQuota for an object of a kind with the Pods of that Job.
func onQuotaOf(t *testing.T, quota corev1.ResourceQuota, kind delegation.Kind) *inspect.Placement {
	t.Helper()
	w := parse[world](t, simple("50"))
	j := parse[batchv1.Job](t, `{spec: {parallelism: 3, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}}`)
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	f := w.facts()
	f.Context = "w"
	r.Kind = kind
	r.Check("w").Quotas = []corev1.ResourceQuota{quota}
	return placement.On(f, &r, nil, time.Now())
}

// TestCountQuotaOfKinds checks that a ResourceQuota counts the objects of a kind, and the Jobs that its controller
// creates.
func TestCountQuotaOfKinds(t *testing.T) {
	for _, tt := range []struct {
		kind, count, want string
		refusesMirror     bool
	}{
		{"jobset", "count/jobsets.jobset.x-k8s.io", "allows no further JobSet (count/jobsets.jobset.x-k8s.io)", true},
		{"jobset", "count/jobs.batch", "allows no further Job (count/jobs.batch)", false},
		{"pytorchjob", "count/jobs.batch", "", false},
		{"job", "count/jobsets.jobset.x-k8s.io", "", false},
	} {
		kind, isKnown := delegation.KindNamed(tt.kind)
		assert.Assert(t, isKnown)
		quota := parse[corev1.ResourceQuota](t, `{metadata: {name: team}, status: {hard: {`+tt.count+`: "0"}}}`)
		p := onQuotaOf(t, quota, kind)
		assert.Equal(t, p.RefusesMirror, tt.refusesMirror, tt.count)
		assert.Equal(t, p.Reason == inspect.NamespaceQuota, tt.want != "", p.Message)
		assert.Assert(t, strings.Contains(p.Message, tt.want), p.Message)
	}
}

// TestPodSecurity checks that Pods that the PodSecurity level of the namespace refuses never start.
func TestPodSecurity(t *testing.T) {
	const careful = `securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: c, resources: {requests: {cpu: 1}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]`
	const plain = `containers: [{name: c, resources: {requests: {cpu: 1}}}]`
	const baseline = "allow Pods of PodSecurity level baseline in namespace ml on w: kubectl --context w label --overwrite namespace ml pod-security.kubernetes.io/enforce=baseline"
	const ask = "ask the administrator of namespace ml on w to allow such Pods: "
	for _, tt := range []struct{ level, pod, want, change string }{
		{"", plain, "", ""},
		{"privileged", "hostNetwork: true, " + plain, "", ""},
		{"baseline", plain, "", ""},
		{"baseline", "hostNetwork: true, " + plain, "host namespaces (hostNetwork=true)", ask},
		{"restricted", careful, "", ""},
		{"restricted", plain, "runAsNonRoot != true", baseline},
		{"restricted", "hostNetwork: true, " + plain, "runAsNonRoot != true", ask},
		{"unheard-of", plain, "runAsNonRoot != true", baseline},
	} {
		w := parse[world](t, simple("50"))
		j := parse[batchv1.Job](t, `{spec: {template: {spec: {`+tt.pod+`}}}}`)
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		namespace := &inspect.Namespace{Name: "ml", Labels: map[string]string{}}
		if tt.level != "" {
			namespace.Labels["pod-security.kubernetes.io/enforce"] = tt.level
		}
		f.Kueue.Capacity.Namespaces = map[string]*inspect.Namespace{"ml": namespace}
		p := placement.On(f, &r, nil, time.Now())
		assert.Equal(t, p.Verdict == inspect.Never, tt.want != "", "%s: %s", tt.level, p.Message)
		assert.Assert(t, strings.Contains(p.Message, tt.want), p.Message)
		if tt.change != "" {
			last := p.Changes[len(p.Changes)-1]
			assert.Equal(t, last.Message+": "+last.Command, tt.change)
		}
	}
}
