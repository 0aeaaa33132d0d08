package e2e

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// template changes the Pods of a Job.
func template(change func(*corev1.PodSpec)) fixture.Option {
	return func(j *batchv1.Job) { change(&j.Spec.Template.Spec) }
}

// withDependencies makes a Job depend on one object of every kind, with names that end alike.
func withDependencies(name string) fixture.Option {
	return template(func(s *corev1.PodSpec) {
		s.ServiceAccountName = "robot"
		s.PriorityClassName = name
		s.RuntimeClassName = new(name)
		s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		c := &s.Containers[0]
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		c.Env = []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "a"}}},
			{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "c"}}},
			{Name: "O", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "not-there"}, Key: "o", Optional: new(true),
			}}},
		}
		s.Volumes = []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "optional", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "not-there", Optional: new(true)}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		}
	})
}

// provide creates all dependencies of a needy Job on a cluster.
func (f *preflightCase) provide(cluster, name string) {
	f.t.Helper()
	f.apply(cluster, strings.NewReplacer("NS", f.ns, "NAME", name).Replace(`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: NS}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: NS}, data: {a: x}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: NS}, stringData: {c: top-secret}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: NS}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: "{}"}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAME}, provisioner: example.com/none, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: NS},
  spec: {storageClassName: NAME, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAME}, value: 1234, preemptionPolicy: Never}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: NAME}, handler: sandbox}`))
}

// obstacle is one thing that keeps a Job from running on the worker. NS is replaced by the test's
// namespace in all of its texts and its cluster-wide names.
type obstacle struct {
	name string
	// breakIt is a script.
	breakIt string
	object  string
	warning bool
	// message is a part of it.
	message string
	// run is a part of the remedy: a command that solves the problem. If it cannot be pasted, fix
	// does.
	run, fix string
}

func obstacles() []obstacle {
	const kubectl = "kubectl --context worker-1 -n NS "
	return []obstacle{
		{
			"service account", kubectl + "delete serviceaccount robot", "ServiceAccount NS/robot", false,
			"does not exist, and the Pods run as it", kubectl + "create serviceaccount robot", "",
		},
		{
			"config map", kubectl + "delete configmap settings", "ConfigMap NS/settings", false,
			"does not exist, and container main needs it", kubectl + "create configmap settings --from-literal=a=VALUE", "",
		},
		{
			"key of a config map", kubectl + `patch configmap settings --type=merge -p '{"data":{"a":null,"b":"x"}}'`, "ConfigMap NS/settings", false,
			"has no key a, and container main needs it", kubectl + `patch configmap settings --type=merge -p '{"data":{"a":"VALUE"}}'`, "",
		},
		{
			"secret", kubectl + "delete secret token", "Secret NS/token", false,
			"does not exist, and container main needs it", kubectl + "create secret generic token --from-literal=c=VALUE", "",
		},
		{
			"key of a secret", kubectl + `patch secret token --type=merge -p '{"data":{"c":null}}'`, "Secret NS/token", false,
			"has no key c, and container main needs it", kubectl + `patch secret token --type=merge -p '{"stringData":{"c":"VALUE"}}'`, "",
		},
		{
			"pull secret", kubectl + "delete secret pull", "Secret NS/pull", true,
			"images that need its credentials cannot be pulled",
			kubectl + "create secret docker-registry pull --docker-server=SERVER --docker-username=USER --docker-password=PASSWORD", "",
		},
		{
			"claim", kubectl + "delete pvc data", "PersistentVolumeClaim NS/data", false, "does not exist, and volume data needs it",
			"", `echo '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"storageClassName":"NS","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}' | ` + kubectl + "create -f -",
		},
		{
			"claim that waits for a volume",
			kubectl + `delete pvc data && echo '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"storageClassName":"none","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}' | ` + kubectl + "create -f -",
			"PersistentVolumeClaim NS/data", true, "has no volume yet", "",
			`echo '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"NS"},"spec":{"storageClassName":"none","accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/tmp"},"claimRef":{"namespace":"NS","name":"data"}}}' | kubectl --context worker-1 create -f -`,
		},
		{
			"priority class", "kubectl --context worker-1 delete priorityclass NS", "PriorityClass NS", false,
			"does not exist, and the Pods name it", "kubectl --context worker-1 create priorityclass NS --value=1234 --preemption-policy=Never", "",
		},
		{
			"another priority class",
			"kubectl --context worker-1 delete priorityclass NS && kubectl --context worker-1 create priorityclass NS --value=7", "PriorityClass NS", true,
			"differs from management: value 7, PreemptLowerPriority instead of value 1234, Never", "",
			"kubectl --context worker-1 delete priorityclass NS && kubectl --context worker-1 create priorityclass NS --value=1234 --preemption-policy=Never",
		},
		{
			"runtime class", "kubectl --context worker-1 delete runtimeclass NS", "RuntimeClass NS", false, "does not exist, and the Pods name it",
			`printf '%s\n' '{"apiVersion":"node.k8s.io/v1","handler":"sandbox","kind":"RuntimeClass","metadata":{"name":"NS"}}' | kubectl --context worker-1 create -f -`, "",
		},
		{
			"quota of Pods", kubectl + "create quota small --hard=pods=0", "ResourceQuota NS/small", false,
			"is exhausted: requested pods=1, used pods=0, limited to pods=0", "", kubectl + "delete quota small",
		},
		{
			"quota that wants requests", kubectl + "create quota strict --hard=requests.memory=1Gi", "ResourceQuota NS/strict", false,
			"must specify requests.memory for: main", "", kubectl + "delete quota strict",
		},
		{
			"quota of Jobs", kubectl + "create quota jobs --hard=count/jobs.batch=0", "ResourceQuota NS/jobs", false,
			"limited to count/jobs.batch=0", "", kubectl + "delete quota jobs",
		},
		{
			"limit range",
			`echo '{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"limits"},"spec":{"limits":[{"type":"Container","min":{"cpu":"1"}}]}}' | ` + kubectl + "create -f -",
			"the Pods", false, "a LimitRange rejects the Pods: minimum cpu usage per Container is 1", "", kubectl + "delete limitrange limits",
		},
		{
			"pod security", "kubectl --context worker-1 label namespace NS pod-security.kubernetes.io/enforce=restricted", "Namespace NS", false,
			"accepts only Pods of the PodSecurity level restricted:latest",
			"kubectl --context worker-1 label --overwrite namespace NS pod-security.kubernetes.io/enforce=baseline", "",
		},
		{
			"a stranger", kubectl + "create job train --image=registry.example/other:1", "Job NS/train", false,
			"already exists, and dispatch did not create it; left unchanged", kubectl + "delete job train", "",
		},
		{
			"the mirror of an earlier origin",
			kubectl + "create job train --image=registry.example/other:1 && " + kubectl + "label job train jobmanagedby.github.io/origin-uid=older && " +
				kubectl + "annotate job train jobmanagedby.github.io/origin=CLUSTER/NS/train",
			"Job NS/train", false, "the mirror of an earlier Job NS/train, UID older, which was replaced since", kubectl + "delete job train", "",
		},
		{
			"the mirror of another origin",
			kubectl + "create job train --image=registry.example/other:1 && " + kubectl + "label job train jobmanagedby.github.io/origin-uid=other && " +
				kubectl + "annotate job train jobmanagedby.github.io/origin=CLUSTER/elsewhere/job",
			"Job NS/train", false, "the mirror of another Job, CLUSTER/elsewhere/job, UID other", kubectl + "delete job train", "",
		},
	}
}

// TestPreflightObstacles creates one obstacle after the other, checks that preflight reports it and
// nothing else, applies the remedy, and checks that the obstacle is gone. The checks never write.
func TestPreflightObstacles(t *testing.T) {
	// It reads all served kinds.
	serving(t, "no others", all...)
	// Not t.Parallel: tests that wait for the clusters may hold all of its slots.
	var group errgroup.Group
	group.SetLimit(4)
	for i, o := range obstacles() {
		group.Go(func() error {
			t.Run(o.name, func(t *testing.T) { passesObstacle(t, fmt.Sprintf("preflight-%d", i), o) })
			return nil
		})
	}
	assert.NilError(t, group.Wait())
}

// passesObstacle goes through one obstacle in a namespace.
func passesObstacle(t *testing.T, ns string, o obstacle) {
	t.Helper()
	f := newPreflightCase(t, ns, withDependencies(ns))
	f.provide(management, ns)
	f.provide(worker1, ns)
	f.eventuallyClear()
	text := strings.NewReplacer("NS", ns, "CLUSTER", f.origin.UID()).Replace

	shell(t, text(o.breakIt))
	p := f.eventuallyFinds(text(o.object))
	assert.Equal(t, p.Context, worker1)
	assert.Equal(t, p.Blocking, !o.warning, "%+v", p)
	assert.Assert(t, contains(p.Message, text(o.message)), "%+v", p)
	assert.Assert(t, contains(string(p.Remedy), text(o.run)), "%+v", p)
	assert.Assert(t, !contains(p.Message+string(p.Remedy), "top-secret"))
	before := inventory(t, f.worker, ns)
	f.problems()
	assert.DeepEqual(t, inventory(t, f.worker, ns), before)

	if o.run == "" {
		shell(t, text(o.fix))
	} else {
		shell(t, text(o.run))
	}
	f.eventuallyClear()
}

// TestPreflightNamespace checks that preflight lists everything that a new namespace needs.
func TestPreflightNamespace(t *testing.T) {
	t.Parallel()
	const ns = "preflight-space"
	f := newPreflightCase(t, ns, template(func(s *corev1.PodSpec) {
		s.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}}
	}))
	shell(t, "kubectl --context worker-1 delete namespace "+ns)
	p := f.eventuallyFinds("Namespace " + ns)
	assert.Assert(t, p.Blocking)
	assert.Equal(t, p.Message, "does not exist; the Pods need in it: ConfigMap settings")
	assert.Assert(t, contains(string(p.Remedy), "kubectl --context worker-1 create namespace "+ns, "--namespace-to"))
	shell(t, "kubectl --context worker-1 create namespace "+ns)
	assert.NilError(t, makeSpace(t, worker1, ns))
	p = f.eventuallyFinds("ConfigMap " + ns + "/settings")
	assert.Assert(t, contains(p.Message, "management has none either"), "%+v", p)

	// A namespace that is being deleted accepts nothing.
	f.apply(worker1, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: hold, namespace: %s, finalizers: [example.com/hold]}}", ns))
	shell(t, "kubectl --context worker-1 delete namespace --wait=false "+ns)
	p = f.eventuallyFinds("Namespace " + ns)
	assert.Assert(t, p.Blocking && contains(p.Message, "is being deleted"), "%+v", p)
	shell(t, fmt.Sprintf(`kubectl --context worker-1 -n %s patch configmap hold --type=merge -p '{"metadata":{"finalizers":null}}'`, ns))
}

// TestPreflightSurprises checks requests of a Job that an API server accepts.
func TestPreflightSurprises(t *testing.T) {
	t.Parallel()
	const ns = "preflight-surprises"
	f := newPreflightCase(t, ns)
	for i, c := range []struct {
		change  func(*corev1.PodSpec)
		object  string
		blocks  bool
		message string
	}{
		{func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"disk": "tape"} }, "the nodes", false, "do not fit the Pods: none of the 2 has the labels that the Pods request: disk=tape"},
		{func(s *corev1.PodSpec) {
			gpus := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
			s.Containers[0].Resources = corev1.ResourceRequirements{Requests: gpus, Limits: gpus}
		}, "the nodes", false, "do not fit the Pods: none of the 2 that they may use has what a Pod requests: example.com/gpu=1"},
		{func(s *corev1.PodSpec) { s.SchedulerName = "custom" }, "", false, "unless scheduler custom runs there"},
		{func(s *corev1.PodSpec) { s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}} }, "", false, "scheduling gate example.com/gate"},
		{func(s *corev1.PodSpec) { s.Subdomain = "peers" }, "Service " + ns + "/peers", false, "find each other by name only with it"},
		{func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}}
		}, "", false, "/data of their nodes"},
		{func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "csi", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com"}}}}
		}, "CSIDriver csi.example.com", false, "volume csi needs it"},
		{func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: new("no-such-class"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				}},
			}}}}
		}, "StorageClass no-such-class", true, "the claims of volume scratch name it"},
		{func(s *corev1.PodSpec) {
			s.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpus")}}
		}, "ResourceClaimTemplate " + ns + "/gpus", true, "resource claim gpu needs it"},
	} {
		job := f.create(fmt.Sprintf("job-%d", i), template(c.change))
		found, _ := f.preflight(job, dependency.Options{})
		assert.Equal(t, len(found), 1, "%s", describeProblems(found))
		assert.Equal(t, found[0].Object.String(), c.object, "%s", describeProblems(found))
		assert.Equal(t, found[0].Blocking, c.blocks, "%s", describeProblems(found))
		assert.Assert(t, contains(found[0].Message, c.message), "%s", describeProblems(found))
	}
	pods, err := client(t, worker1).CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	assert.Equal(t, len(pods.Items), 0)
}
