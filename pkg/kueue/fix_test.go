package kueue_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// fixesOf formats the fixes of a wait, one per line.
func fixesOf(w *kueue.Wait, target kueue.FixTarget) string {
	var lines []string
	for _, f := range w.Fixes(target) {
		line := strings.TrimSuffix(f.Text+": "+f.Shell(), ": ")
		for _, s := range f.Then {
			line += ", and then " + strings.TrimSuffix(s.Text+": "+strings.Join(s.Command, " "), ": ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// targetOf returns the target of fixes for a Workload in a ClusterQueue; "" means one that was not
// read.
func targetOf(t *testing.T, clusterQueue string) kueue.FixTarget {
	t.Helper()
	target := kueue.FixTarget{Context: "w1", Workload: workload(t, `{metadata: {namespace: ml, name: job-a}, spec: {queueName: gpu}}`)}
	if clusterQueue != "" {
		target.ClusterQueue, target.LocalQueue = &kueue.ClusterQueue{}, &kueue.LocalQueue{}
		assert.NilError(t, yaml.Unmarshal([]byte(clusterQueue), target.ClusterQueue))
		target.LocalQueue.Spec.ClusterQueue = target.ClusterQueue.Name
	}
	return target
}

// TestFixUnready checks that the fixes of a Workload whose Pods were not ready in time name the Kueue that evicted it, and
// show the next Pods, or without a known Job the Workload.
func TestFixUnready(t *testing.T) {
	const raise = "\nraise waitForPodsReady.timeout in the configuration of Kueue on w1, if its Pods only need longer"
	const evicted = `{metadata: {namespace: ml, name: job-a, OWNER}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: PendingEvaluation, message: Exceeded the PodsReady timeout, lastTransitionTime: null},
		{type: Evicted, status: "True", reason: PodsReadyTimeout, message: Exceeded the PodsReady timeout, lastTransitionTime: null}]}}`
	for owner, want := range map[string]string{
		"ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, uid: a, controller: true}]": "wait until Kueue queues the Workload again; then check why its Pods do not become ready: kubectl jobs-managedby logs a -n ml --context w1 -f",
		"labels: {}": "wait until Kueue queues the Workload again; then check why Kueue evicted it: kubectl --context w1 -n ml describe workloads.kueue.x-k8s.io job-a",
	} {
		w := workload(t, strings.Replace(evicted, "OWNER", owner, 1))
		wait := w.Waiting()
		assert.Equal(t, fixesOf(&wait, kueue.FixTarget{Context: "w1", Workload: w}), want+raise)
	}
}

// TestFixes checks that each reason has its fix, with a command if one does
// what the text says.
func TestFixes(t *testing.T) {
	const (
		queue = `metadata: {name: q}, spec: {resourceGroups: [{flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 1}]}, {name: od, resources: [{name: cpu, nominalQuota: 14}]}]}]`
		over  = "insufficient quota for cpu in flavor od, previously considered podsets requests (0) + current podset request (18) > maximum capacity (14)"
		set   = `kubectl --context w1 patch clusterqueues.kueue.x-k8s.io q --type json -p '[{"op":"test","path":"/spec/resourceGroups/0/flavors/1/name","value":"od"},{"op":"test","path":"/spec/resourceGroups/0/flavors/1/resources/0/name","value":"cpu"},{"op":"replace","path":"/spec/resourceGroups/0/flavors/1/resources/0/nominalQuota","value":"18"}]'`
		again = ", then delete the Job, and create it again"
		fewer = "request at most 14 cpu (run fewer Pods at once, or delete the Job and create it again with less per Pod)\n"
		edit  = ": kubectl --context w1 edit clusterqueues.kueue.x-k8s.io q"
	)
	for _, tt := range []struct{ name, queue, reason, message, want string }{
		{"too large", "{" + queue + "}}", "ExceedsMaxQuota", over, fewer + "raise the quota of ClusterQueue q on w1 from 14 to 18 cpu (flavor od): " + set},
		{
			"too large, and a taint", "{" + queue + "}}", "ExceedsMaxQuota", over + ", untolerated taint {spot true NoSchedule <nil>} in flavor spot",
			fewer + "raise the quota of ClusterQueue q on w1 from 14 to 18 cpu (flavor od): " + set + "\ntolerate taint spot=true:NoSchedule of flavor spot in the Pod template" + again,
		},
		{
			"too large, queue not read", "", "ExceedsMaxQuota", over,
			fewer + "raise the quota of cpu in flavor od on w1 by 4; find its ClusterQueue: kubectl --context w1 get clusterqueues.kueue.x-k8s.io",
		},
		{
			"too large, quota set by MultiKueue", "{" + queue + "}, status: {conditions: [{type: MultiKueueManagerQuotaAutomation, status: \"True\"}]}}", "ExceedsMaxQuota", over,
			fewer + "list the workers, and raise the quota of one: MultiKueue sets that of ClusterQueue q on w1 to their sum: kubectl --context w1 get multikueueclusters.kueue.x-k8s.io",
		},
		{
			"too large, quota set by an orchestrator", "{" + queue + "}, status: {effectiveQuotas: {orchestratorRef: {kind: Plan, name: night}}}}", "ExceedsMaxQuota", over,
			fewer + "raise the quota of ClusterQueue q on w1 by 4 cpu (flavor od), in Plan night: it sets the quota of ClusterQueue q",
		},
		{"too large, without numbers", "{" + queue + "}}", "ExceedsMaxQuota", "", "request less (run fewer Pods at once, or delete the Job and create it again with less per Pod)\nraise the quota on w1" + edit},
		{
			"no quota at all", "{" + queue + "}}", "ExceedsMaxQuota", strings.Replace(over, "capacity (14)", "capacity (0)", 1),
			"raise the quota of ClusterQueue q on w1 from 14 to 32 cpu (flavor od): " + strings.Replace(set, `"18"`, `"32"`, 1),
		},
		{
			"quota in use", "{" + queue + "}}", "WaitingForQuota", "insufficient unused quota for cpu in flavor od, 4 more needed, untolerated taint {spot true NoSchedule <nil>} in flavor spot",
			"wait until other Workloads release quota\nraise the quota of ClusterQueue q on w1 from 14 to 18 cpu (flavor od): " + set,
		},
		{"taint", "", "NoMatchingFlavor", "untolerated taint {spot true NoSchedule <nil>} in flavor spot", "tolerate taint spot=true:NoSchedule of flavor spot in the Pod template" + again},
		{
			"labels", "", "Pending", "flavor od doesn't match node affinity",
			"set a node selector or affinity that matches the labels of flavor od: kubectl --context w1 describe resourceflavors.kueue.x-k8s.io od, and then " + strings.TrimPrefix(again, ", then "),
		},
		{
			"resource", "{" + queue + "}}", "NoMatchingFlavor", "resource example.com/foo unavailable in ClusterQueue",
			"add example.com/foo to a flavor of ClusterQueue q on w1" + edit + "\nremove the requests and limits for example.com/foo" + again,
		},
		{
			"resources", "", "NoMatchingFlavor", "resource memory unavailable in ClusterQueue; couldn't assign flavors to pod set b: resource gpu unavailable in ClusterQueue",
			"add memory and gpu to a flavor of the ClusterQueue on w1; find its ClusterQueue: kubectl --context w1 get clusterqueues.kueue.x-k8s.io\nremove the requests and limits for memory and gpu" + again,
		},
		{
			"topology of a flavor", "", "NoMatchingFlavor", `Flavor "od" does not support TopologyAwareScheduling`,
			"remove annotation kueue.x-k8s.io/podset-*-topology from the Pod template" + again + "\n" +
				`give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1: kubectl --context w1 patch resourceflavors.kueue.x-k8s.io od --type merge -p '{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			"topology", "", "TopologyPlacementFailed", `topology "racks" allows to fit only 2 out of 4 pod(s)`,
			"add nodes to a domain of topology racks on w1; check its levels: kubectl --context w1 describe topologies.kueue.x-k8s.io racks\nset annotation kueue.x-k8s.io/podset-*-topology of the Pod template to a higher level of topology racks" + again,
		},
		{
			"flavor", "", "NoMatchingFlavor", "flavor gone not found",
			`create ResourceFlavor gone on w1 (no ResourceFlavor of this name was read). Replace LABEL and VALUE with a label of the flavor's nodes: printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"gone"},"spec":{"nodeLabels":{"LABEL":"VALUE"}}}' | kubectl --context w1 create -f -`,
		},
		{
			"LocalQueue missing", "", "Misconfigured", "LocalQueue gpu doesn't exist",
			"create LocalQueue ml/gpu on w1 for one of its ClusterQueues: kubectl --context w1 get clusterqueues.kueue.x-k8s.io",
		},
		{
			"LocalQueue stopped", "", "Suspended", "LocalQueue gpu is inactive",
			`if its maintenance is over, resume LocalQueue ml/gpu on w1: kubectl --context w1 -n ml patch localqueues.kueue.x-k8s.io gpu --type merge -p '{"spec":{"stopPolicy":"None"}}'`,
		},
		{
			"its ClusterQueue stopped", "{metadata: {name: q}, spec: {stopPolicy: Hold}}", "Suspended", "LocalQueue gpu is inactive",
			`if its maintenance is over, resume ClusterQueue q on w1: kubectl --context w1 patch clusterqueues.kueue.x-k8s.io q --type merge -p '{"spec":{"stopPolicy":"None"}}'`,
		},
		{"ClusterQueue inactive", "{metadata: {name: q}}", "Suspended", "ClusterQueue q is inactive", "add what ClusterQueue q on w1 lacks: kubectl --context w1 describe clusterqueues.kueue.x-k8s.io q"},
		{
			"namespace", "{metadata: {name: q}, spec: {namespaceSelector: {matchLabels: {team: a}}}}", "Misconfigured", "workload namespace doesn't match ClusterQueue selector",
			"use another queue or, if namespace ml may use ClusterQueue q, label it on w1 (replaces another value of team): kubectl --context w1 label namespace ml --overwrite team=a",
		},
		{
			"namespace by name", "{metadata: {name: q}, spec: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default, team: a}}}}", "Misconfigured", "workload namespace doesn't match ClusterQueue selector",
			"widen spec.namespaceSelector (kubernetes.io/metadata.name=default,team=a) of ClusterQueue q on w1 to namespace ml" + edit,
		},
		{
			"namespace by names", "{metadata: {name: q}, spec: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}]}}}", "Misconfigured", "workload namespace doesn't match ClusterQueue selector",
			"widen spec.namespaceSelector (kubernetes.io/metadata.name in (a,b)) of ClusterQueue q on w1 to namespace ml" + edit,
		},
		{
			"namespace of the name without a label", "{metadata: {name: q}, spec: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ml, team: a}}}}", "Misconfigured", "workload namespace doesn't match ClusterQueue selector",
			"use another queue or, if namespace ml may use ClusterQueue q, label it on w1 (replaces another value of team): kubectl --context w1 label namespace ml --overwrite team=a",
		},
		{
			"no namespace", "{metadata: {name: q}}", "Misconfigured", "workload namespace doesn't match ClusterQueue selector",
			`let ClusterQueue q on w1 select namespace ml: kubectl --context w1 patch clusterqueues.kueue.x-k8s.io q --type merge -p '{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ml"}}}}'`,
		},
		{
			"deactivated", "", "Deactivated", "",
			`if its pause is over, activate the Workload: kubectl --context w1 -n ml patch workloads.kueue.x-k8s.io job-a --type merge -p '{"spec":{"active":true}}'`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wait := (&kueue.Claim{Reason: tt.reason, Message: tt.message}).Waiting()
			if tt.reason == "Deactivated" {
				wait = kueue.Wait{Reason: kueue.ReasonDeactivated}
			}
			assert.Equal(t, fixesOf(&wait, targetOf(t, tt.queue)), tt.want)
		})
	}
}

// TestFixEveryReason checks that every wait has a fix, and that no fix
// deletes anything.
func TestFixEveryReason(t *testing.T) {
	for _, reason := range kueue.WaitReasons() {
		wait := kueue.Wait{Reason: reason, Checks: []kueue.CheckState{{Name: "budget"}}}
		fixes := fixesOf(&wait, targetOf(t, ""))
		assert.Equal(t, fixes != "", wait.IsWaiting(), reason)
		assert.Assert(t, !strings.Contains(fixes, "delete job"), fixes)
	}
}

// TestFixTimedOut checks that no fix activates a Workload that Kueue
// deactivates again at once, and that the run of a CronJob gets another limit there.
func TestFixTimedOut(t *testing.T) {
	const longer = "delete the Job, and create it again with a longer kueue.x-k8s.io/max-exec-time-seconds"
	target := targetOf(t, "")
	wait := kueue.Wait{Reason: kueue.ReasonTimedOut}
	assert.Assert(t, strings.HasPrefix(fixesOf(&wait, target), longer+"\nrun it again for as long as before: kubectl"))
	target.Workload = workload(t, `{status: {conditions: [{type: DeactivationTarget, status: "True", reason: MaximumExecutionTimeExceeded}]}}`)
	assert.Equal(t, fixesOf(&wait, target), longer)
	const template = "spec.jobTemplate of CronJob ml/nightly"
	target.Kind, target.Name, target.Template = "Job", "a-1", template
	assert.Equal(t, fixesOf(&wait, target), "change "+template+" to one with a longer kueue.x-k8s.io/max-exec-time-seconds, and delete Job /a-1")
	target.Workload = workload(t, `{metadata: {namespace: ml, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a-1, controller: true}]}, status: {conditions: [{type: DeactivationTarget, status: "True"}]}}`)
	const deletion = "delete the Job: kubectl --context w1 -n ml delete job a-1"
	assert.Equal(t, fixesOf(&wait, target), "change "+template+" to one with a longer kueue.x-k8s.io/max-exec-time-seconds, and then "+deletion)
	wait.Reason = kueue.ReasonRequeueLimit
	assert.Equal(t, fixesOf(&wait, target), "find why its Pods were not ready in time, then "+deletion+", and then have the next one created from "+template)
}

// TestFixesOfSeveralClusters checks that the smallest change of several clusters is
// first, without duplicates.
func TestFixesOfSeveralClusters(t *testing.T) {
	over := func(context, limit string) kueue.ClusterWait {
		target := targetOf(t, "{metadata: {name: q}}")
		target.Context = context
		wait := (&kueue.Claim{Reason: "Pending", Message: "insufficient quota for gpu in flavor a100, request > maximum capacity (8 > " + limit + ")"}).Waiting()
		return kueue.ClusterWait{Wait: wait, Target: target}
	}
	tainted := kueue.ClusterWait{Wait: (&kueue.Claim{Reason: "Pending", Message: "untolerated taint {spot  NoSchedule <nil>} in flavor spot"}).Waiting(), Target: targetOf(t, "")}
	var texts []string
	for _, f := range kueue.Fixes([]kueue.ClusterWait{over("w1", "4"), tainted, over("w2", "6"), tainted}) {
		texts = append(texts, f.Text)
	}
	assert.Equal(t, strings.Join(texts, "\n"), "request at most 6 gpu (run fewer Pods at once, or delete the Job and create it again with less per Pod)\n"+
		"raise the quota of gpu in flavor a100 on w2 by 2\ntolerate taint spot:NoSchedule of flavor spot in the Pod template, then delete the Job, and create it again")
}

// TestFixesOfSeveralResources checks that the first fix is the change that is the smallest part of the request,
// whatever the units of its resource, and that lacks which cannot be compared keep their order.
func TestFixesOfSeveralResources(t *testing.T) {
	wait := func(message string) kueue.ClusterWait {
		return kueue.ClusterWait{Wait: (&kueue.Claim{Reason: "Pending", Message: message}).Waiting(), Target: targetOf(t, "{metadata: {name: q}}")}
	}
	const (
		cpu    = "insufficient quota for cpu in flavor f, request > maximum capacity (4 > 2)"
		memory = "insufficient quota for memory in flavor f, request > maximum capacity (10Gi > 9Gi)"
		noCPU  = "insufficient unused quota for cpu in flavor f, 2 more needed"
		noMem  = "insufficient unused quota for memory in flavor f, 1Gi more needed"
	)
	for name, tt := range map[string]struct {
		waits []kueue.ClusterWait
		at    int
		first string
	}{
		"two clusters":             {[]kueue.ClusterWait{wait(cpu), wait(memory)}, 0, "request at most 9Gi memory"},
		"one cluster":              {[]kueue.ClusterWait{wait(cpu + ", " + memory)}, 0, "request at most 9Gi memory"},
		"the requests are unknown": {[]kueue.ClusterWait{wait(noMem), wait(noCPU)}, 1, "raise the quota of memory"},
	} {
		first := kueue.Fixes(tt.waits)[tt.at].Text
		assert.Check(t, strings.HasPrefix(first, tt.first), "%s: %s", name, first)
	}
}

// TestFixForPods checks that fixes suit the number of Pods and their node selector.
func TestFixForPods(t *testing.T) {
	const (
		over  = "insufficient quota for cpu in flavor od, previously considered podsets requests (0) + current podset request (4) > maximum capacity (2)"
		taint = "untolerated taint {spot true NoSchedule <nil>} in flavor spot"
		text  = "tolerate taint spot=true:NoSchedule of flavor spot in the Pod template"
		again = ", then delete Job ml/a, and create it again"
		parts = " (run fewer Pods at once, or delete Job ml/a and create it again with less per Pod)"
	)
	spot := &kueue.ResourceFlavor{}
	spot.Name = "spot"
	for _, tt := range []struct{ name, podSets, message, want string }{
		{"one Pod", "{count: 1}", over, "request at most 2 cpu" + again},
		{"one Pod, without numbers", "{count: 1}", "", "request less" + again},
		{"two Pods", "{count: 2}", over, "request at most 2 cpu" + parts},
		{"two podsets", "{count: 1}, {count: 1}", over, "request at most 2 cpu" + parts},
		{"no node selector", "{count: 1}", taint, text + again},
		{
			"node selector", "{count: 1, template: {spec: {nodeSelector: {pool: gpu}}}}", taint,
			text + "; check that its labels match the node selector: kubectl --context w1 describe resourceflavors.kueue.x-k8s.io spot, and then " + strings.TrimPrefix(again, ", then "),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reason := "ExceedsMaxQuota"
			if tt.message == taint {
				reason = "NoMatchingFlavor"
			}
			wait := (&kueue.Claim{Reason: reason, Message: tt.message}).Waiting()
			target := targetOf(t, "")
			target.Workload = workload(t, "{metadata: {namespace: ml, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, controller: true}]}, spec: {podSets: ["+tt.podSets+"]}}")
			first, _, _ := strings.Cut(fixesOf(&wait, target), "\n")
			assert.Equal(t, first, tt.want)
			target.Topologies.Flavors = []*kueue.ResourceFlavor{spot}
			if tt.message == taint {
				assert.Equal(t, fixesOf(&wait, target), text+again)
			}
		})
	}
}

// TestFixAgain checks that a fix that changes the manifest says how a submitted Job gets the change.
func TestFixAgain(t *testing.T) {
	const change = "tolerate taint spot:NoSchedule of flavor spot in the Pod template"
	wait := (&kueue.Claim{Reason: "NoMatchingFlavor", Message: "untolerated taint {spot  NoSchedule <nil>} in flavor spot"}).Waiting()
	copied := workload(t, `{metadata: {namespace: ml, labels: {kueue.x-k8s.io/multikueue-origin: hub}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, controller: true}]}}`)
	for name, tt := range map[string]struct {
		target kueue.FixTarget
		want   string
	}{
		"not submitted": {kueue.FixTarget{Context: "w1", Workload: copied, IsNew: true}, change},
		"a copy":        {kueue.FixTarget{Context: "w1", Workload: copied}, change + ", then delete the Job, and create it again"},
		"of a JobSet":   {kueue.FixTarget{Context: "w1", Workload: copied, Kind: "JobSet"}, change + ", then delete the JobSet, and create it again"},
		"no Workload":   {kueue.FixTarget{Context: "w1"}, change + ", then delete the Job, and create it again"},
		"a known Job":   {kueue.FixTarget{Context: "w1", Workload: copied, Kind: "Job", Name: "a"}, change + ", then delete Job ml/a, and create it again"},
	} {
		assert.Equal(t, fixesOf(&wait, tt.target), tt.want, name)
	}
}

// TestFixAgainOfOtherKinds checks that a batch Job is created again only to request less per Pod: its number of
// Pods may change.
func TestFixAgainOfOtherKinds(t *testing.T) {
	wait := (&kueue.Claim{Reason: "ExceedsMaxQuota", Message: "insufficient quota for cpu in flavor od, previously considered podsets requests (0) + current podset request (4) > maximum capacity (2)"}).Waiting()
	w := workload(t, "{metadata: {namespace: ml}, spec: {podSets: [{count: 2}]}}")
	for kind, want := range map[string]string{
		"Job":    "request at most 2 cpu (run fewer Pods at once, or delete Job ml/a and create it again with less per Pod)",
		"JobSet": "request at most 2 cpu (fewer Pods at once, or less per Pod), then delete JobSet ml/a, and create it again",
	} {
		first, _, _ := strings.Cut(fixesOf(&wait, kueue.FixTarget{Context: "w1", Workload: w, Kind: kind, Name: "a"}), "\n")
		assert.Equal(t, first, want)
	}
}

// TestMissingFlavors checks that a ClusterQueue whose condition names missing ResourceFlavors is
// activated by correcting their names, or by creating them.
func TestMissingFlavors(t *testing.T) {
	const (
		edit = ": kubectl --context w1 edit clusterqueues.kueue.x-k8s.io q\n"
		of   = " (no ResourceFlavor of this name was read)"
		with = ". Replace LABEL and VALUE with a label of the flavor's nodes: "
	)
	for message, want := range map[string]string{
		"Can't admit new workloads: references missing ResourceFlavor(s): nix.": "correct the flavor's name in ClusterQueue q on w1" + edit + "create ResourceFlavor nix on w1" + of + with +
			`printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"nix"},"spec":{"nodeLabels":{"LABEL":"VALUE"}}}' | kubectl --context w1 create -f -`,
		"Can't admit new workloads: references missing ResourceFlavor(s): a,b.c, references inactive AdmissionCheck(s): x.": "correct the flavors' names in ClusterQueue q on w1" + edit + "create ResourceFlavor a on w1" + of + " and b.c on w1" + of + with +
			`printf '%s\n' '{"apiVersion":"v1","items":[{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"a"},"spec":{"nodeLabels":{"LABEL":"VALUE"}}},` +
			`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"b.c"},"spec":{"nodeLabels":{"LABEL":"VALUE"}}}],"kind":"List"}' | kubectl --context w1 create -f -`,
		"references inactive AdmissionCheck(s): x": "add what ClusterQueue q on w1 lacks: kubectl --context w1 describe clusterqueues.kueue.x-k8s.io q",
	} {
		q := &kueue.ClusterQueue{}
		q.Name = "q"
		q.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "FlavorNotFound", Message: message}}
		var lines []string
		for _, f := range (kueue.FixTarget{Context: "w1", ClusterQueue: q}).ActivateQueue("q") {
			lines = append(lines, f.Text+": "+f.Shell())
		}
		assert.Equal(t, strings.Join(lines, "\n"), want)
	}
}

// TestCopiesFlavor checks that a missing ResourceFlavor is created like one of its name on another
// cluster, preferably one with node labels, because a flavor without them is for any node.
func TestCopiesFlavor(t *testing.T) {
	on := func(context, name string, spec kueue.FlavorSpec) kueue.FlavorOn {
		f := &kueue.ResourceFlavor{Spec: spec}
		f.Name = name
		return kueue.FlavorOn{Context: context, ResourceFlavor: f}
	}
	full := kueue.FlavorSpec{
		NodeLabels:   map[string]string{"gpu": "a100"},
		NodeTaints:   []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
		Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		TopologyName: "racks",
	}
	const create = `printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"a100"}`
	const like = create + `,"spec":{"nodeLabels":{"gpu":"a100"},"nodeTaints":[{"key":"gpu","effect":"NoSchedule"}],"tolerations":[{"key":"gpu","operator":"Exists"}],"topologyName":"racks"}}' | kubectl --context w1 create -f -`
	for _, tt := range []struct {
		name, text, shell string
		flavors           []kueue.FlavorOn
	}{
		{"on the manager", ", like that on hub", like, []kueue.FlavorOn{on("hub", "other", full), on("hub", "a100", full)}},
		{"without labels on the manager", ", like that on w2", like, []kueue.FlavorOn{on("hub", "a100", kueue.FlavorSpec{}), on("w2", "a100", full)}},
		{"without labels everywhere", ", like that on hub", create + `}' | kubectl --context w1 create -f -`, []kueue.FlavorOn{on("hub", "a100", kueue.FlavorSpec{})}},
		{"unread", " (no ResourceFlavor of this name was read). Replace LABEL and VALUE with a label of the flavor's nodes", create + `,"spec":{"nodeLabels":{"LABEL":"VALUE"}}}' | kubectl --context w1 create -f -`, []kueue.FlavorOn{on("w1", "a100", full)}},
	} {
		lack := kueue.Wait{Reason: kueue.ReasonFlavorMissing, Lacks: []kueue.Lack{{Reason: kueue.ReasonFlavorMissing, Flavor: "a100"}}}
		fixes := lack.Fixes(kueue.FixTarget{Context: "w1", Flavors: tt.flavors})
		assert.Equal(t, fixes[0].Text, "create ResourceFlavor a100 on w1"+tt.text, tt.name)
		assert.Equal(t, fixes[0].Shell(), tt.shell, tt.name)
	}
	target := kueue.FixTarget{Context: "w1", Flavors: []kueue.FlavorOn{on("hub", "a100", full)}, Topologies: kueue.Topologies{IsRead: true, Flavors: []*kueue.ResourceFlavor{on("w1", "b", full).ResourceFlavor}}}
	// Another version of Kueue may name the missing flavors in other words.
	target.ClusterQueue = &kueue.ClusterQueue{}
	target.ClusterQueue.Name = "q"
	target.ClusterQueue.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "FlavorNotFound", Message: "other words"}}
	target.ClusterQueue.Spec.ResourceGroups = []kueue.ResourceGroup{{Flavors: []kueue.FlavorQuotas{{Name: "a100"}, {Name: "b"}}}}
	fixes := target.ActivateQueue("q")
	assert.Equal(t, len(fixes), 2)
	assert.Equal(t, fixes[0].Text, "create ResourceFlavor a100 on w1, like that on hub (create Topology racks first)")
	assert.Equal(t, fixes[1].Text, "correct the flavor's name in ClusterQueue q on w1")
}

// TestQueueBeingDeleted checks that a ClusterQueue that is being deleted lacks nothing.
func TestQueueBeingDeleted(t *testing.T) {
	q := &kueue.ClusterQueue{}
	q.Name, q.DeletionTimestamp = "q", &metav1.Time{}
	fix := kueue.FixTarget{Context: "w1", ClusterQueue: q}.ActivateQueue("q")[0]
	assert.Equal(t, fix.Text, "ClusterQueue q on w1 is being deleted. Save it, and create it again after its last Workload has ended")
	assert.Equal(t, fix.Shell(), "kubectl --context w1 get clusterqueues.kueue.x-k8s.io q -o yaml")
}
