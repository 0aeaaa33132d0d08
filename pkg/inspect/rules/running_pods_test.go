package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// ungrouped is a worker's Job controller that cannot create the group of a
// mirror's Pods.
func ungrouped(reason, at string) edit {
	return add("kwok-w2", fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: ungrouped, namespace: default}, type: Warning, reason: %s,
		message: "workloads.scheduling.k8s.io is forbidden",
		involvedObject: {kind: Job, namespace: default, name: train, uid: c395595b-c78e-4f4f-905d-5d70ab44fa5f}, lastTimestamp: %q}`, reason, at))
}

// crashed is a Pod of a mirror whose container was restarted after it failed.
func crashed(restarts int, state, finishedAt string) edit {
	return patch("kwok-w2", "Pod/train-*", fmt.Sprintf(`{spec: {restartPolicy: OnFailure}, status: {phase: Running, startTime: "2026-11-20T23:00:00Z", containerStatuses: [{
		name: main, ready: false, image: i, imageID: '', restartCount: %d, state: %s,
		lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: %q}}}]}}`, restarts, state, finishedAt))
}

const (
	waitsForRestart = "{waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container}}"
	runsAgain       = `{running: {startedAt: "2026-11-20T23:20:00Z"}}`
)

func podFailureCases() []testCase {
	limit := func(n int) edit { return patch("kwok-w2", "Job/train", fmt.Sprintf("{spec: {backoffLimit: %d}}", n)) }
	return []testCase{
		{name: "restarts", code: "JM139", base: "starting", fires: true, edits: []edit{limit(6), crashed(4, waitsForRestart, "2026-11-20T23:20:00Z")}},
		{name: "runs again", code: "JM139", base: "starting", fires: true, edits: []edit{limit(6), crashed(4, runsAgain, "2026-11-20T23:20:00Z")}},
		{name: "ran for long since", code: "JM139", base: "starting", edits: []edit{limit(6), crashed(4, runsAgain, "2026-11-20T22:20:00Z")}},
		{name: "one restart of many", code: "JM139", base: "starting", edits: []edit{limit(60), crashed(1, waitsForRestart, "2026-11-20T23:20:00Z")}},
		{name: "no container has run", code: "JM139", base: "starting"},
	}
}

// TestPodReasons checks that the finding about Pods that do not start has the reason of the scheduler, the
// kubelet or an event, and a fix that helps.
func TestPodReasons(t *testing.T) {
	unscheduled := func(message string, claims ...string) []edit {
		var volumes []string
		for _, c := range claims {
			volumes = append(volumes, fmt.Sprintf("{name: %s, persistentVolumeClaim: {claimName: %s}}", c, c))
		}
		return []edit{patch("kwok-w2", "Pod/train-*", fmt.Sprintf(`{spec: {nodeName: null, volumes: [%s]}, status: {containerStatuses: [], conditions: [
			{type: PodScheduled, status: 'False', reason: Unschedulable, message: %q, lastTransitionTime: "2026-11-20T23:23:35Z"}]}}`, strings.Join(volumes, ", "), message))}
	}
	waits := func(reason, message string) []edit {
		return []edit{patch("kwok-w2", "Pod/train-*", fmt.Sprintf(
			"{status: {containerStatuses: [{name: main, ready: false, image: i, imageID: '', restartCount: 0, state: {waiting: {reason: %s, message: %q}}}]}}", reason, message,
		))}
	}
	gated := func(gate string) []edit {
		return []edit{patch("kwok-w2", "Pod/train-*", fmt.Sprintf(`{spec: {nodeName: null, schedulingGates: [{name: %s}]}, status: {containerStatuses: [], conditions: [
			{type: PodScheduled, status: 'False', reason: SchedulingGated, message: Scheduling is blocked due to non-empty scheduling gates, lastTransitionTime: "2026-11-20T23:23:35Z"}]}}`, gate))}
	}
	warned := func(message string) []edit {
		v := testCase{base: "starting"}.make(t)
		var edits []edit
		for _, p := range v.Facts("kwok-w2").Pods {
			edits = append(edits, add("kwok-w2", fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, type: Warning, reason: FailedMount, message: %q,
				involvedObject: {kind: Pod, namespace: default, name: %s, uid: %s}, lastTimestamp: "2026-11-20T23:55:00Z"}`, p.Name, message, p.Name, p.UID)))
		}
		return edits
	}
	const (
		unbound   = "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
		claims    = "kubectl --context kwok-w2 -n default describe pvc "
		correct   = "correct the image, then delete the Job: `kubectl --context kwok-mgr -n default delete job train`, and create the Job again"
		describes = "check what is missing: `kubectl --context kwok-w2 -n default describe pod train-"
	)
	for name, tt := range map[string]struct {
		edits []edit
		// message and remedy are the ends of the texts.
		message, remedy string
		severity        inspect.Severity
	}{
		"a claim is not bound": {unscheduled(unbound, "data"), "cannot start: PersistentVolumeClaim data is not bound", "find out why it is not bound: `" + claims + "data`", inspect.Error},
		"one of two claims is not bound": {
			unscheduled(unbound, "data", "scratch"), "cannot start: not all PersistentVolumeClaims are bound: data, scratch",
			"find out why it is not bound: `" + claims + "data scratch`", inspect.Error,
		},
		"a claim is missing": {
			unscheduled(`0/4 nodes are available: persistentvolumeclaim "data" not found. not found`, "data"), `persistentvolumeclaim "data" not found.`,
			"create PersistentVolumeClaim data in namespace default of kwok-w2, like the one on kwok-mgr, if it exists there: `kubectl --context kwok-mgr -n default get persistentvolumeclaim data -o yaml`", inspect.Error,
		},
		"a claim is being deleted": {
			unscheduled(`0/4 nodes are available: persistentvolumeclaim "data" is being deleted.`, "data"), `persistentvolumeclaim "data" is being deleted.`,
			"check its PersistentVolumeClaim: `" + claims + "data`", inspect.Error,
		},
		"no volume for a claim": {
			unscheduled("0/4 nodes are available: 4 node(s) didn't find available persistent volumes to bind.", "data"), "4 node(s) didn't find available persistent volumes to bind.",
			"check its PersistentVolumeClaims: `" + claims + "data`; or see what the Pods need: ", inspect.Warning,
		},
		"a ConfigMap for a volume is missing": {
			warned(`MountVolume.SetUp failed for volume "conf" : configmap "train-conf" not found`),
			`cannot start: FailedMount: MountVolume.SetUp failed for volume "conf" : configmap "train-conf" not found`,
			"create ConfigMap train-conf in namespace default of kwok-w2, like the one on kwok-mgr, if it exists there: `kubectl --context kwok-mgr -n default get configmap train-conf -o yaml`", inspect.Error,
		},
		"a volume is not attached": {
			warned(`AttachVolume.Attach failed for volume "pv" : rpc error`), `not started: FailedMount: AttachVolume.Attach failed for volume "pv" : rpc error`,
			"check what their node waits for: `kubectl --context kwok-w2 -n default describe pod train-", inspect.Warning,
		},
		"a gate of another controller": {
			gated("example.com/gate"), "2 Pods of its mirror on kwok-w2 wait for the removal of scheduling gate example.com/gate",
			"start the controller that removes scheduling gate example.com/gate on kwok-w2; or, if no controller does, remove scheduling gate example.com/gate from the manifest, then delete the Job: ", inspect.Warning,
		},
		"a gate of Kueue": {
			gated("kueue.x-k8s.io/topology"), "2 Pods of its mirror on kwok-w2 wait for the removal of scheduling gate kueue.x-k8s.io/topology",
			"check that Kueue runs on kwok-w2: ", inspect.Warning,
		},
		"no such image":    {waits("ImagePullBackOff", `Back-off pulling image "i": ErrImagePull: rpc error: code = NotFound desc = i: not found`), "i: not found", correct, inspect.Error},
		"no right to pull": {waits("ImagePullBackOff", `pull access denied, repository does not exist or may require authorization`), "authorization", describes, inspect.Error},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode("JM049")
			found := judge(t, testCase{base: "starting", edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1)
			assert.Assert(t, strings.HasSuffix(found[0].Message, tt.message), found[0].Message)
			assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.remedy), found[0].Remedy)
			assert.Equal(t, found[0].Severity, tt.severity)
		})
	}
}

// TestImagesOfTwoJobs checks that two Jobs with one wrong image are two findings, because the fix deletes a
// Job.
func TestImagesOfTwoJobs(t *testing.T) {
	rule, _ := rules.ByCode("JM049")
	wrong := patch("kwok-w2", "Pod/*", `{status: {phase: Pending, containerStatuses: [{name: main, ready: false, image: i, imageID: '', restartCount: 0,
		state: {waiting: {reason: ImagePullBackOff, message: "i: not found"}}}]}}`)
	found := judge(t, testCase{base: "two-flavors", edits: []edit{wrong}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 2, "%+v", found)
	for _, f := range found {
		assert.Assert(t, strings.Contains(f.Remedy, "delete job "+f.Name+"`"), f.Remedy)
	}
}

// TestUnreadEvents checks that no finding says that a slow start has no stated reason if no event could be
// read.
func TestUnreadEvents(t *testing.T) {
	v := testCase{base: "starting"}.make(t)
	rule, _ := rules.ByCode("JM049")
	v = inspect.NewInventory(v.Now.Add(time.Hour), v.Clusters, v.Addresses)
	found := judge(t, v, []rules.Rule{rule}, 0)
	assert.Assert(t, strings.Contains(found[0].Message, "without a stated reason"), found[0].Message)
	v.Facts("kwok-w2").AddGap(inspect.PartEvents, errors.New("forbidden"))
	found = judge(t, v, []rules.Rule{rule}, 0)
	assert.Equal(t, found[0].Message, "Job default/train: 2 Pods of its mirror on kwok-w2 not started: ContainerCreating")
	assert.Assert(t, strings.HasPrefix(found[0].Remedy, "see its events, which could not be read: `kubectl --context kwok-w2 -n default describe pod train-"), found[0].Remedy)
}

// TestPodsFail checks what the finding about Pods that fail says.
func TestPodsFail(t *testing.T) {
	rule, _ := rules.ByCode("JM139")
	limit := patch("kwok-w2", "Job/train", "{spec: {backoffLimit: 6}}")
	found := judge(t, testCase{base: "starting", edits: []edit{limit, crashed(2, waitsForRestart, "2026-11-20T23:20:00Z")}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Message, "Job default/train: the Pods of its mirror on kwok-w2 fail: 2 Pods restarted 4 times: OOMKilled (exit code 137); the Job fails at 6 restarts (backoffLimit)")
	assert.Equal(t, found[0].Remedy, "raise the memory limit of container main in the manifest, then delete the Job: `kubectl --context kwok-mgr -n default delete job train`, and create the Job again")
}

// TestInitContainerFails checks that the finding about an init container that fails names it, with the command that
// shows its log.
func TestInitContainerFails(t *testing.T) {
	rule, _ := rules.ByCode("JM139")
	init := patch("kwok-w2", "Pod/train-*", `{spec: {initContainers: [{name: fetch, image: i}]}, status: {phase: Pending, initContainerStatuses: [{
		name: fetch, ready: false, image: i, imageID: '', restartCount: 14, state: {waiting: {reason: CrashLoopBackOff, message: back-off}},
		lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-11-20T23:20:00Z"}}}]}}`)
	found := judge(t, testCase{base: "starting", edits: []edit{init}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Message, "Job default/train: the Pods of its mirror on kwok-w2 fail: 2 Pods restarted 28 times: exit code 1 in container fetch")
	assert.Equal(t, found[0].Remedy, "read the logs of container fetch of its Pods: `kubectl jobs-managedby logs train -n default --context kwok-mgr -c fetch`")
}

// TestFailedIndexes checks that the finding about a Job with a limit for each index names the failed indexes and the
// limits, instead of a backoffLimit that does not count.
func TestFailedIndexes(t *testing.T) {
	rule, _ := rules.ByCode("JM139")
	limit := patch("kwok-w2", "Job/train", `{spec: {completionMode: Indexed, backoffLimit: 2147483647, backoffLimitPerIndex: 1, maxFailedIndexes: 3}, status: {failed: 4, failedIndexes: "0,1"}}`)
	failed := patch("kwok-w2", "Pod/train-*", `{status: {phase: Failed, containerStatuses: [{name: main, ready: false, image: i, imageID: '', restartCount: 0,
		state: {terminated: {exitCode: 3, reason: Error, finishedAt: "2026-11-20T23:59:00Z"}}}]}}`)
	found := judge(t, testCase{base: "starting", edits: []edit{limit, failed}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Message, "Job default/train: the Pods of its mirror on kwok-w2 fail: "+
		"4 Pods failed, 2 of them with exit code 3; failed indexes: 0,1; backoffLimitPerIndex is 1, maxFailedIndexes is 3")
}

// TestRestartsOfAnotherKind checks that a mirror which its controller restarts again and again is a finding, unless it
// runs.
func TestRestartsOfAnotherKind(t *testing.T) {
	rule, _ := rules.ByCode("JM139")
	for name, tt := range map[string]struct {
		restarts delegation.Restarts
		status   delegation.Status
		message  string
	}{
		"restarts":   {delegation.Restarts{Now: true, Count: 3, Why: "AppFailed"}, delegation.Running, "AppWrapper default/train: its mirror on kwok-w1 is restarting (3 times so far): AppFailed"},
		"starts":     {delegation.Restarts{Count: 5}, delegation.Pending, "AppWrapper default/train: its mirror on kwok-w1 restarted 5 times"},
		"runs again": {delegation.Restarts{Count: 5}, delegation.Running, ""},
		"first time": {delegation.Restarts{Now: true, Count: 1}, delegation.Running, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := as(testCase{base: "running"}.make(t), kindRow("appwrapper"))
			for _, j := range v.Facts("kwok-w1").Jobs {
				j.Restarts, j.Status = &tt.restarts, tt.status
			}
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found) > 0, tt.message != "")
			if tt.message != "" {
				assert.Equal(t, found[0].Message, tt.message)
				assert.Equal(t, found[0].Remedy, "read the logs of its Pods: `kubectl jobs-managedby logs appwrapper/train -n default --context kwok-mgr`")
			}
		})
	}
}

// TestRefusedPods checks that the fix of refused Pods is the one of preflight, for a Job that is submitted,
// and that a failure that is no rejection has another fix.
func TestRefusedPods(t *testing.T) {
	const (
		base     = "service-account-missing-on-workers"
		pod      = `pods "train-" is forbidden: `
		again    = ", then delete the Job: `kubectl --context kwok-mgr -n default delete job train`, and create the Job again"
		describe = "check what rejects them: `kubectl --context kwok-w1 -n default describe job train`"
		unknown  = "change the manifest of the Job so that it is accepted" + again + "; or ask an administrator to change the policy"
		fields   = "set the named fields in the manifest of the Job, or choose another namespace" + again
		raise    = "raise ResourceQuota q in namespace default of kwok-w1, or free what it counts: `kubectl --context kwok-w1 -n default describe resourcequota q`"
		inUse    = "exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10"
	)
	rule, _ := rules.ByCode("JM049")
	for refusal, remedy := range map[string]string{
		pod + "no PriorityClass with name high was found":                                            "create PriorityClass high on kwok-w1, like the one on kwok-mgr, if it exists there: `kubectl --context kwok-mgr get priorityclass high -o yaml`",
		pod + `error looking up service account default/default: serviceaccount "default" not found`: "create the ServiceAccount: `kubectl --context kwok-w1 -n default create serviceaccount default`",
		pod + `violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`: fields +
			"; or allow Pods of level baseline there: `kubectl --context kwok-w1 label --overwrite namespace default pod-security.kubernetes.io/enforce=baseline`",
		pod + `violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`:         fields + "; or ask the administrator of the namespace to allow such Pods",
		pod + `ValidatingAdmissionPolicy "team" with binding "team" denied request: no team label`: unknown,
		pod + `no PriorityClass with name $(x) was found`:                                          unknown,
		`Pod "train-" is invalid: spec.containers[0].image: Required value`:                        unknown,
		`admission webhook "team.example.com" denied the request: no team label`:                   "change the manifest of the Job so that the webhook accepts it" + again + "; ask the webhook's administrator what it requires",
		pod + "status unknown for quota: q, resources: pods":                                       describe,
		pod + inUse: raise,
		`create Pod train-0 in StatefulSet train failed error: ` + pod + inUse:      raise,
		pod + "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0": "request less" + again + "; or have the quota raised: `kubectl --context kwok-w1 -n default describe resourcequota q`",
		"etcdserver: request timed out":                                             describe,
		`Internal error occurred: failed calling webhook "mpod.kb.io": failed to call webhook: Post "https://kueue/mutate": connection refused`: "check that webhook mpod.kb.io runs: " +
			"`kubectl --context kwok-w1 get validatingwebhookconfigurations,mutatingwebhookconfigurations`",
		`Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: the certificate is invalid`: "check that webhook v.example.com runs: " +
			"`kubectl --context kwok-w1 get validatingwebhookconfigurations,mutatingwebhookconfigurations`",
		`Internal error occurred: failed calling webhook "$(x)": connection refused`: describe,
	} {
		var edits []edit
		for _, e := range (testCase{base: base}).make(t).Facts("kwok-w1").Events {
			if e.Reason == inspect.FailedCreate {
				message, err := json.Marshal(`(combined from similar events): Error creating: ` + refusal)
				assert.NilError(t, err)
				edits = append(edits, patch("kwok-w1", "Event/"+e.ID, fmt.Sprintf("{message: %s}", message)))
			}
		}
		found := judge(t, testCase{base: base, edits: edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].Remedy, remedy, refusal)
		assert.Assert(t, strings.Contains(found[0].Message, `cannot create Pods: `+refusal), found[0].Message)
	}
}

// TestRefusedIsNotIgnored checks that a controller that reports why it cannot
// create Pods counts as having picked up the mirror.
func TestRefusedIsNotIgnored(t *testing.T) {
	c := testCase{base: ignoredMirror, edits: []edit{ungrouped("FailedWorkloadCreate", "2026-11-22T04:38:40Z")}}
	var codes []string
	for _, f := range judge(t, c.make(t), rules.All(), 0) {
		codes = append(codes, f.Code)
	}
	assert.DeepEqual(t, codes, []string{"JM049"})
}
